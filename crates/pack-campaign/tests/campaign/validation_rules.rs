//! Validation rules of the contract, each by its name.

use jiff::Timestamp;
use serde_json::json;

use crate::support::{CampaignSetup, TestCampaign, wait_until};

#[test]
fn all_timestamps_in_iso_8601_format_with_timezone() {
    let scene = TestCampaign::paused();
    let logs = scene.call_ok("read_logs", json!({"count": 2500}));
    let events = logs["events"].as_array().unwrap();
    assert!(!events.is_empty());
    for event in events {
        let text = event["timestamp"].as_str().unwrap();
        text.parse::<Timestamp>().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(text.ends_with('Z'), "{text} has no timezone");
    }
}

#[test]
fn all_addresses_in_lowercase_hexadecimal_with_0x_prefix() {
    let scene = TestCampaign::running(CampaignSetup::default());
    let mixed = "0x000000000000000000000000000000000000AbCd";
    let call = format!("move({mixed}, 0)");
    scene.call_ok("inject_transaction", json!({"sequence": [call], "sender": mixed}));
    assert_eq!(scene.command_log_lines()[0]["arguments"]["sender"], mixed.to_lowercase());
    let executed = json!({"eventType": "TransactionExecuted", "count": 2500});
    let mut found = None;
    wait_until("the call is made", || {
        let logs = scene.call_ok("read_logs", executed.clone());
        let events = logs["events"].as_array().unwrap();
        found = events.iter().find(|event| event["data"]["injected"] == true).cloned();
        found.is_some()
    });
    let data = &found.unwrap()["data"];
    assert_eq!(data["sender"], mixed.to_lowercase());
    assert_eq!(data["call"], format!("move({}, 0)", mixed.to_lowercase()));
    let target = scene.call_ok("campaign_target", json!({}));
    let address = target["contracts"][0]["address"].as_str().unwrap();
    assert_eq!(address, address.to_lowercase());
}

#[test]
fn sender_search_is_case_insensitive() {
    let scene = TestCampaign::paused();
    let count = |sender: &str| {
        scene.call_ok("find_transaction_in_corpus", json!({"sender": sender}))["count"].clone()
    };
    let all = scene.call_ok("inspect_corpus_transactions", json!({}));
    let sender = all["transactions"][0]["sender"].as_str().unwrap();
    assert_eq!(sender, sender.to_lowercase());
    let upper = format!("0x{}", sender[2..].to_uppercase());
    assert_eq!(count(sender), count(&upper));
    assert_ne!(count(sender), 0);
}

#[test]
fn all_eth_values_in_wei_as_decimal_strings() {
    let scene = TestCampaign::running(CampaignSetup::for_contract("Deposits"));
    wait_until("a transaction sends wei", || {
        scene.call_ok("find_transaction_in_corpus", json!({"minValue": "1"}))["count"] != 0
    });
    let found = scene.call_ok("find_transaction_in_corpus", json!({"minValue": "1"}));
    for found in found["matches"].as_array().unwrap() {
        let value = found["value"].as_str().unwrap();
        assert!(value.bytes().all(|byte| byte.is_ascii_digit()) && value != "0", "{value}");
    }
}

#[test]
fn all_function_signatures_in_canonical_abi_format() {
    let scene = TestCampaign::paused();
    let target = scene.call_ok("campaign_target", json!({}));
    let signatures: Vec<&str> = target["functions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|function| function["called"] == true)
        .map(|function| function["signature"].as_str().unwrap())
        .collect();
    assert!(signatures.contains(&"move(address,uint256)"), "{signatures:?}");
    assert_eq!(
        scene.call_err(
            "prioritize_function",
            json!({"functionSignature": "move(address, uint256)"})
        ),
        "INVALID_INPUT: `functionSignature` must be canonical and contain no spaces: write `move(address,uint256)`"
    );
}

#[test]
fn read_logs_count_must_be_1_to_2500() {
    let scene = TestCampaign::paused();
    assert_eq!(
        scene.call_ok("read_logs", json!({"count": 1}))["events"].as_array().unwrap().len(),
        1
    );
    scene.call_ok("read_logs", json!({"count": 2500}));
    assert_eq!(
        [0, 2501].map(|count| scene.call_err("read_logs", json!({"count": count}))),
        [
            "INVALID_INPUT: `count` must be at least 1",
            "INVALID_INPUT: `count` must be at most 2500"
        ]
    );
}

#[test]
fn inject_transaction_sequence_max_100_transactions() {
    let scene = TestCampaign::paused();
    let sequence = |length: usize| json!({"sequence": vec!["deposit(1)"; length]});
    let injected = scene.call_ok("inject_transaction", sequence(100));
    assert_eq!(injected["injectedCount"], 100);
    assert_eq!(
        [0, 101].map(|length| scene.call_err("inject_transaction", sequence(length))),
        [
            "INVALID_INPUT: `sequence` must have at least 1 items",
            "INVALID_INPUT: `sequence` must have at most 100 items",
        ]
    );
}

#[test]
fn find_transaction_in_corpus_at_least_one_search_criterion_required() {
    let scene = TestCampaign::paused();
    assert_eq!(
        scene.call_err("find_transaction_in_corpus", json!({})),
        "INVALID_INPUT: at least one of `functionSignature`, `sender` and `minValue` is required"
    );
}

#[test]
fn prioritize_function_function_signature_must_match_abi_signature_regex() {
    let scene = TestCampaign::paused();
    for bad in ["", "deposit", "deposit(uint256", "1deposit(uint256)", "f(g(uint256))"] {
        let refusal = scene.call_err("prioritize_function", json!({"functionSignature": bad}));
        assert!(
            refusal.starts_with(
                "INVALID_INPUT: `functionSignature` must match the pattern ^[a-zA-Z_]"
            ),
            "{bad}: {refusal}"
        );
    }
}

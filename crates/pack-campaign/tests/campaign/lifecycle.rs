//! Tools before a campaign starts and after it has ended.

use std::sync::Arc;

use contract::ErrorCode;
use pack_campaign::{CampaignPack, CampaignSlot};
use serde_json::{Value, json};

use crate::support::{TestCampaign, call_tool};

const STEERING_TOOLS: [&str; 5] = [
    "inject_transaction",
    "prioritize_function",
    "clear_priorities",
    "pause_campaign",
    "resume_campaign",
];

/// Returns valid arguments for each tool.
fn valid_arguments(tool: &str) -> Value {
    match tool {
        "find_transaction_in_corpus" => json!({"minValue": "0"}),
        "inject_transaction" | "execute_sequence" => json!({"sequence": ["deposit(1)"]}),
        "prioritize_function" | "sample_function" => {
            json!({"functionSignature": "deposit(uint256)"})
        }
        "show_source_coverage" => json!({"contract": "Vault"}),
        "get_reproducer" => json!({"property": "echidna_nobody_owns_more_than_there_is"}),
        _ => json!({}),
    }
}

#[test]
fn tools_report_a_campaign_that_is_preparing_or_failed() {
    let slot = Arc::new(CampaignSlot::new("vault"));
    let pack = CampaignPack::new(vec![Arc::clone(&slot)]);
    for tool in pack.tools().unwrap() {
        let name = &tool.contract().name;
        let error = call_tool(&*tool, valid_arguments(name)).unwrap_err();
        assert_eq!(error.code, ErrorCode::UpstreamUnavailable, "{name}");
        assert_eq!(
            error.message,
            "campaign `vault` is still being prepared (compiling and deploying its smart contracts); try again in a \
             moment"
        );
        assert_eq!(error.details["state"], "preparing");
        assert!(error.details["retryAfterMs"].is_u64());
    }
    slot.set_failed("`Vault` has no test");
    for tool in pack.tools().unwrap() {
        let error = call_tool(&*tool, valid_arguments(&tool.contract().name)).unwrap_err();
        assert_eq!(error.code, ErrorCode::UpstreamUnavailable);
        assert_eq!(error.message, "failed to prepare campaign `vault`: `Vault` has no test");
        assert_eq!(error.details["state"], "failed");
    }
}

#[test]
fn ended_campaign_can_be_read_but_not_steered() {
    let scene = TestCampaign::ended();
    for tool in &scene.tools {
        let name = tool.contract().name.as_str();
        let answer = scene.call(name, valid_arguments(name));
        if STEERING_TOOLS.contains(&name) {
            assert_eq!(
                answer.unwrap_err().to_string(),
                "INVALID_INPUT: the campaign has ended: the call limit was reached; it can be read but no longer \
                 steered; start a new campaign to continue",
                "{name}"
            );
        } else if name == "sample_function" {
            let refusal = answer.unwrap_err().to_string();
            assert!(refusal.contains("has ended (the call limit was reached)"), "{refusal}");
        } else {
            answer.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    assert!(scene.command_log_lines().is_empty());
    let status = scene.call_ok("campaign_status", json!({}));
    assert_eq!(status["state"], "ended");
    assert_eq!(status["reason"], "the call limit was reached");
}

#[test]
fn stopped_campaign_reports_the_reason() {
    let scene = TestCampaign::paused();
    scene.shared.kill();
    crate::support::wait_until("the campaign ends", || scene.shared.has_ended());
    let refusal = scene.call_err("clear_priorities", json!({}));
    assert!(
        refusal.starts_with("INVALID_INPUT: the campaign has ended: it was stopped;"),
        "{refusal}"
    );
}

//! Tools beyond the nine of the contract.

use std::sync::Arc;

use alloy_primitives::U256;
use fuzz::reproducer::foundry;
use pack_campaign::{CampaignSlot, CommandLog, LiveCampaign, PROTOCOL_VERSION};
use serde_json::{Value, json};

use crate::support::{CampaignSetup, TestCampaign, wait_until};

const BROKEN: &str = "echidna_nobody_owns_more_than_there_is";

#[test]
fn status_lists_tests_functions_and_progress() {
    let mut setting = CampaignSetup::default();
    setting.settings.test_limit = 200_000;
    let scene = TestCampaign::running(setting);
    wait_until("the campaign ends", || scene.shared.has_ended());
    let status = scene.call_ok("campaign_status", json!({}));
    assert!(status["calls"].as_u64() >= Some(200_000), "{status}");
    assert_eq!(status["callLimit"], 200_000);
    assert_eq!((&status["workers"], &status["seed"]), (&json!(2), &json!(7)));
    assert_eq!(status["corpusSize"], scene.call_ok("get_corpus_size", json!({}))["size"]);
    assert!(status["secondsSinceNewCoverage"].is_f64(), "{status}");
    let tests = status["tests"].as_array().unwrap();
    assert_eq!(tests[0]["name"], BROKEN, "failed tests come first");
    assert_eq!(tests[0]["state"], "failed");
    assert_eq!(tests[0]["counterexample"].as_array().unwrap().len(), 2);
    assert_eq!(tests[1]["state"], "not-broken");
    let verdict = tests[1]["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("not broken in ") && verdict.contains("evaluated"), "{verdict}");
    let functions = status["functions"].as_array().unwrap();
    let found: Vec<u64> = functions.iter().map(|it| it["found"].as_u64().unwrap()).collect();
    assert!(found.is_sorted_by(|a, b| a >= b) && found[0] > 0, "{status}");
    let sum = |key: &str| functions.iter().map(|it| it[key].as_u64().unwrap()).sum::<u64>();
    assert!(sum("reverts") > 0 && sum("reverts") < sum("calls"), "{status}");
}

#[test]
fn status_distinguishes_running_from_paused() {
    let scene = TestCampaign::running(CampaignSetup::default());
    let state = || scene.call_ok("campaign_status", json!({}))["state"].clone();
    assert_eq!(state(), "running");
    let paused = scene.call_ok("pause_campaign", json!({}));
    assert_eq!(paused["state"], "paused");
    assert_eq!(state(), "paused");
    assert_eq!(scene.call_ok("resume_campaign", json!({}))["state"], "running");
    let calls = scene.shared.calls();
    wait_until("calls are made again", || scene.shared.calls() > calls);
}

#[test]
fn target_lists_contracts_functions_and_properties() {
    let scene = TestCampaign::ended();
    let target = scene.call_ok("campaign_target", json!({}));
    assert_eq!(target["protocolVersion"], PROTOCOL_VERSION);
    insta::assert_json_snapshot!(target);
}

#[test]
fn source_lines_have_hits_and_marks() {
    let scene = TestCampaign::ended();
    let source = scene.call_ok("show_source_coverage", json!({"contract": "Vault", "to": 24}));
    let lines = source["lines"].as_array().unwrap().iter().map(|line| {
        // Only zero or nonzero is compared: exact counts change whenever the fuzzer changes.
        let hits = match line.get("hits") {
            None => "",
            Some(hits) if *hits == 0 => "0",
            Some(_) => "n",
        };
        format!(
            "{:>2} {:7} {hits:1} {}",
            line["line"],
            line["mark"].as_str().unwrap(),
            line["text"].as_str().unwrap()
        )
    });
    let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let total = source["totalLines"].as_u64().unwrap();
    let all = scene.call_ok("show_source_coverage", json!({"file": "Vault.sol", "to": 5000}));
    assert_eq!(all["lines"].as_array().unwrap().len() as u64, total);
    assert_eq!((&all["from"], &all["to"]), (&json!(1), &json!(total)));
}

#[test]
fn reproducer_includes_a_foundry_test() {
    let mut setting = CampaignSetup::default();
    setting.settings.test_limit = 200_000;
    let settings = setting.settings.clone();
    let campaign = setting.start();
    let shared = Arc::clone(campaign.shared());
    let slot = Arc::new(CampaignSlot::new("vault"));
    let scene = foundry::ReproducerScene {
        deployments: vec![foundry::SceneDeployment {
            code: foundry::DeploymentCode::Source {
                import: "Vault.sol".to_owned(),
                name: "Vault".to_owned(),
            },
            address: settings.contract_address,
            arguments: Vec::new(),
            value: U256::ZERO,
        }],
        deployer: settings.deployer,
        senders: settings.senders.clone(),
        sender_balance: settings.sender_balance,
        property_sender: settings.property_sender,
        call_gas: settings.call_gas,
        property_gas: settings.property_gas,
        timestamp: 1,
        block: 1,
        chain_id: 1,
        target_balance: U256::ZERO,
        set_up: None,
        fork: foundry::SceneFork::None,
    };
    slot.set_live(LiveCampaign {
        shared: Arc::clone(&shared),
        output: None,
        scene: Some(scene),
        log: CommandLog::disabled(),
    });
    let scene = TestCampaign::from_slot(slot, shared, tempfile::tempdir().unwrap(), campaign);
    wait_until("the campaign ends", || scene.shared.has_ended());
    for name in [BROKEN.to_owned(), format!("Vault.{BROKEN}")] {
        let answer = scene.call_ok("get_reproducer", json!({"property": name}));
        let reproducer = &answer["reproducers"][0];
        assert_eq!(reproducer["shrunk"], true);
        let calls = reproducer["calls"].as_array().unwrap();
        let sender = calls[0]["sender"].as_str().unwrap();
        assert_eq!(calls.len(), 2, "{answer}");
        assert_eq!(calls[1]["call"], format!("move({sender}, 1)"), "{answer}");
        let test = reproducer["foundryTest"]["text"].as_str().unwrap();
        assert!(test.contains("import") && test.contains("Vault.sol"), "{test}");
        assert!(reproducer["foundryTest"]["fileName"].as_str().unwrap().ends_with(".t.sol"));
    }
}

#[test]
fn executed_sequence_has_traces_and_leaves_campaign_unchanged() {
    let scene = TestCampaign::paused();
    let me = "0x0000000000000000000000000000000000010000";
    let before = scene.shared.calls_by_worker();
    let answer = scene.call_ok(
        "execute_sequence",
        json!({"sequence": ["deposit(10)", "withdraw(11)", format!("move({me}, 10)"), "total()"]}),
    );
    assert_eq!(scene.shared.calls_by_worker(), before, "the campaign made no calls");
    insta::assert_json_snapshot!(answer);
}

#[test]
fn executed_sequence_sends_value_with_payable_calls() {
    let scene = TestCampaign::running(CampaignSetup::for_contract("Deposits"));
    let arguments = json!({"sequence": ["deposit()", "deposit()", "deposit()"], "value": "400000"});
    let answer = scene.call_ok("execute_sequence", arguments);
    let holds: Vec<String> = answer["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| format!("{} {}", test["name"].as_str().unwrap(), test["holds"]))
        .collect();
    let expected = [
        "echidna_balance_is_sum true",
        "echidna_sum_is_not_special true",
        "echidna_sum_is_small false",
    ];
    let mut holds = holds;
    holds.sort();
    assert_eq!(holds, expected);
}

#[test]
fn sample_reports_reverts_and_return_ranges() {
    let scene = TestCampaign::running(CampaignSetup::default());
    let sample = |signature: &str| {
        scene.call_ok("sample_function", json!({"functionSignature": signature, "calls": 50}))
    };
    let deposits = sample("deposit(uint256)");
    assert!(deposits["complete"] == true, "{deposits}");
    assert!(deposits["calls"].as_u64() >= Some(50) && deposits["returns"] == json!([]));
    let share = |answer: &Value| answer["revertShare"].as_f64().unwrap();
    assert!((0.0..=100.0).contains(&share(&deposits)));
    let limits = sample("MAX_FEE()");
    assert_eq!(limits["returns"], json!([{"type": "uint256", "min": "500", "max": "500"}]));
    assert_eq!(share(&limits), 0.0);
}

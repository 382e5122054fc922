//! Before a campaign begins, and after its end.

use std::sync::Arc;

use contract::Code;
use pack_campaign::{CampaignPack, Seat};
use serde_json::{Value, json};

use crate::support::{Scene, call};

const STEER: [&str; 5] = [
    "inject_transaction",
    "prioritize_function",
    "clear_priorities",
    "pause_campaign",
    "resume_campaign",
];

/// What each tool can be called with.
fn arguments(tool: &str) -> Value {
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
fn before_it_begins_every_tool_says_that_it_is_prepared() {
    let seat = Arc::new(Seat::new("vault"));
    let pack = CampaignPack::new(vec![Arc::clone(&seat)]);
    for tool in pack.tools().unwrap() {
        let name = &tool.contract().name;
        let error = call(&*tool, arguments(name)).unwrap_err();
        assert_eq!(error.code, Code::UpstreamUnavailable, "{name}");
        assert_eq!(
            error.message,
            "the campaign `vault` is still being prepared: its contracts are compiled and deployed; try again in a moment"
        );
        assert_eq!(error.details["state"], "preparing");
        assert!(error.details["retryAfterMs"].is_u64());
    }
    seat.prepare_failed("`Vault` has no test");
    for tool in pack.tools().unwrap() {
        let error = call(&*tool, arguments(&tool.contract().name)).unwrap_err();
        assert_eq!(error.code, Code::UpstreamUnavailable);
        assert_eq!(
            error.message,
            "the campaign `vault` could not be prepared: `Vault` has no test"
        );
        assert_eq!(error.details["state"], "failed");
    }
}

#[test]
fn after_its_end_it_can_be_read_but_not_steered() {
    let scene = Scene::ended();
    for tool in &scene.tools {
        let name = tool.contract().name.as_str();
        let answer = scene.call(name, arguments(name));
        if STEER.contains(&name) {
            assert_eq!(
                answer.unwrap_err().to_string(),
                "INVALID_INPUT: the campaign has ended: the limit of calls is reached. It can still be read, but not \
                 steered; start another one to go on",
                "{name}"
            );
        } else if name == "sample_function" {
            let refusal = answer.unwrap_err().to_string();
            assert!(refusal.contains("has ended (the limit of calls is reached)"), "{refusal}");
        } else {
            answer.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    assert!(scene.log().is_empty());
    let status = scene.ask("campaign_status", json!({}));
    assert_eq!(status["state"], "ended");
    assert_eq!(status["reason"], "the limit of calls is reached");
}

#[test]
fn one_that_was_stopped_says_so() {
    let scene = Scene::paused();
    scene.shared.kill();
    crate::support::until("it ends", || scene.shared.has_ended());
    let refusal = scene.refusal("clear_priorities", json!({}));
    assert!(
        refusal.starts_with("INVALID_INPUT: the campaign has ended: it was stopped."),
        "{refusal}"
    );
}

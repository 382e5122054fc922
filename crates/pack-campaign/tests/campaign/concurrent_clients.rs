//! Concurrent clients while the workers are busy.

use std::thread;

use serde_json::{Value, json};

use crate::support::{CampaignSetup, TestCampaign};

/// No call is rejected or hangs, and each output matches its schema.
#[test]
fn three_concurrent_clients_get_valid_outputs() {
    let scene = TestCampaign::running(CampaignSetup::default());
    let calls: [(&str, Value); 9] = [
        ("read_logs", json!({"count": 2500})),
        ("show_coverage", json!({})),
        ("dump_lcov", json!({"outputPath": "lcov.info"})),
        ("get_corpus_size", json!({})),
        ("inspect_corpus_transactions", json!({"limit": 100})),
        ("find_transaction_in_corpus", json!({"minValue": "0"})),
        ("inject_transaction", json!({"sequence": ["deposit(?)", "withdraw(?)"]})),
        ("prioritize_function", json!({"functionSignature": "withdraw(uint256)"})),
        ("clear_priorities", json!({})),
    ];
    thread::scope(|scope| {
        for client in 0..3 {
            let (scene, calls) = (&scene, &calls);
            scope.spawn(move || {
                for number in 0..60 {
                    let (tool, arguments) = &calls[(number + client) % calls.len()];
                    scene.call_ok(tool, arguments.clone());
                }
            });
        }
    });
    let injected = scene
        .command_log_lines()
        .iter()
        .filter(|line| line["tool"] == "inject_transaction")
        .count();
    assert_eq!(injected, 20);
}

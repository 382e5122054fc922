//! Steering commands: their outputs, the command log, and replay.

use jiff::Timestamp;
use pack_campaign::read_commands;
use serde_json::{Value, json};

use crate::support::{CampaignSetup, TestCampaign, wait_until};

#[test]
fn injection_reaches_every_worker() {
    let scene = TestCampaign::running(CampaignSetup::default());
    let arguments = json!({
        "sequence": ["deposit(1e3)", "move(0x0000000000000000000000000000000000010000, 7)"],
        "sender": "0x0000000000000000000000000000000000010000",
    });
    assert_eq!(
        scene.call_ok("inject_transaction", arguments),
        json!({"success": true, "message": "Injected 2 transactions to 2 workers", "injectedCount": 2})
    );
    for worker in [0, 1] {
        let filter = json!({"eventType": "TransactionExecuted", "workerId": worker, "count": 2500});
        wait_until("the worker makes both calls", || {
            let logs = scene.call_ok("read_logs", filter.clone());
            let events = logs["events"].as_array().unwrap().iter();
            events.filter(|event| event["data"]["injected"] == true).count() == 2
        });
    }
}

#[test]
fn injected_value_is_sent_with_payable_calls() {
    let scene = TestCampaign::running(CampaignSetup::for_contract("Deposits"));
    scene.call_ok("inject_transaction", json!({"sequence": ["deposit()"], "value": "499999"}));
    let found = json!({"functionSignature": "deposit()", "minValue": "499999"});
    let filter = json!({"eventType": "TransactionExecuted", "count": 2500});
    wait_until("the call is made", || {
        let logs = scene.call_ok("read_logs", filter.clone());
        let mut events = logs["events"].as_array().unwrap().iter();
        events.any(|it| it["data"]["value"] == "499999" && it["data"]["injected"] == true)
    });
    scene.call_ok("find_transaction_in_corpus", found);
}

#[test]
fn priorities_form_a_set() {
    let scene = TestCampaign::paused();
    let prioritize = |signature: &str| {
        scene.call_ok("prioritize_function", json!({"functionSignature": signature}))
    };
    assert_eq!(
        prioritize("deposit(uint256)"),
        json!({
            "success": true,
            "message": "Prioritized function 'deposit(uint256)'; 90% of the newly generated calls go to the \
                        prioritized functions, replayed and mutated calls are not counted",
            "prioritizedFunctions": ["deposit(uint256)"],
        })
    );
    prioritize("setFee(uint256)");
    let answer = prioritize("deposit(uint256)");
    assert_eq!(answer["prioritizedFunctions"], json!(["deposit(uint256)", "setFee(uint256)"]));
    let status = scene.call_ok("campaign_status", json!({}));
    assert_eq!(status["prioritizedFunctions"], answer["prioritizedFunctions"]);
    assert_eq!(
        scene.call_ok("clear_priorities", json!({})),
        json!({"success": true, "message": "Cleared 2 prioritized functions", "clearedCount": 2})
    );
    assert_eq!(scene.call_ok("clear_priorities", json!({}))["clearedCount"], 0);
    let tools: Vec<Value> =
        scene.command_log_lines().iter().map(|line| line["tool"].clone()).collect();
    assert_eq!(
        tools,
        ["prioritize_function", "prioritize_function", "clear_priorities"],
        "commands without effect are not logged"
    );
}

/// The answer of `prioritize_function` states a share; this measures it while the campaign runs.
#[test]
fn prioritized_function_receives_90_percent_of_newly_generated_calls() {
    let scene = TestCampaign::running(CampaignSetup::default());
    let generated = || {
        let status = scene.call_ok("campaign_status", json!({}));
        let functions = status["functions"].as_array().unwrap().clone();
        let count = |it: &Value| it["generated"].as_u64().unwrap();
        let preferred = functions.iter().find(|it| it["function"] == "deposit(uint256)").unwrap();
        (count(preferred), functions.iter().map(count).sum::<u64>())
    };
    wait_until("calls are generated", || generated().1 > 5_000);
    let (preferred, all) = generated();
    assert!(preferred * 2 < all, "{preferred} of {all} without priorities");
    scene.call_ok("prioritize_function", json!({"functionSignature": "deposit(uint256)"}));
    let round = scene.shared.last_commands(1)[0].0;
    wait_until("all workers apply it", || scene.shared.rounds().iter().all(|it| *it > round));
    let before = generated();
    wait_until("calls are generated", || generated().1 > before.1 + 20_000);
    let after = generated();
    let (preferred, all) = (after.0 - before.0, after.1 - before.1);
    // A tenth goes to any function, which may be the same one.
    let share = preferred as f64 / all as f64;
    assert!((0.89..0.94).contains(&share), "{preferred} of {all} newly generated calls");
}

#[test]
fn log_lines_have_round_calls_and_arguments() {
    let scene = TestCampaign::paused();
    scene.call_ok("inject_transaction", json!({"sequence": ["deposit(?)", "withdraw(1 gwei)"]}));
    scene.call_ok("prioritize_function", json!({"functionSignature": "deposit(uint256)"}));
    let mut log = scene.command_log_lines();
    for line in &mut log {
        line["time"].take().as_str().unwrap().parse::<Timestamp>().unwrap();
        assert!(line["round"].take().as_u64().unwrap() > 0);
        assert_eq!(line["calls"].take(), json!(scene.shared.calls_by_worker()));
    }
    let nothing = Value::Null;
    assert_eq!(
        log,
        [
            json!({
                "time": nothing, "round": nothing, "calls": nothing,
                "tool": "inject_transaction",
                "arguments": {
                    "sequence": ["deposit(?)", "withdraw(1000000000)"],
                    "sender": "0x0000000000000000000000000000000000010000",
                    "value": "0",
                },
            }),
            json!({
                "time": nothing, "round": nothing, "calls": nothing,
                "tool": "prioritize_function",
                "arguments": {
                    "functionSignature": "deposit(uint256)",
                    "contract": "0x00a329c0648769a73afac7f9381e08fb43dbea72",
                },
            }),
        ]
    );
}

/// The corpus is everything a campaign found, in order: two runs with equal corpora took the same course.
#[test]
fn replaying_the_command_log_reproduces_the_campaign() {
    let setting = || {
        let mut setting = CampaignSetup::default();
        setting.settings.test_limit = 300_000;
        setting
    };
    let first = TestCampaign::running(setting());
    first.call_ok("prioritize_function", json!({"functionSignature": "setFee(uint256)"}));
    first.call_ok(
        "inject_transaction",
        json!({"sequence": ["deposit(?)", "setFee(?)", "withdraw(?)"]}),
    );
    wait_until("the campaign ends", || first.shared.has_ended());
    let path = first.folder.path().join("mcp-commands.jsonl");
    let commands = read_commands(&path, &first.shared.target).unwrap();
    assert_eq!(commands.len(), 2);

    let again = setting();
    let second = TestCampaign::running(CampaignSetup { commands, ..again });
    wait_until("the campaign ends", || second.shared.has_ended());
    let left_alone = TestCampaign::running(setting());
    wait_until("the campaign ends", || left_alone.shared.has_ended());
    let found = |scene: &TestCampaign| {
        let entries = scene.shared.corpus();
        let mut calls: Vec<_> = entries.iter().map(|entry| entry.calls.clone()).collect();
        calls.sort();
        (calls, scene.shared.statistics())
    };
    assert!(found(&first) == found(&second), "equal seeds and commands gave different results");
    assert!(found(&first) != found(&left_alone), "the commands had no effect");
}

#[test]
fn injection_into_a_paused_campaign_waits() {
    let scene = TestCampaign::paused();
    let answer = scene.call_ok("inject_transaction", json!({"sequence": ["deposit(1)"]}));
    assert_eq!(
        answer["message"],
        "Injected 1 transaction to 2 workers; the campaign is paused and runs them after resume_campaign"
    );
}

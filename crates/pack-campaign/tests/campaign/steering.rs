//! Commands: what they answer, that they are written down first, and that a campaign can be repeated with them.

use jiff::Timestamp;
use pack_campaign::read_commands;
use serde_json::{Value, json};

use crate::support::{Scene, Setting, until};

#[test]
fn an_injection_reaches_every_worker() {
    let scene = Scene::running(Setting::default());
    let arguments = json!({
        "sequence": ["deposit(1e3)", "move(0x0000000000000000000000000000000000010000, 7)"],
        "sender": "0x0000000000000000000000000000000000010000",
    });
    assert_eq!(
        scene.ask("inject_transaction", arguments),
        json!({"success": true, "message": "Injected 2 transactions to 2 workers", "injectedCount": 2})
    );
    for worker in [0, 1] {
        let filter = json!({"eventType": "TransactionExecuted", "workerId": worker, "count": 2500});
        until("the worker makes both calls", || {
            let logs = scene.ask("read_logs", filter.clone());
            let events = logs["events"].as_array().unwrap().iter();
            events.filter(|event| event["data"]["injected"] == true).count() == 2
        });
    }
}

#[test]
fn value_goes_with_payable_calls() {
    let scene = Scene::running(Setting::of("Deposits"));
    scene.ask("inject_transaction", json!({"sequence": ["deposit()"], "value": "499999"}));
    let found = json!({"functionSignature": "deposit()", "minValue": "499999"});
    let filter = json!({"eventType": "TransactionExecuted", "count": 2500});
    until("the call is made", || {
        let logs = scene.ask("read_logs", filter.clone());
        let mut events = logs["events"].as_array().unwrap().iter();
        events.any(|it| it["data"]["value"] == "499999" && it["data"]["injected"] == true)
    });
    scene.ask("find_transaction_in_corpus", found);
}

#[test]
fn priorities_are_a_set() {
    let scene = Scene::paused();
    let prioritize =
        |signature: &str| scene.ask("prioritize_function", json!({"functionSignature": signature}));
    assert_eq!(
        prioritize("deposit(uint256)"),
        json!({
            "success": true,
            "message": "Prioritized function 'deposit(uint256)'",
            "prioritizedFunctions": ["deposit(uint256)"],
        })
    );
    prioritize("setFee(uint256)");
    let answer = prioritize("deposit(uint256)");
    assert_eq!(answer["prioritizedFunctions"], json!(["deposit(uint256)", "setFee(uint256)"]));
    let status = scene.ask("campaign_status", json!({}));
    assert_eq!(status["prioritizedFunctions"], answer["prioritizedFunctions"]);
    assert_eq!(
        scene.ask("clear_priorities", json!({})),
        json!({"success": true, "message": "Cleared 2 prioritized functions", "clearedCount": 2})
    );
    assert_eq!(scene.ask("clear_priorities", json!({}))["clearedCount"], 0);
    let tools: Vec<Value> = scene.log().iter().map(|line| line["tool"].clone()).collect();
    assert_eq!(
        tools,
        ["prioritize_function", "prioritize_function", "clear_priorities"],
        "what changes nothing is no command"
    );
}

#[test]
fn a_line_says_when_and_what() {
    let scene = Scene::paused();
    scene.ask("inject_transaction", json!({"sequence": ["deposit(?)", "withdraw(1 gwei)"]}));
    scene.ask("prioritize_function", json!({"functionSignature": "deposit(uint256)"}));
    let mut log = scene.log();
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

/// The corpus is what a campaign found and in which order: two runs that agree in it have gone the same way.
#[test]
fn a_steered_campaign_repeats_itself_with_its_log() {
    let setting = || {
        let mut setting = Setting::default();
        setting.settings.test_limit = 300_000;
        setting
    };
    let first = Scene::running(setting());
    first.ask("prioritize_function", json!({"functionSignature": "setFee(uint256)"}));
    first
        .ask("inject_transaction", json!({"sequence": ["deposit(?)", "setFee(?)", "withdraw(?)"]}));
    until("it ends", || first.shared.has_ended());
    let path = first.folder.path().join("mcp-commands.jsonl");
    let commands = read_commands(&path, &first.shared.target).unwrap();
    assert_eq!(commands.len(), 2);

    let again = setting();
    let second = Scene::running(Setting { commands, ..again });
    until("it ends", || second.shared.has_ended());
    let left_alone = Scene::running(setting());
    until("it ends", || left_alone.shared.has_ended());
    let found = |scene: &Scene| {
        let entries = scene.shared.corpus();
        let mut calls: Vec<_> = entries.iter().map(|entry| entry.calls.clone()).collect();
        calls.sort();
        (calls, scene.shared.statistics())
    };
    assert!(found(&first) == found(&second), "the same seed and commands lead elsewhere");
    assert!(found(&first) != found(&left_alone), "commands make no difference");
}

#[test]
fn what_is_injected_while_it_is_paused_waits() {
    let scene = Scene::paused();
    let answer = scene.ask("inject_transaction", json!({"sequence": ["deposit(1)"]}));
    assert_eq!(
        answer["message"],
        "Injected 1 transaction to 2 workers; the campaign is paused, and runs them after resume_campaign"
    );
}

//! Rejected calls: their messages, and that they do not affect the campaign.

use serde_json::{Value, json};

use crate::support::{CampaignSetup, TestCampaign};

#[test]
fn rejects_invalid_arguments() {
    let scene = TestCampaign::paused();
    let table = [
        ("read_logs", json!({"count": 0})),
        ("read_logs", json!({"count": 2501})),
        ("read_logs", json!({"count": 1.5})),
        ("read_logs", json!({"eventType": "Nothing"})),
        ("read_logs", json!({"workerId": -1})),
        ("read_logs", json!({"workerId": 2})),
        ("read_logs", json!({"workerId": 1e30})),
        ("read_logs", json!({"since": 0})),
        ("get_corpus_size", json!({"all": true})),
        ("inspect_corpus_transactions", json!({"offset": -1})),
        ("inspect_corpus_transactions", json!({"limit": 0})),
        ("inspect_corpus_transactions", json!({"limit": 101})),
        ("find_transaction_in_corpus", json!({})),
        ("find_transaction_in_corpus", json!({"minValue": "0x10"})),
        ("find_transaction_in_corpus", json!({"minValue": ""})),
        ("find_transaction_in_corpus", json!({"minValue": "-1"})),
        ("find_transaction_in_corpus", json!({"minValue": "1 ether"})),
        ("find_transaction_in_corpus", json!({"minValue": "9".repeat(79)})),
        ("find_transaction_in_corpus", json!({"sender": "0x1234"})),
        ("find_transaction_in_corpus", json!({"functionSignature": "deposit( uint256 )"})),
        ("show_coverage", json!({"contract": "Vaul"})),
        ("show_coverage", json!({"contract": "\u{202e}Vault"})),
        ("show_source_coverage", json!({})),
        ("show_source_coverage", json!({"contract": "Vault", "file": "Vault.sol"})),
        ("show_source_coverage", json!({"file": "Other.sol"})),
        ("show_source_coverage", json!({"file": "Vault.sol", "from": 9, "to": 8})),
        ("show_source_coverage", json!({"file": "Vault.sol", "from": 900})),
        ("get_reproducer", json!({"property": "echidna_nothing"})),
        ("get_reproducer", json!({"property": "echidna_fee_stays_within_its_limit"})),
        ("sample_function", json!({"functionSignature": "deposit(uint)"})),
        ("sample_function", json!({"functionSignature": "deposit(uint256)", "calls": 0})),
        ("execute_sequence", json!({"sequence": ["deposit(?)"]})),
        ("clear_priorities", json!({"all": true})),
    ];
    insta::assert_snapshot!(list_errors(&scene, &table));
}

#[test]
fn rejects_calls_that_cannot_be_injected() {
    let scene = TestCampaign::paused();
    let one = |call: &str| ("inject_transaction", json!({"sequence": [call]}));
    let too_many = vec!["deposit(1)"; 101];
    let table = [
        ("inject_transaction", json!({})),
        ("inject_transaction", json!({"sequence": []})),
        ("inject_transaction", json!({"sequence": too_many})),
        ("inject_transaction", json!({"sequence": ["deposit(1)", "withdraw(1) "]})),
        ("inject_transaction", json!({"sequence": ["deposit(1)", "withdraw"]})),
        ("inject_transaction", json!({"sequence": ["deposit(1)", "withdraw(1)", "move(1)"]})),
        one("deposit()"),
        one("deposit(1, 2)"),
        one("deposit(-1)"),
        one(&format!("deposit(1{})", "0".repeat(78))),
        one("deposit(true)"),
        one("deposit(1"),
        one("deposit(1))"),
        one("move((1, 2), 3)"),
        one("move(0x1234, 1)"),
        one("depositt(1)"),
        one("Vault.deposit(1)"),
        ("inject_transaction", json!({"sequence": ["deposit(1)"], "sender": "0x1"})),
        ("inject_transaction", json!({"sequence": ["deposit(1)"], "value": "0x10"})),
        ("inject_transaction", json!({"sequence": ["deposit(1)"], "value": "1"})),
        ("inject_transaction", json!({"sequence": ["deposit(1)"], "value": "9".repeat(79)})),
    ];
    insta::assert_snapshot!(list_errors(&scene, &table));
    assert!(scene.command_log_lines().is_empty(), "rejected calls are not logged");
}

#[test]
fn rejects_functions_that_cannot_be_prioritized() {
    let scene = TestCampaign::paused();
    let one = |signature: &str| ("prioritize_function", json!({"functionSignature": signature}));
    let table = [
        ("prioritize_function", json!({})),
        one("deposit"),
        one("deposit(uint)"),
        one("deposits(uint256)"),
        one("transfer(address,uint256)"),
        one("echidna_fee_stays_within_its_limit()"),
        one("move(address, uint256)"),
    ];
    insta::assert_snapshot!(list_errors(&scene, &table));
    assert!(scene.command_log_lines().is_empty(), "rejected calls are not logged");
}

/// Tuples contain a `)` in signatures and calls, which the agreed patterns do not allow.
#[test]
fn tuples_are_written_with_braces() {
    // All its tests fail within a second, which would end the campaign.
    let scene = TestCampaign::running(CampaignSetup {
        is_paused: true,
        ..CampaignSetup::for_contract("Structs")
    });
    let round = "process((1, [(0x00000000, 2)]))";
    let refusal = scene.call_err("inject_transaction", json!({"sequence": [round]}));
    assert!(refusal.contains("write a tuple as {1, 2}"), "{refusal}");
    let curly = "process({1, [{0x00000000, 2}]})";
    scene.call_ok("inject_transaction", json!({"sequence": [curly]}));
    assert_eq!(scene.command_log_lines()[0]["arguments"]["sequence"], json!([curly]));
    let curly = json!({"functionSignature": "process({uint64,{bytes4,uint256}[]})"});
    let answer = scene.call_ok("prioritize_function", curly);
    assert_eq!(answer["prioritizedFunctions"], json!(["process((uint64,(bytes4,uint256)[]))"]));
}

fn list_errors(scene: &TestCampaign, table: &[(&str, Value)]) -> String {
    let before = (scene.shared.calls_by_worker(), scene.shared.priorities());
    let lines = table.iter().map(|(tool, arguments)| {
        let mut given = arguments.to_string();
        if given.len() > 100 {
            given.truncate(given.floor_char_boundary(90));
            given.push('…');
        }
        format!("{tool} {given}\n    {}", scene.call_err(tool, arguments.clone()))
    });
    let lines: Vec<String> = lines.collect();
    assert_eq!(before, (scene.shared.calls_by_worker(), scene.shared.priorities()));
    lines.join("\n")
}

//! `vouch fuzz --replay`: what each call did, down to the calls within it.

use serde_json::{Value, json};

use crate::support::Project;

/// A shop that calls a feed, and a reader that needs what there is not.
fn project() -> Project {
    Project::new()
        .with("Shop.sol", include_str!("Shop.sol"))
        .with("Shop.json", include_str!("Shop.json"))
}

/// One call as the corpus keeps it.
fn call(name: &str, arguments: &[u64], value: u64) -> Value {
    let argument = |it: &u64| json!({"tag": "AbiUInt", "contents": [256, it.to_string()]});
    let arguments: Vec<_> = arguments.iter().map(argument).collect();
    json!({
        "call": {"tag": "SolCall", "contents": [name, arguments]},
        "src": "0x10000",
        "dst": "0x00a329c0648769a73afac7f9381e08fb43dbea72",
        "gas": 12_500_000,
        "gasprice": "0x0",
        "value": format!("{value:#x}"),
        "delay": ["0x0", "0x0"],
    })
}

fn replay(contract: &str, calls: &[Value], args: &[&str]) -> String {
    let project = project().with("calls.txt", &Value::from(calls).to_string());
    let fixed = ["fuzz", "Shop.json", "--contract", contract, "--replay", "calls.txt"];
    project.check(&[&fixed, args].concat())
}

#[test]
fn a_trace_of_what_fails() {
    let calls = [
        call("renew", &[], 0),
        call("sell", &[998, 11], 5),
        call("sell", &[7, 3], 0),
        // The reason has a line break and an escape sequence in it.
        call("sell", &[5000, 3], 0),
        call("dive", &[15], 0),
    ];
    insta::assert_snapshot!(replay("Shop", &calls, &[]));
}

#[test]
fn a_trace_as_json() {
    let calls = [call("sell", &[998, 11], 5)];
    insta::assert_snapshot!(replay("Shop", &calls, &["--json"]));
}

#[test]
fn a_trace_ends_somewhere_and_says_so() {
    let text = replay("Shop", &[call("many", &[150], 0)], &[]);
    assert_eq!(text.matches("   Feed.set(").count(), 100, "{text}");
    assert!(text.contains("\n   … and 50 calls more\n"), "{text}");
    assert!(text.contains("\n   … and 130 events more\n"), "{text}");
    let text = replay("Shop", &[call("many", &[1100], 0)], &["--json"]);
    let json = text.split("--- out\n").nth(1).and_then(|rest| rest.split("--- err").next());
    let json: Value = serde_json::from_str(json.unwrap()).unwrap();
    // It reverts at the price of 1000; the call itself is a frame, too.
    let call = &json["calls"][0];
    assert_eq!(call["trace"].as_array().unwrap().len(), 1000);
    assert_eq!(call["leftOut"], json!({"trace": 2, "events": 800}));
}

#[test]
fn a_large_number_is_told() {
    let set = json!({"tag": "AbiUInt", "contents": [8, "200"]});
    let mut call = call("set", &[], 0);
    call["call"]["contents"][1] = json!([set]);
    let project = Project::new()
        .with("Counters.sol", include_str!("Counters.sol"))
        .with("Counters.json", include_str!("Counters.json"))
        .with("echidna.yaml", "testMode: optimization\nconstructorArgs: [\"3\"]\n")
        .with("calls.txt", &json!([call]).to_string());
    let args = ["fuzz", "Counters.json", "--contract", "Counter", "--replay", "calls.txt"];
    insta::assert_snapshot!(project.check(&args));
}

#[test]
fn a_call_that_needs_what_there_is_not_shows_what_it_did() {
    insta::assert_snapshot!(replay("Reader", &[call("read", &[], 0)], &[]));
}

#[test]
fn files_that_cannot_be_replayed() {
    let project = project()
        .with("empty.txt", "")
        .with("none.txt", "[]")
        .with("calls.txt", &json!([call("renew", &[], 0)]).to_string());
    std::fs::write(project.root.join("bytes.txt"), [0xff, 0xfe]).unwrap();
    let replay = |file| ["fuzz", "Shop.json", "--contract", "Shop", "--replay", file];
    insta::assert_snapshot!(project.transcript(&[
        &replay("."),
        &replay("empty.txt"),
        &replay("bytes.txt"),
        &replay("none.txt"),
        &["fuzz", "Shop.json", "--contract", "Reader", "--replay", "calls.txt"],
        &["fuzz", "--demo", "--replay", "calls.txt"],
    ]));
}

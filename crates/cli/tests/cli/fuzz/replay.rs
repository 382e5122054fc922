//! `vouch fuzz --replay`: traces of calls with their nested calls, and the tests that fail.

use serde_json::{Value, json};

use crate::support::Project;

/// Returns a project with a shop that calls a feed, and a reader that uses an unsupported cheat code.
fn project() -> Project {
    Project::new()
        .with("Shop.sol", include_str!("Shop.sol"))
        .with("Shop.json", include_str!("Shop.json"))
}

/// Returns a call in the format of corpus files.
fn corpus_call(name: &str, arguments: &[u64], value: u64) -> Value {
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

fn replay_calls(contract: &str, calls: &[Value], args: &[&str]) -> String {
    let project = project().with("calls.txt", &Value::from(calls).to_string());
    let fixed = ["fuzz", "Shop.json", "--contract", contract, "--replay", "calls.txt"];
    project.run_text(&[&fixed, args].concat())
}

#[test]
fn prints_trace_of_failing_calls() {
    let calls = [
        corpus_call("renew", &[], 0),
        corpus_call("sell", &[998, 11], 5),
        corpus_call("sell", &[7, 3], 0),
        // The revert reason contains a line break and an escape sequence.
        corpus_call("sell", &[5000, 3], 0),
        corpus_call("dive", &[15], 0),
    ];
    insta::assert_snapshot!(replay_calls("Shop", &calls, &[]));
}

#[test]
fn prints_trace_as_json() {
    let calls = [corpus_call("sell", &[998, 11], 5)];
    insta::assert_snapshot!(replay_calls("Shop", &calls, &["--json"]));
}

#[test]
fn truncates_long_traces() {
    let text = replay_calls("Shop", &[corpus_call("many", &[150], 0)], &[]);
    assert_eq!(text.matches("   Feed.set(").count(), 100, "{text}");
    assert!(text.contains("\n   … and 50 more calls\n"), "{text}");
    assert!(text.contains("\n   … and 130 more events\n"), "{text}");
    let text = replay_calls("Shop", &[corpus_call("many", &[1100], 0)], &["--json"]);
    let json = text.split("--- out\n").nth(1).and_then(|rest| rest.split("--- err").next());
    let json: Value = serde_json::from_str(json.unwrap()).unwrap();
    // The call reverts at a price of 1000. The outermost call is a frame, too.
    let call = &json["calls"][0];
    assert_eq!(call["trace"].as_array().unwrap().len(), 1000);
    assert_eq!(call["leftOut"], json!({"trace": 2, "events": 800}));
}

#[test]
fn prints_reached_maximum() {
    let set = json!({"tag": "AbiUInt", "contents": [8, "200"]});
    let mut call = corpus_call("set", &[], 0);
    call["call"]["contents"][1] = json!([set]);
    let project = Project::new()
        .with("Counters.sol", include_str!("Counters.sol"))
        .with("Counters.json", include_str!("Counters.json"))
        .with("echidna.yaml", "testMode: optimization\nconstructorArgs: [\"3\"]\n")
        .with("calls.txt", &json!([call]).to_string());
    let args = ["fuzz", "Counters.json", "--contract", "Counter", "--replay", "calls.txt"];
    insta::assert_snapshot!(project.run_text(&args));
}

#[test]
fn prints_trace_when_cheat_code_is_unsupported() {
    insta::assert_snapshot!(replay_calls("Reader", &[corpus_call("read", &[], 0)], &[]));
}

#[test]
fn rejects_files_that_cannot_be_replayed() {
    let project = project()
        .with("empty.txt", "")
        .with("none.txt", "[]")
        .with("calls.txt", &json!([corpus_call("renew", &[], 0)]).to_string());
    std::fs::write(project.root.join("bytes.txt"), [0xff, 0xfe]).unwrap();
    let args = |file| ["fuzz", "Shop.json", "--contract", "Shop", "--replay", file];
    insta::assert_snapshot!(project.transcript(&[
        &args("."),
        &args("empty.txt"),
        &args("bytes.txt"),
        &args("none.txt"),
        &["fuzz", "Shop.json", "--contract", "Reader", "--replay", "calls.txt"],
        &["fuzz", "--demo", "--replay", "calls.txt"],
    ]));
}

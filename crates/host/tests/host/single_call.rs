//! A query makes at most one call: enforced by types, checked in the source text, and counted at run time.
//!
//! The documentation examples of `host::gate::single_call` cover the types; one of them must not compile.

use std::path::Path;

use host::{AskContext, AskOutcome, answer_query};
use serde_json::json;

use crate::fixtures::{CountingDiscovery, ScriptedModel, TestHost};

fn read_sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, found);
        } else {
            found.push(std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn crate_has_one_call_site() {
    let mut found = Vec::new();
    read_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    let code: String = found
        .iter()
        .flat_map(|file| file.lines())
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    let count = |needle: &str| code.matches(needle).count();
    assert_eq!(count("pipeline.call("), 1, "the pipeline is called in one place");
    assert_eq!(count(" ToolCall::new("), 1, "a call is built in one place");
    assert_eq!(count(".make("), 1, "a `SingleCall` is used in one place");
    assert_eq!(count("SingleCall {"), 1, "a `SingleCall` is created in one place");
    assert_eq!(count("VettedCall::new("), 1, "only gate 3 creates a `VettedCall`");
}

#[test]
fn ask_has_no_loop() {
    let ask = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ask.rs");
    let ask = std::fs::read_to_string(ask).unwrap();
    for keyword in ["loop ", "while ", "for "] {
        assert!(!ask.lines().any(|line| line.trim_start().starts_with(keyword)), "{keyword}");
    }
}

#[tokio::test]
async fn ask_ends_after_one_call_even_if_summarizer_returns_a_plan() {
    let world = TestHost::new().await;
    let (discovery, planner) = (
        CountingDiscovery::default(),
        ScriptedModel::for_call("notes", "read_note", &json!({"id": "1"})),
    );
    let second_plan = ScriptedModel::for_call("notes", "read_note", &json!({"id": "2"}));
    let mut desk = AskContext::new(&world.pipeline, &discovery, &planner);
    desk.summarizer = Some(&second_plan);
    let asked = answer_query("read notes 1 and 2, both", &desk).await;
    let AskOutcome::Answered(answered) = &asked.outcome else { panic!("{:?}", asked.outcome) };
    let error = answered.summary.as_ref().unwrap().as_ref().unwrap_err();
    assert_eq!(error.to_string(), "expected an object of type `summary`");
    assert_eq!(world.take_runs(), [("notes__read_note".to_owned(), json!({"id": "1"}))]);
    assert_eq!(*planner.asked.lock().unwrap(), 1);
    let last = asked.trace.lines().last().unwrap();
    assert_eq!((last.gate, last.detail.as_str()), (6, "one call was made"));
}

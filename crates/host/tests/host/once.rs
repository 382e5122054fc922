//! No plan reaches the call site twice: by types, by the text of the crate, and by counting.
//!
//! The types are shown by the examples of `host::gate::once`, of which one must not compile.

use std::path::Path;

use host::{Desk, Outcome, ask};
use serde_json::json;

use crate::world::{Discovery, Says, World};

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(std::fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_crate_has_one_call_site() {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    let code: String = found
        .iter()
        .flat_map(|file| file.lines())
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    let count = |needle: &str| code.matches(needle).count();
    assert_eq!(count("pipeline.call("), 1, "the pipeline is called in one place");
    assert_eq!(count("Call::new("), 1, "a call is made in one place");
    assert_eq!(count(".make("), 1, "the right to a call is used in one place");
    assert_eq!(count("SingleCall {"), 1, "the right to a call is handed out in one place");
    assert_eq!(count("Vetted::new("), 1, "only gate 3 lets a call through");
}

#[test]
fn the_way_of_an_ask_has_no_loop() {
    let ask = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ask.rs");
    let ask = std::fs::read_to_string(ask).unwrap();
    for sign in ["loop ", "while ", "for "] {
        assert!(!ask.lines().any(|line| line.trim_start().starts_with(sign)), "{sign}");
    }
}

#[tokio::test]
async fn an_ask_ends_after_one_call_whatever_the_planner_would_say_next() {
    let world = World::new().await;
    let (discovery, planner) =
        (Discovery::default(), Says::call("notes", "read_note", &json!({"id": "1"})));
    let again = Says::call("notes", "read_note", &json!({"id": "2"}));
    let mut desk = Desk::new(&world.pipeline, &discovery, &planner);
    desk.summarizer = Some(&again);
    let asked = ask("read notes 1 and 2, both", &desk).await;
    let Outcome::Answered(answered) = &asked.outcome else { panic!("{:?}", asked.outcome) };
    let refusal = answered.summary.as_ref().unwrap().as_ref().unwrap_err();
    assert_eq!(refusal.to_string(), "the answer is not of the type `summary`");
    assert_eq!(world.take_runs(), [("notes__read_note".to_owned(), json!({"id": "1"}))]);
    assert_eq!(*planner.asked.lock().unwrap(), 1);
    let last = asked.trace.lines().last().unwrap();
    assert_eq!((last.gate, last.detail.as_str()), (6, "one call was made"));
}

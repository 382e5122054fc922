//! The reference servers of 2026-08-31, as they list themselves.

use std::collections::BTreeMap;

use admit::{Mode, Pins, Policy, State, Upstream, admit, readmit};
use serde_json::{Value, json};

use crate::{brief, judge, judge_as, judge_with};

pub(crate) fn list(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("the fixture is a list of tools")
}

pub(crate) fn filesystem() -> Vec<Value> {
    list(include_str!("fixtures/filesystem.json"))
}

fn memory() -> Vec<Value> {
    list(include_str!("fixtures/memory.json"))
}

fn everything() -> Vec<Value> {
    list(include_str!("fixtures/everything.json"))
}

#[test]
fn servers_that_declare_what_they_answer_are_ready() {
    for (list, expected) in [(filesystem(), 14), (memory(), 9)] {
        let admission = judge(&list);
        assert_eq!(admission.counts(), BTreeMap::from([(State::Ready, expected)]));
        assert_eq!(admission.running().count(), expected);
    }
}

#[test]
fn a_server_that_does_not_runs_one_tool_and_one_more_with_an_overlay() {
    let admission = judge(&everything());
    let expected = BTreeMap::from([(State::Ready, 1), (State::Refused, 12)]);
    assert_eq!(admission.counts(), expected);
    let overlay = json!({"result": "text", "constraints": {"sideEffects": "none"}});
    let admission = judge_with(&everything(), &[("echo", overlay)]);
    insta::assert_snapshot!(brief(&admission));
    let echo = admission.tool("echo").expect("it is listed");
    assert_eq!((echo.state, echo.runs()), (State::Overlaid, true));
    assert_eq!(echo.result, admit::ResultMode::Text);
}

#[test]
fn hints_become_constraints_and_hints_again() {
    let admission = judge(&memory());
    let lines: Vec<String> = admission
        .tools
        .iter()
        .map(|tool| {
            let constraints = tool.definition.constraints.as_ref().expect("always set");
            let hints = Value::from(tool.definition.annotations.clone().expect("always set"));
            format!("{}: {:?} {hints}", tool.name, constraints.side_effects)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_strict_policy_refuses_what_makes_a_caller_guess() {
    let admission = judge_as(Mode::Strict, &filesystem(), &Pins::default());
    insta::assert_snapshot!(brief(&admission).lines().take(40).collect::<Vec<_>>().join("\n"));
}

#[test]
fn observing_lets_everything_through_and_marks_it() {
    let admission = judge_as(Mode::Observe, &everything(), &Pins::default());
    assert_eq!(admission.running().count(), 13);
    assert_eq!(admission.tools.iter().filter(|tool| tool.observed).count(), 12);
    let echo = admission.tool("echo").expect("it is listed");
    assert_eq!(echo.state, State::Refused);
    assert!(echo.contract.as_ref().is_some_and(|contract| contract.output.is_none()));
}

#[test]
fn what_was_judged_before_is_not_judged_again() {
    let (upstream, policy) = (Upstream::new("files"), Policy::default());
    let (none, pins) = (BTreeMap::new(), Pins::default());
    let first = admit(&upstream, &filesystem(), &none, &pins, &policy);
    let mut list = filesystem();
    list[3]["description"] = json!("Reads several files.");
    let again = readmit(&first, &upstream, &list, &none, &pins, &policy);
    let fresh = admit(&upstream, &list, &none, &pins, &policy);
    assert_eq!(brief(&again), brief(&fresh));
    for (index, (before, after)) in first.tools.iter().zip(&again.tools).enumerate() {
        let (before, after) = (before.contract.as_ref().unwrap(), after.contract.as_ref().unwrap());
        assert_eq!(std::sync::Arc::ptr_eq(before, after), index != 3, "{}", after.name);
    }
    // Another overlay or mode is another judgement.
    let overlays = BTreeMap::from([("read_file".to_owned(), admit::Overlay::default())]);
    let overlaid = readmit(&first, &upstream, &filesystem(), &overlays, &pins, &policy);
    assert_eq!(overlaid.tool("read_file").unwrap().state, State::Overlaid);
    let strict = Policy::new(Mode::Strict);
    let strict = readmit(&first, &upstream, &filesystem(), &none, &pins, &strict);
    assert_eq!(strict.running().count(), 0);
}

//! Tests the tool lists of the MCP reference servers, recorded on 2026-08-31.

use std::collections::BTreeMap;

use admit::{
    AdmissionMode, AdmissionPolicy, PinSet, ToolStatus, UpstreamIdentity, admit_tools,
    readmit_tools,
};
use serde_json::{Value, json};

use crate::{admit_by_default, admit_in_mode, admit_with_overlays, summarize};

pub(crate) fn parse_tools(text: &str) -> Vec<Value> {
    serde_json::from_str(text).expect("the fixture is a list of tools")
}

pub(crate) fn filesystem_tools() -> Vec<Value> {
    parse_tools(include_str!("fixtures/filesystem.json"))
}

fn memory_tools() -> Vec<Value> {
    parse_tools(include_str!("fixtures/memory.json"))
}

fn everything_tools() -> Vec<Value> {
    parse_tools(include_str!("fixtures/everything.json"))
}

#[test]
fn admits_servers_with_output_schemas() {
    for (list, expected) in [(filesystem_tools(), 14), (memory_tools(), 9)] {
        let admission = admit_by_default(&list);
        assert_eq!(admission.count_by_status(), BTreeMap::from([(ToolStatus::Ready, expected)]));
        assert_eq!(admission.runnable_tools().count(), expected);
    }
}

#[test]
fn overlay_admits_tool_of_server_without_output_schemas() {
    let admission = admit_by_default(&everything_tools());
    let expected = BTreeMap::from([(ToolStatus::Ready, 1), (ToolStatus::Refused, 12)]);
    assert_eq!(admission.count_by_status(), expected);
    let overlay = json!({"result": "text", "constraints": {"sideEffects": "none"}});
    let admission = admit_with_overlays(&everything_tools(), &[("echo", overlay)]);
    insta::assert_snapshot!(summarize(&admission));
    let echo = admission.find_tool("echo").expect("the tool is listed");
    assert_eq!((echo.state, echo.can_run()), (ToolStatus::Overlaid, true));
    assert_eq!(echo.result, admit::ResultMode::Text);
}

#[test]
fn converts_hints_to_constraints_and_back() {
    let admission = admit_by_default(&memory_tools());
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
fn strict_policy_refuses_warnings() {
    let admission = admit_in_mode(AdmissionMode::Strict, &filesystem_tools(), &PinSet::default());
    insta::assert_snapshot!(summarize(&admission).lines().take(40).collect::<Vec<_>>().join("\n"));
}

#[test]
fn observe_mode_runs_and_marks_every_tool() {
    let admission = admit_in_mode(AdmissionMode::Observe, &everything_tools(), &PinSet::default());
    assert_eq!(admission.runnable_tools().count(), 13);
    assert_eq!(admission.tools.iter().filter(|tool| tool.observed).count(), 12);
    let echo = admission.find_tool("echo").expect("the tool is listed");
    assert_eq!(echo.state, ToolStatus::Refused);
    assert!(echo.contract.as_ref().is_some_and(|contract| contract.output.is_none()));
}

#[test]
fn readmission_reuses_unchanged_assessments() {
    let (upstream, policy) = (UpstreamIdentity::new("files"), AdmissionPolicy::default());
    let (none, pins) = (BTreeMap::new(), PinSet::default());
    let first = admit_tools(&upstream, &filesystem_tools(), &none, &pins, &policy);
    let mut list = filesystem_tools();
    list[3]["description"] = json!("Reads several files.");
    let again = readmit_tools(&first, &upstream, &list, &none, &pins, &policy);
    let fresh = admit_tools(&upstream, &list, &none, &pins, &policy);
    assert_eq!(summarize(&again), summarize(&fresh));
    for (index, (before, after)) in first.tools.iter().zip(&again.tools).enumerate() {
        let (before, after) = (before.contract.as_ref().unwrap(), after.contract.as_ref().unwrap());
        assert_eq!(std::sync::Arc::ptr_eq(before, after), index != 3, "{}", after.name);
    }
    // Another overlay or mode requires a new assessment.
    let overlays = BTreeMap::from([("read_file".to_owned(), admit::Overlay::default())]);
    let overlaid = readmit_tools(&first, &upstream, &filesystem_tools(), &overlays, &pins, &policy);
    assert_eq!(overlaid.find_tool("read_file").unwrap().state, ToolStatus::Overlaid);
    let strict = AdmissionPolicy::new(AdmissionMode::Strict);
    let strict = readmit_tools(&first, &upstream, &filesystem_tools(), &none, &pins, &strict);
    assert_eq!(strict.runnable_tools().count(), 0);
}

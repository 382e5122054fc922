//! Tests admission through its public API: lists, overlays, pins and policies in, statuses and pins out.

mod changes;
mod classes;
mod conformance;
mod copies;
mod hostile;
mod learning;
mod overlays;
mod pinning;
mod reference;
mod schemas;
mod trials;

use std::collections::BTreeMap;
use std::fmt::Write;

use admit::{
    Admission, AdmissionMode, AdmissionPolicy, Overlay, PinSet, UpstreamIdentity, admit_tools,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Admits a list of the upstream `files` with the default policy, without overlays and pins.
fn admit_by_default(tools: &[Value]) -> Admission {
    admit_in_mode(AdmissionMode::Default, tools, &PinSet::default())
}

fn admit_in_mode(mode: AdmissionMode, tools: &[Value], pins: &PinSet) -> Admission {
    admit_tools(
        &UpstreamIdentity::new("files"),
        tools,
        &BTreeMap::new(),
        pins,
        &AdmissionPolicy::new(mode),
    )
}

fn admit_with_overlays(tools: &[Value], overlays: &[(&str, Value)]) -> Admission {
    let overlays = overlays
        .iter()
        .map(|(name, overlay)| {
            let overlay =
                Overlay::parse(&overlay.to_string()).expect("the test's overlay is valid");
            ((*name).to_owned(), overlay)
        })
        .collect::<BTreeMap<_, _>>();
    let upstream = UpstreamIdentity::new("files");
    admit_tools(&upstream, tools, &overlays, &PinSet::default(), &AdmissionPolicy::default())
}

/// Returns a tool without findings. Tests break one thing in it.
fn clean_tool(name: &str) -> Value {
    json!({
        "name": name,
        "title": "Read a file",
        "description": "Reads one file below the root and gives its text and size.",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "Where the file is, relative to the root"}},
            "required": ["path"],
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "content": {"type": "string", "description": "The text"},
                "size": {"type": "integer", "description": "In bytes", "minimum": 0},
            },
            "required": ["content", "size"],
            "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
    })
}

/// Returns the tool with the value at a pointer replaced or added, or removed if it is null.
fn with_value(mut tool: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer starts with a slash");
    let parent = tool.pointer_mut(parent).expect("the parent exists");
    match (parent, value) {
        (Value::Object(map), Value::Null) => _ = map.remove(key),
        (parent, value) => parent[key] = value,
    }
    tool
}

fn time_at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).expect("a time of this century")
}

/// Returns a line per tool and per reason, except notes of the linter.
fn summarize(admission: &Admission) -> String {
    let mut text = String::new();
    for tool in &admission.tools {
        let name = contract::text::one_line(&tool.name.chars().take(40).collect::<String>());
        let runs = if tool.can_run() { "" } else { " (does not run)" };
        let observed = if tool.observed { " observed" } else { "" };
        writeln!(text, "{name}: {:?}{observed}{runs}", tool.state)
            .expect("writing to a string succeeds");
        for reason in &tool.reasons {
            if reason.severity != lint::Severity::Note || reason.rule.starts_with('A') {
                writeln!(text, "  {} {}: {}", reason.severity, reason.rule, reason.message)
                    .expect("writing to a string succeeds");
                writeln!(text, "    → {}", reason.remedy).expect("writing to a string succeeds");
            }
        }
    }
    text
}

//! Admission at its boundary: lists, overlays, pins and policies in, judgements and pins out.

mod changes;
mod conformance;
mod hostile;
mod learning;
mod overlays;
mod pinning;
mod reference;
mod trials;

use std::collections::BTreeMap;
use std::fmt::Write;

use admit::{Admission, Mode, Overlay, Pins, Policy, Upstream, admit};
use jiff::Timestamp;
use serde_json::{Value, json};

/// A list as the upstream `files` offers it, with the default policy and nothing else.
fn judge(tools: &[Value]) -> Admission {
    judge_as(Mode::Default, tools, &Pins::default())
}

fn judge_as(mode: Mode, tools: &[Value], pins: &Pins) -> Admission {
    admit(&Upstream::new("files"), tools, &BTreeMap::new(), pins, &Policy::new(mode))
}

fn judge_with(tools: &[Value], overlays: &[(&str, Value)]) -> Admission {
    let overlays = overlays
        .iter()
        .map(|(name, overlay)| {
            let overlay = Overlay::parse(&overlay.to_string()).expect("the test's overlay is one");
            ((*name).to_owned(), overlay)
        })
        .collect::<BTreeMap<_, _>>();
    let upstream = Upstream::new("files");
    admit(&upstream, tools, &overlays, &Pins::default(), &Policy::default())
}

/// A tool that no rule objects to; tests spoil one thing in it.
fn clean(name: &str) -> Value {
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

/// With the value at a pointer replaced, added to its object, or (null) removed.
fn with(mut tool: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer starts with a slash");
    let parent = tool.pointer_mut(parent).expect("the parent is there");
    match (parent, value) {
        (Value::Object(map), Value::Null) => _ = map.remove(key),
        (parent, value) => parent[key] = value,
    }
    tool
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).expect("a time of this century")
}

/// A line for each tool and each reason that is more than a note.
fn brief(admission: &Admission) -> String {
    let mut text = String::new();
    for tool in &admission.tools {
        let name = contract::text::one_line(&tool.name.chars().take(40).collect::<String>());
        let runs = if tool.runs() { "" } else { " (does not run)" };
        let observed = if tool.observed { " observed" } else { "" };
        writeln!(text, "{name}: {:?}{observed}{runs}", tool.state).expect("a string takes text");
        for reason in &tool.reasons {
            if reason.severity != lint::Severity::Note || reason.rule.starts_with('A') {
                writeln!(text, "  {} {}: {}", reason.severity, reason.rule, reason.message)
                    .expect("a string takes text");
                writeln!(text, "    → {}", reason.remedy).expect("a string takes text");
            }
        }
    }
    text
}

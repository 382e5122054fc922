//! The trace of an ask: the contents of its lines, and parsing of trace files.

use std::sync::Arc;

use host::trace::{GateVerdict, parse_trace, render_trace};
use host::{AskContext, EffectiveAllowlist, ExtractiveSummarizer, ToolStanding, answer_query};
use serde_json::{Value, json};

use crate::fixtures::{CountingDiscovery, ScriptedModel, TestHost, allowed};

/// Replaces the values that differ between runs.
fn redact(jsonl: &str) -> String {
    let lines = jsonl.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        for (key, value) in
            [("ask", json!("ID")), ("time", json!("TIME")), ("elapsedUs", json!(1500))]
        {
            assert!(!line[key].is_null(), "{key}");
            line[key] = value;
        }
        line.to_string() + "\n"
    });
    lines.collect()
}

async fn trace_ask(query: &str, plan: &Value) -> String {
    let world = TestHost::new().await;
    let (discovery, planner) = (CountingDiscovery::default(), ScriptedModel::new(plan.to_string()));
    let mut desk = AskContext::new(&world.pipeline, &discovery, &planner);
    desk.summarizer = Some(&ExtractiveSummarizer);
    let asked = answer_query(query, &desk).await;
    assert!(asked.trace.lines().iter().all(|line| line.ask == asked.trace.id()));
    asked.trace.to_jsonl()
}

#[tokio::test]
async fn each_gate_adds_a_line_without_values() {
    let good = json!({"type": "call", "server": "notes", "tool": "read_note", "arguments": {"id": "hunter2"}});
    let text = redact(&trace_ask("read the note hunter2", &good).await);
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!("passed", text);
    insta::assert_snapshot!("rendered", render_trace(&parse_trace(&text).lines));
}

#[tokio::test]
async fn contract_can_allow_argument_values() {
    let world = TestHost::new().await;
    let tool = &allowed()[0];
    let mut definition = tool.contract().to_definition();
    definition.constraints =
        Some(contract::Constraints { audit_values: true, ..contract::Constraints::default() });
    let contract = Arc::new(contract::Contract::new(definition, &[]).unwrap());
    let list = EffectiveAllowlist::new(vec![tool.listed(ToolStanding::Allowed(contract))]);
    let planner = ScriptedModel::for_call("notes", "read_note", &json!({"id": "n-42"}));
    let asked = answer_query("read it", &AskContext::new(&world.pipeline, &list, &planner)).await;
    let line = asked.trace.lines().iter().find(|line| line.gate == 2).unwrap();
    assert_eq!(line.arguments.as_ref().unwrap().values, Some(json!({"id": "n-42"})));
    assert!(render_trace(asked.trace.lines()).contains("n-42"));
}

#[tokio::test]
async fn stop_is_followed_only_by_the_call_count() {
    let evil = json!({"type": "call", "server": "shell", "tool": "run", "arguments": {"command": "hunter2"}});
    let text = redact(&trace_ask("run hunter2", &evil).await);
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!("stopped", text);
}

#[test]
fn skips_invalid_lines_and_escapes_forged_text() {
    let line = |ask: &str, detail: &str| {
        json!({"ask": ask, "time": "t", "gate": 0, "name": "input policy", "verdict": "stop",
            "detail": detail, "elapsedUs": 2_500_000})
        .to_string()
    };
    let text = format!(
        "{}\n{}\n\nnot json\n{}\n{{\"ask\":\"c\",\"ti",
        line("a", "one"),
        line("b", "\u{1b}[2Jtwo\nlines"),
        line("a", "three"),
    );
    let parsed = parse_trace(&text);
    assert_eq!((parsed.lines.len(), parsed.unreadable), (3, 2));
    assert_eq!(parsed.lines[0].verdict, GateVerdict::Stop);
    insta::assert_snapshot!("forged", render_trace(&parsed.lines));
}

//! The trace of an ask: what its lines say, what they never say, and how they are read back.

use std::sync::Arc;

use host::trace::{Verdict, parse, render};
use host::{Allowlist, Desk, Extractive, Standing, ask};
use serde_json::{Value, json};

use crate::world::{Discovery, Says, World, allowed};

/// The lines with what differs from run to run taken out.
fn steady(jsonl: &str) -> String {
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

async fn traced(query: &str, plan: &Value) -> String {
    let world = World::new().await;
    let (discovery, planner) = (Discovery::default(), Says::new(plan.to_string()));
    let mut desk = Desk::new(&world.pipeline, &discovery, &planner);
    desk.summarizer = Some(&Extractive);
    let asked = ask(query, &desk).await;
    assert!(asked.trace.lines().iter().all(|line| line.ask == asked.trace.id()));
    asked.trace.to_jsonl()
}

#[tokio::test]
async fn each_gate_leaves_a_line_without_any_value() {
    let good = json!({"type": "call", "server": "notes", "tool": "read_note", "arguments": {"id": "hunter2"}});
    let text = steady(&traced("read the note hunter2", &good).await);
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!("passed", text);
    insta::assert_snapshot!("rendered", render(&parse(&text).lines));
}

#[tokio::test]
async fn a_contract_may_allow_its_values_in_the_trace() {
    let world = World::new().await;
    let tool = &allowed()[0];
    let mut definition = tool.contract().definition();
    definition.constraints =
        Some(contract::Constraints { audit_values: true, ..contract::Constraints::default() });
    let contract = Arc::new(contract::Contract::new(definition, &[]).unwrap());
    let list = Allowlist::new(vec![tool.listed(Standing::Allowed(contract))]);
    let planner = Says::call("notes", "read_note", &json!({"id": "n-42"}));
    let asked = ask("read it", &Desk::new(&world.pipeline, &list, &planner)).await;
    let line = asked.trace.lines().iter().find(|line| line.gate == 2).unwrap();
    assert_eq!(line.arguments.as_ref().unwrap().values, Some(json!({"id": "n-42"})));
    assert!(render(asked.trace.lines()).contains("n-42"));
}

#[tokio::test]
async fn a_stop_is_the_last_word_but_for_the_count_of_calls() {
    let evil = json!({"type": "call", "server": "shell", "tool": "run", "arguments": {"command": "hunter2"}});
    let text = steady(&traced("run hunter2", &evil).await);
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!("stopped", text);
}

#[test]
fn a_torn_or_forged_file_is_read_as_far_as_it_goes() {
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
    let kept = parse(&text);
    assert_eq!((kept.lines.len(), kept.unreadable), (3, 2));
    assert_eq!(kept.lines[0].verdict, Verdict::Stop);
    insta::assert_snapshot!("forged", render(&kept.lines));
}

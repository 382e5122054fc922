//! What is published: the schemas that were agreed on, examples that hold, limits.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Scene, call};

const AGREED: [&str; 9] = [
    "read_logs",
    "show_coverage",
    "dump_lcov",
    "get_corpus_size",
    "inspect_corpus_transactions",
    "find_transaction_in_corpus",
    "inject_transaction",
    "prioritize_function",
    "clear_priorities",
];

/// The schemas of the contract's document, in whose order the files have their keys.
fn golden(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn published_schemas_are_the_golden_ones() {
    let scene = Scene::ended();
    for name in AGREED {
        let contract = scene.tool(name).contract();
        let mut golden = golden(name);
        if name == "dump_lcov" {
            // The string stands in an object: structured answers of MCP are objects.
            let mut string = golden["output"].take();
            let draft = string.as_object_mut().unwrap().shift_remove("$schema").unwrap();
            golden["output"] = json!({
                "$schema": draft, "type": "object", "properties": {"lcov": string}, "required": ["lcov"],
            });
        }
        let published = json!({
            "input": contract.input.as_value(),
            "output": contract.output.as_ref().unwrap().as_value(),
        });
        assert_eq!(published.to_string(), golden.to_string(), "{name}");
    }
}

#[test]
fn the_nine_come_first_and_all_are_known_by_their_names() {
    let scene = Scene::ended();
    let names: Vec<&str> = scene.tools.iter().map(|tool| &*tool.contract().name).collect();
    assert_eq!(names[..9], AGREED);
    assert_eq!(
        names[9..],
        [
            "campaign_status",
            "campaign_target",
            "show_source_coverage",
            "get_reproducer",
            "execute_sequence",
            "sample_function",
            "pause_campaign",
            "resume_campaign",
        ]
    );
}

/// Each example is called, and what it says of the answer has the answer's form.
#[test]
fn examples_hold() {
    let scene = Scene::running(crate::support::Setting::default());
    let broken = json!({"eventType": "PropertyFalsified"});
    crate::support::until("a property fails", || {
        !scene.ask("read_logs", broken.clone())["events"].as_array().unwrap().is_empty()
    });
    for tool in &scene.tools {
        let contract = tool.contract();
        assert!(!contract.examples.is_empty(), "{} has no example", contract.name);
        for example in &contract.examples {
            let (name, title) = (&contract.name, &example.title);
            let expected = example.output.as_ref().unwrap();
            if let Err(violation) = contract.output.as_ref().unwrap().validate(expected) {
                panic!("{name}, {title:?}: {violation}");
            }
            let output = call(&**tool, example.input.clone());
            assert!(output.is_ok(), "{name}, {title:?}: {output:?}");
        }
    }
}

#[test]
fn the_linter_finds_no_error() {
    let scene = Scene::ended();
    let definitions: Vec<_> = scene.tools.iter().map(|tool| tool.contract().definition()).collect();
    let findings = lint::lint_all(&definitions);
    let errors: Vec<String> = findings
        .iter()
        .filter(|finding| finding.rule.severity == lint::Severity::Error)
        .map(ToString::to_string)
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn constraints_are_those_of_the_design() {
    let scene = Scene::ended();
    let lines: Vec<String> = scene
        .tools
        .iter()
        .map(|tool| {
            let contract = tool.contract();
            let limits = &contract.constraints;
            format!(
                "{}: {:?}, approval {}, {}/min, {} ms, idempotent {}, {:?}",
                contract.name,
                limits.side_effects,
                limits.approval,
                limits.rate_per_minute,
                limits.timeout.as_millis(),
                limits.idempotent,
                contract.errors,
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

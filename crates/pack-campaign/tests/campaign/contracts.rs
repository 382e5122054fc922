//! Published contracts: the agreed schemas, examples that work, and limits.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{TestCampaign, call_tool};

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

/// Returns the schemas of the contract document, with keys in the order of its files.
fn read_golden(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn published_schemas_match_golden_files() {
    let scene = TestCampaign::ended();
    for name in AGREED {
        let contract = scene.tool(name).contract();
        let mut golden = read_golden(name);
        if name == "dump_lcov" {
            // The string is wrapped in an object, because structured content in MCP is an object.
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
fn tools_of_the_contract_come_first() {
    let scene = TestCampaign::ended();
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

/// Calls each example, and checks that its documented output matches the output schema.
#[test]
fn examples_are_valid_and_callable() {
    let scene = TestCampaign::running(crate::support::CampaignSetup::default());
    let broken = json!({"eventType": "PropertyFalsified"});
    crate::support::wait_until("a property fails", || {
        !scene.call_ok("read_logs", broken.clone())["events"].as_array().unwrap().is_empty()
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
            let output = call_tool(&**tool, example.input.clone());
            assert!(output.is_ok(), "{name}, {title:?}: {output:?}");
        }
    }
}

#[test]
fn contracts_have_no_lint_errors() {
    let scene = TestCampaign::ended();
    let definitions: Vec<_> =
        scene.tools.iter().map(|tool| tool.contract().to_definition()).collect();
    let findings = lint::lint_all(&definitions);
    let errors: Vec<String> = findings
        .iter()
        .filter(|finding| finding.rule.severity == lint::Severity::Error)
        .map(ToString::to_string)
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn constraints_match_the_design() {
    let scene = TestCampaign::ended();
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

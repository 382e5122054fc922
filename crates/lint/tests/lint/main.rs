//! Tests of the linter through its public interface: definitions in, findings out.

mod adversarial;
mod explanations;
mod instructions;
mod output;
mod robustness;
mod schemas;

use contract::ToolDefinition;
use lint::{LintFinding, lint_definition};
use serde_json::{Value, json};

/// Parses a definition.
fn definition(value: Value) -> ToolDefinition {
    serde_json::from_value(value).expect("the test's JSON is a definition")
}

/// Returns a definition without findings; tests change one part of it.
fn clean() -> Value {
    json!({
        "name": "read_file",
        "title": "Read a file",
        "description": "Reads one file below the root.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Where the file is, relative to the root"},
                "encoding": {"enum": ["utf-8", "base64"], "description": "How to answer", "default": "utf-8"},
            },
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
        "examples": [{"input": {"path": "a.txt"}, "output": {"content": "a", "size": 1}}],
    })
}

/// Returns the clean definition with the value at a JSON pointer replaced or added.
fn with(pointer: &str, value: Value) -> ToolDefinition {
    let mut whole = clean();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer starts with a slash");
    whole.pointer_mut(parent).expect("the parent is there")[key] = value;
    definition(whole)
}

/// Returns `rule path` of each finding.
fn brief(findings: &[LintFinding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{} {}", finding.rule.id, finding.path)).collect()
}

#[track_caller]
fn check(definition: &ToolDefinition, expected: &[&str]) {
    let findings = lint_definition(definition);
    assert_eq!(brief(&findings), expected, "{findings:#?}");
}

#[test]
fn complete_definition_has_no_findings() {
    check(&definition(clean()), &[]);
}

#[test]
fn finding_serializes_flat_and_displays_safe_text() {
    let finding = lint_definition(&with("/name", json!("bad\u{202e}name"))).swap_remove(0);
    assert_eq!(
        serde_json::to_value(&finding).unwrap(),
        json!({
            "rule": "C002",
            "name": "invalid-name",
            "severity": "error",
            "tool": "bad\u{202e}name",
            "path": "/name",
            "message": "the name `bad\\u{202e}name` has the bidirectional mark U+202E, which is not allowed",
            "hint": "use 1 to 128 of the characters A-Z a-z 0-9 _ - .",
        })
    );
    assert_eq!(
        finding.to_string(),
        "error[C002] bad\\u{202e}name/name: the name `bad\\u{202e}name` has the bidirectional mark U+202E, \
         which is not allowed"
    );
}

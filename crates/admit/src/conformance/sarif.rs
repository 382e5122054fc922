//! Conformance report as SARIF 2.1.0, for code scanning in CI.
//!
//! A server's tool has no file, so a result has a logical location, `<tool>/<pointer>`. Some consumers, such as GitHub,
//! show only results with a file. The caller may therefore name one, usually the configuration of the server.

use std::fmt::Write;

use contract::sha256_digest;
use lint::{Severity, list_rules};
use serde_json::{Map, Value, json};

use super::table::{display_name, display_pointer};
use super::{ConformanceReport, ToolReport};
use crate::{AdmissionReason, admission_rules};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const FINGERPRINT: &str = "vouch/v1";

impl ConformanceReport {
    /// Returns a SARIF log with one run. `file` is the path to attach results to, relative to the repository.
    pub fn to_sarif(&self, file: Option<&str>) -> Value {
        let rules = build_rules();
        let results: Vec<Value> = self
            .tools
            .iter()
            .flat_map(|tool| tool.findings.iter().map(move |finding| (tool, finding)))
            .map(|(tool, finding)| build_result(&rules, tool, finding, &self.server.name, file))
            .collect();
        json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": "vouch",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                }},
                "columnKind": "unicodeCodePoints",
                "properties": {"server": self.server},
                "results": results,
            }],
        })
    }
}

fn build_rules() -> Vec<Value> {
    let ours = list_rules().iter().map(|rule| {
        json!({
            "id": rule.id,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": first_paragraph(rule.explanation)},
            "help": {"text": strip_markdown(rule.explanation), "markdown": rule.explanation},
            "defaultConfiguration": {"level": sarif_level(rule.severity)},
        })
    });
    let admission = admission_rules().iter().map(|rule| {
        json!({
            "id": rule.id,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": rule.summary},
            "help": {"text": rule.summary, "markdown": rule.summary},
            "defaultConfiguration": {"level": sarif_level(rule.severity)},
        })
    });
    ours.chain(admission).collect()
}

fn build_result(
    rules: &[Value],
    tool: &ToolReport,
    finding: &AdmissionReason,
    server: &str,
    file: Option<&str>,
) -> Value {
    let name = display_name(&tool.name);
    let pointer = display_pointer(&finding.path);
    let full_name = if pointer.is_empty() { name.clone() } else { format!("{name}{pointer}") };
    let mut location = Map::new();
    location.insert(
        "logicalLocations".into(),
        json!([{"name": name, "fullyQualifiedName": full_name, "kind": "function"}]),
    );
    if let Some(file) = file {
        let physical =
            json!({"artifactLocation": {"uri": encode_uri(file)}, "region": {"startLine": 1}});
        location.insert("physicalLocation".into(), physical);
    }
    let index = rules.iter().position(|rule| rule["id"] == finding.rule);
    json!({
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": sarif_level(finding.severity),
        "message": {"text": format!("{name}: {}. To do: {}.", finding.message, finding.remedy)},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: compute_fingerprint(server, tool, finding)},
    })
}

/// Returns a fingerprint that is stable across runs. It covers rule and location, not the message, which may change.
fn compute_fingerprint(server: &str, tool: &ToolReport, finding: &AdmissionReason) -> String {
    let text = json!([server, tool.name, finding.rule, finding.path]).to_string();
    sha256_digest(text.as_bytes()).trim_start_matches("sha256:").chars().take(32).collect()
}

fn sarif_level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// Returns a relative path as a URI reference.
fn encode_uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => write!(uri, "%{byte:02X}").expect("writing to a string succeeds"),
        }
    }
    uri
}

fn first_paragraph(markdown: &str) -> String {
    let paragraph = markdown.split("\n\n").find(|part| !part.starts_with('#')).unwrap_or_default();
    paragraph.trim().replace('\n', " ")
}

/// Returns Markdown without code fences and heading marks, for viewers without Markdown support.
fn strip_markdown(markdown: &str) -> String {
    markdown
        .lines()
        .filter(|line| !line.starts_with("```"))
        .map(|line| line.trim_start_matches('#').trim_end())
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

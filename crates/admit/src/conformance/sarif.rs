//! The report as SARIF 2.1.0, for code scanning in CI.
//!
//! A tool of a server has no file: its place is a logical location, `<tool>/<pointer>`. Some consumers show only results
//! that have a file too (GitHub does), so the caller may name one, usually the configuration that names the server.

use std::fmt::Write;

use contract::sha256_of;
use lint::{Severity, rules};
use serde_json::{Map, Value, json};

use super::table::{shown_name, shown_place};
use super::{Report, ToolReport};
use crate::{Reason, admission_rules};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const FINGERPRINT: &str = "vouch/v1";

impl Report {
    /// One run. `file` is where results are shown, as a path relative to the repository.
    pub fn to_sarif(&self, file: Option<&str>) -> Value {
        let rules = rule_table();
        let results: Vec<Value> = self
            .tools
            .iter()
            .flat_map(|tool| tool.findings.iter().map(move |finding| (tool, finding)))
            .map(|(tool, finding)| result(&rules, tool, finding, &self.server.name, file))
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

fn rule_table() -> Vec<Value> {
    let ours = rules().iter().map(|rule| {
        json!({
            "id": rule.id,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": first_paragraph(rule.explanation)},
            "help": {"text": plain(rule.explanation), "markdown": rule.explanation},
            "defaultConfiguration": {"level": level(rule.severity)},
        })
    });
    let admission = admission_rules().iter().map(|rule| {
        json!({
            "id": rule.id,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": rule.summary},
            "help": {"text": rule.summary, "markdown": rule.summary},
            "defaultConfiguration": {"level": level(rule.severity)},
        })
    });
    ours.chain(admission).collect()
}

fn result(
    rules: &[Value],
    tool: &ToolReport,
    finding: &Reason,
    server: &str,
    file: Option<&str>,
) -> Value {
    let name = shown_name(&tool.name);
    let place = shown_place(&finding.path);
    let full_name = if place.is_empty() { name.clone() } else { format!("{name}{place}") };
    let mut location = Map::new();
    location.insert(
        "logicalLocations".into(),
        json!([{"name": name, "fullyQualifiedName": full_name, "kind": "function"}]),
    );
    if let Some(file) = file {
        let physical = json!({"artifactLocation": {"uri": uri(file)}, "region": {"startLine": 1}});
        location.insert("physicalLocation".into(), physical);
    }
    let index = rules.iter().position(|rule| rule["id"] == finding.rule);
    json!({
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": level(finding.severity),
        "message": {"text": format!("{name}: {}. To do: {}.", finding.message, finding.remedy)},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: fingerprint(server, tool, finding)},
    })
}

/// The same problem has the same fingerprint from run to run: the words of a message may change, the place does not.
fn fingerprint(server: &str, tool: &ToolReport, finding: &Reason) -> String {
    let text = json!([server, tool.name, finding.rule, finding.path]).to_string();
    sha256_of(text.as_bytes()).trim_start_matches("sha256:").chars().take(32).collect()
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// A relative path as a URI reference.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => write!(uri, "%{byte:02X}").expect("a string takes any text"),
        }
    }
    uri
}

fn first_paragraph(markdown: &str) -> String {
    let paragraph = markdown.split("\n\n").find(|part| !part.starts_with('#')).unwrap_or_default();
    paragraph.trim().replace('\n', " ")
}

/// Markdown without its marks, for readers that show none.
fn plain(markdown: &str) -> String {
    markdown
        .lines()
        .filter(|line| !line.starts_with("```"))
        .map(|line| line.trim_start_matches('#').trim_end())
        .collect::<Vec<_>>()
        .join("\n")
        .trim()
        .to_owned()
}

//! Conformance report as JSON, for programs.

use lint::Severity;
use serde_json::{Map, Value, json};

use super::{ConformanceReport, ToolReport};

impl ConformanceReport {
    /// Returns an object with `server`, `summary` and `tools`. Names and pointers are unescaped, so print it with
    /// `contract::text::json`.
    pub fn to_json(&self) -> Value {
        let states: Map<String, Value> = self
            .count_by_status()
            .into_iter()
            .map(|(state, count)| (state.as_str().to_owned(), count.into()))
            .collect();
        json!({
            "server": self.server,
            "summary": {
                "tools": self.tools.len(),
                "states": states,
                "errors": self.count_findings(Severity::Error),
                "warnings": self.count_findings(Severity::Warning),
                "notes": self.count_findings(Severity::Note),
                "worst": self.worst_severity(),
            },
            "tools": self.tools.iter().map(tool_json).collect::<Vec<_>>(),
        })
    }
}

fn tool_json(tool: &ToolReport) -> Value {
    json!({
        "name": tool.name,
        "state": tool.state.as_str(),
        "observed": tool.observed,
        "findings": tool.findings,
    })
}

//! The report for programs.

use lint::Severity;
use serde_json::{Map, Value, json};

use super::{Report, ToolReport};

impl Report {
    /// `server`, `summary` and `tools`; names and pointers as the server has them, so print it with
    /// `contract::text::json`.
    pub fn to_json(&self) -> Value {
        let states: Map<String, Value> = self
            .states()
            .into_iter()
            .map(|(state, count)| (state.as_str().to_owned(), count.into()))
            .collect();
        json!({
            "server": self.server,
            "summary": {
                "tools": self.tools.len(),
                "states": states,
                "errors": self.count(Severity::Error),
                "warnings": self.count(Severity::Warning),
                "notes": self.count(Severity::Note),
                "worst": self.worst(),
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

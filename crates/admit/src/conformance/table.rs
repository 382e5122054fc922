//! Conformance report as table rows for people. `cli` aligns and colors them.

use contract::text::shorten_line;
use lint::Severity;

use super::ConformanceReport;
use crate::ToolStatus;

/// Maximum length of a tool name, so that the rest of the line stays visible.
const MAX_NAME: usize = 64;
const MAX_POINTER: usize = 256;

/// A row of the table: one finding, or a tool without findings. All text is safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRow {
    pub tool: String,
    pub state: ToolStatus,
    pub observed: bool,
    /// `None` for a tool without findings.
    pub severity: Option<Severity>,
    pub rule: &'static str,
    /// Location in the definition, for example `/inputSchema/properties/path`.
    pub place: String,
    pub message: String,
    pub remedy: String,
}

impl ConformanceReport {
    /// Returns rows in the order of the list, the worst of each tool first. Findings below `least` are omitted.
    pub fn to_table(&self, least: Severity) -> Vec<ReportRow> {
        let mut rows = Vec::new();
        for tool in &self.tools {
            let empty = ReportRow {
                tool: display_name(&tool.name),
                state: tool.state,
                observed: tool.observed,
                severity: None,
                rule: "",
                place: String::new(),
                message: String::new(),
                remedy: String::new(),
            };
            let before = rows.len();
            rows.extend(tool.findings.iter().filter(|finding| finding.severity <= least).map(
                |finding| ReportRow {
                    severity: Some(finding.severity),
                    rule: finding.rule,
                    place: display_pointer(&finding.path),
                    message: finding.message.clone(),
                    remedy: finding.remedy.clone(),
                    ..empty.clone()
                },
            ));
            if rows.len() == before {
                rows.push(empty);
            }
        }
        rows
    }
}

pub(crate) fn display_name(name: &str) -> String {
    shorten_line(name, MAX_NAME)
}

pub(crate) fn display_pointer(path: &str) -> String {
    shorten_line(path, MAX_POINTER)
}

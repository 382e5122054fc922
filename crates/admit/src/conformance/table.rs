//! The report for people: cells, which `cli` aligns and colours.

use contract::text::shortened;
use lint::Severity;

use super::Report;
use crate::State;

/// A name that fills a terminal hides the rest of its line; a pointer is longer, and rightly so.
const MAX_NAME: usize = 64;
const MAX_PLACE: usize = 256;

/// A line of the table: a finding, or that there is none. All text is safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub tool: String,
    pub state: State,
    pub observed: bool,
    /// None for a tool without findings.
    pub severity: Option<Severity>,
    pub rule: &'static str,
    /// Where in the definition: `/inputSchema/properties/path`.
    pub place: String,
    pub message: String,
    pub remedy: String,
}

impl Report {
    /// Rows in the order of the list, the worst of each tool first; findings below `least` are left out.
    pub fn to_table(&self, least: Severity) -> Vec<Row> {
        let mut rows = Vec::new();
        for tool in &self.tools {
            let empty = Row {
                tool: shown_name(&tool.name),
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
                |finding| Row {
                    severity: Some(finding.severity),
                    rule: finding.rule,
                    place: shown_place(&finding.path),
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

pub(crate) fn shown_name(name: &str) -> String {
    shortened(name, MAX_NAME)
}

pub(crate) fn shown_place(path: &str) -> String {
    shortened(path, MAX_PLACE)
}

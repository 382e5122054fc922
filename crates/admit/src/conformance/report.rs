//! What was found, tool by tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::Definition;
use lint::Severity;
use serde::Serialize;
use serde_json::Value;

use crate::{Admission, Mode, Pins, Policy, Reason, State, Upstream, admit};

/// Which server was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerId {
    /// What the server calls itself.
    pub name: String,
    pub version: String,
    /// The revision of MCP that was spoken.
    pub protocol: String,
    /// How it was reached, without secrets: a command or an address.
    pub target: String,
}

/// One tool.
#[derive(Clone, Debug)]
pub struct ToolReport {
    /// As the server has it; show it through `contract::text::one_line`.
    pub name: String,
    pub state: State,
    /// Refused or quarantined, and runs nevertheless.
    pub observed: bool,
    /// Worst first.
    pub findings: Vec<Reason>,
    pub definition: Arc<Definition>,
    /// As the server has it.
    pub upstream: Arc<Value>,
}

impl ToolReport {
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).min()
    }

    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Report {
    pub server: ServerId,
    /// In the order of the list.
    pub tools: Vec<ToolReport>,
}

impl Report {
    /// Lints a list by itself: no overlay, no pin, the default policy. Remedies speak of an upstream that is called as
    /// the server calls itself.
    pub fn new(server: ServerId, tools: &[Value]) -> Self {
        let upstream = Upstream::new(upstream_name(&server.name));
        Self::for_upstream(server, &upstream, tools)
    }

    /// As [`Report::new`], for a server that has its name here.
    pub fn for_upstream(server: ServerId, upstream: &Upstream, tools: &[Value]) -> Self {
        let policy = Policy::new(Mode::Default);
        let admission = admit(upstream, tools, &BTreeMap::new(), &Pins::default(), &policy);
        Self::of_admission(server, &admission)
    }

    /// What admission made of a list, overlays, pins and policy included.
    pub fn of_admission(server: ServerId, admission: &Admission) -> Self {
        let tools = admission.tools.iter().map(|tool| {
            let mut findings = tool.reasons.clone();
            // Reasons of one tool are in the order in which the stages met them.
            findings.sort_by(|a, b| (a.severity, a.rule).cmp(&(b.severity, b.rule)));
            ToolReport {
                name: tool.name.clone(),
                state: tool.state,
                observed: tool.observed,
                findings,
                definition: Arc::clone(&tool.definition),
                upstream: Arc::clone(&tool.upstream),
            }
        });
        Self { server, tools: tools.collect() }
    }

    /// The worst finding; exit codes follow from it.
    pub fn worst(&self) -> Option<Severity> {
        self.tools.iter().filter_map(ToolReport::worst).min()
    }

    /// How many findings there are of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.tools.iter().map(|tool| tool.count(severity)).sum()
    }

    /// How many tools are in each state.
    pub fn states(&self) -> BTreeMap<State, usize> {
        let mut states = BTreeMap::new();
        self.tools.iter().for_each(|tool| *states.entry(tool.state).or_default() += 1);
        states
    }
}

/// What a server calls itself, as the name of an upstream: `mcp-servers/everything` is `mcp-servers-everything`.
pub fn upstream_name(server: &str) -> String {
    let mut name = String::new();
    for c in server.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(32);
    let name = name.trim_end_matches('-');
    if name.is_empty() { "server".into() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::upstream_name;

    #[test]
    fn any_server_has_a_name_for_an_upstream() {
        let names = ["mcp-servers/everything", "  Wetter é 2 ", "", "☃", &"x-".repeat(40)];
        let names: Vec<String> = names.into_iter().map(upstream_name).collect();
        assert_eq!(
            names,
            [
                "mcp-servers-everything",
                "wetter-2",
                "server",
                "server",
                "x-x-x-x-x-x-x-x-x-x-x-x-x-x-x-x",
            ]
        );
    }
}

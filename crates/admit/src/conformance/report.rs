//! Conformance report: the findings per tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use contract::ToolDefinition;
use lint::Severity;
use serde::Serialize;
use serde_json::Value;

use crate::{
    Admission, AdmissionMode, AdmissionPolicy, AdmissionReason, PinSet, ToolStatus,
    UpstreamIdentity, admit_tools,
};

/// Identity of the inspected server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerId {
    /// Name that the server reports.
    pub name: String,
    pub version: String,
    /// Negotiated MCP revision.
    pub protocol: String,
    /// Command or address of the server, without secrets.
    pub target: String,
}

/// The findings about one tool.
#[derive(Clone, Debug)]
pub struct ToolReport {
    /// The server's own name. Untrusted: show it through `contract::text::one_line`.
    pub name: String,
    pub state: ToolStatus,
    /// True if the tool is refused or quarantined but runs in observe mode.
    pub observed: bool,
    /// Worst first.
    pub findings: Vec<AdmissionReason>,
    pub definition: Arc<ToolDefinition>,
    /// The entry as the server sent it.
    pub upstream: Arc<Value>,
}

impl ToolReport {
    /// Returns the highest severity among the findings.
    pub fn worst_severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).min()
    }

    /// Returns the number of findings of a severity.
    pub fn count_findings(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// A conformance report on one server.
#[derive(Clone, Debug)]
pub struct ConformanceReport {
    pub server: ServerId,
    /// In the order of the list.
    pub tools: Vec<ToolReport>,
}

impl ConformanceReport {
    /// Reports on a list with the default policy, without overlays and pins. Remedies use the name that the server
    /// reports as the upstream's name.
    pub fn new(server: ServerId, tools: &[Value]) -> Self {
        let upstream = UpstreamIdentity::new(to_upstream_name(&server.name));
        Self::for_upstream(server, &upstream, tools)
    }

    /// Like [`ConformanceReport::new`], for an upstream with a configured name.
    pub fn for_upstream(server: ServerId, upstream: &UpstreamIdentity, tools: &[Value]) -> Self {
        let policy = AdmissionPolicy::new(AdmissionMode::Default);
        let admission = admit_tools(upstream, tools, &BTreeMap::new(), &PinSet::default(), &policy);
        Self::from_admission(server, &admission)
    }

    /// Builds a report from an admission, which includes overlays, pins and policy.
    pub fn from_admission(server: ServerId, admission: &Admission) -> Self {
        let tools = admission.tools.iter().map(|tool| {
            let mut findings = tool.reasons.clone();
            // The reasons of a tool are in the order of the admission stages.
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

    /// Returns the highest severity of all findings, which determines the exit code.
    pub fn worst_severity(&self) -> Option<Severity> {
        self.tools.iter().filter_map(ToolReport::worst_severity).min()
    }

    /// Returns the number of findings of a severity.
    pub fn count_findings(&self, severity: Severity) -> usize {
        self.tools.iter().map(|tool| tool.count_findings(severity)).sum()
    }

    /// Returns the number of tools in each status.
    pub fn count_by_status(&self) -> BTreeMap<ToolStatus, usize> {
        let mut states = BTreeMap::new();
        self.tools.iter().for_each(|tool| *states.entry(tool.state).or_default() += 1);
        states
    }
}

/// Converts a server's name to an upstream name, for example `mcp-servers/everything` to `mcp-servers-everything`.
pub fn to_upstream_name(server: &str) -> String {
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
    use super::to_upstream_name;

    #[test]
    fn converts_any_server_name_to_upstream_name() {
        let names = ["mcp-servers/everything", "  Wetter é 2 ", "", "☃", &"x-".repeat(40)];
        let names: Vec<String> = names.into_iter().map(to_upstream_name).collect();
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

//! The standing of a live tool in the effective allowlist: the live list ∩ the operator's allowlist ∩ the pins.
//!
//! [`StandingPolicy`] decides for one tool at a time; gate 3 enforces the decision.

use std::sync::Arc;

use admit::{AdmissionPolicy, ToolAdmission, ToolStatus};
use contract::Contract;
use contract::text::one_line;
use runtime::ToolFilter;

use crate::offer::ToolStanding;

/// Maximum reasons in the standing of one refused tool.
const MAX_REASONS: usize = 3;

/// Decides the standing of tools for one principal.
#[derive(Clone, Copy)]
pub struct StandingPolicy<'a> {
    /// The principal that asks.
    pub principal: &'a str,
    /// The tools that the principal may use; `None` for all.
    pub filter: Option<&'a dyn ToolFilter>,
}

/// A live tool of another server, with everything that its standing depends on.
#[derive(Clone, Copy)]
pub struct UpstreamCandidate<'a> {
    /// The name in the catalog.
    pub name: &'a str,
    /// The tool as admission judged it.
    pub judged: &'a ToolAdmission,
    /// The policy of its upstream.
    pub policy: &'a AdmissionPolicy,
    /// The reason why another tool has its name in the catalog.
    pub clash: Option<&'a str>,
    /// The effective contract in the catalog; `None` if the operator disabled the tool.
    pub contract: Option<&'a Arc<Contract>>,
}

impl StandingPolicy<'_> {
    /// Returns the standing of a tool of this project.
    pub fn judge_own(&self, name: &str, contract: &Arc<Contract>) -> ToolStanding {
        if !self.filter.is_none_or(|filter| filter.allows(name)) {
            let reason = format!("excluded by [clients.{}] in vouch.toml", self.principal);
            return ToolStanding::NotAllowed(reason);
        }
        if contract.output.is_none() {
            // Without an output schema, its answers cannot be checked.
            return ToolStanding::Refused("it has no output schema".to_owned());
        }
        ToolStanding::Allowed(Arc::clone(contract))
    }

    /// Returns the standing of a tool of another server.
    ///
    /// A tool that runs only because its upstream is in `observe` mode is refused: that mode is for calls that a person
    /// chooses, not for calls of a planner.
    pub fn judge_upstream(&self, candidate: UpstreamCandidate<'_>) -> ToolStanding {
        let UpstreamCandidate { name, judged, policy, clash, contract } = candidate;
        if !judged.can_run() || judged.observed {
            refuse_tool(judged, policy)
        } else if let Some(clash) = clash {
            ToolStanding::Refused(clash.to_owned())
        } else if let Some(contract) = contract {
            self.judge_own(name, contract)
        } else {
            ToolStanding::NotAllowed("disabled in vouch.toml".to_owned())
        }
    }
}

/// Returns the standing of a tool that admission did not accept, with its reasons.
fn refuse_tool(tool: &ToolAdmission, policy: &AdmissionPolicy) -> ToolStanding {
    let reasons: Vec<_> = tool
        .blocking_reasons(policy)
        .take(MAX_REASONS)
        .map(|reason| format!("{} ({})", reason.message, reason.rule))
        .collect();
    let reasons = one_line(&reasons.join("; "));
    match tool.state {
        ToolStatus::Quarantined => ToolStanding::Quarantined(reasons),
        ToolStatus::NotAllowed => {
            ToolStanding::NotAllowed("excluded by `tools` of its upstream in vouch.toml".to_owned())
        }
        ToolStatus::Ready | ToolStatus::Overlaid | ToolStatus::Refused => {
            ToolStanding::Refused(reasons)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use admit::{Admission, AdmissionMode, PinSet, ToolAllowlist, UpstreamIdentity, admit_tools};
    use serde_json::{Value, json};

    use super::*;

    const ALL: StandingPolicy<'_> = StandingPolicy { principal: "cli", filter: None };

    fn tool(name: &str) -> Value {
        json!({
            "name": name,
            "title": "Read a file",
            "description": "Reads one file below the root and gives its text.",
            "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
            "outputSchema": {
                "type": "object",
                "properties": {"content": {"type": "string", "description": "The text"}},
                "required": ["content"],
                "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        })
    }

    fn judge(tool: &Value, policy: &AdmissionPolicy, pins: &PinSet) -> Admission {
        let tools = std::slice::from_ref(tool);
        admit_tools(&UpstreamIdentity::new("files"), tools, &BTreeMap::new(), pins, policy)
    }

    /// Returns the standing of the only tool, which is in the catalog if it runs.
    fn standing(
        admission: &Admission,
        policy: &AdmissionPolicy,
        clash: Option<&str>,
    ) -> ToolStanding {
        let judged = &admission.tools[0];
        let contract = judged.contract.as_ref();
        let candidate = UpstreamCandidate { name: "files__read", judged, policy, clash, contract };
        ALL.judge_upstream(candidate)
    }

    #[test]
    fn allows_admitted_tool() {
        let policy = AdmissionPolicy::default();
        let admission = judge(&tool("read"), &policy, &PinSet::default());
        assert!(matches!(standing(&admission, &policy, None), ToolStanding::Allowed(_)));
    }

    #[test]
    fn refuses_tool_that_runs_only_under_observe() {
        let mut unchecked = tool("read");
        unchecked.as_object_mut().unwrap().remove("outputSchema");
        let policy = AdmissionPolicy::new(AdmissionMode::Observe);
        let admission = judge(&unchecked, &policy, &PinSet::default());
        assert!(admission.tools[0].can_run(), "observe lets it run");
        assert!(matches!(standing(&admission, &policy, None), ToolStanding::Refused(_)));
    }

    #[test]
    fn quarantines_tool_that_changed_since_it_was_pinned() {
        let policy = AdmissionPolicy::default();
        let first = judge(&tool("read"), &policy, &PinSet::default());
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let pins = PinSet::default().update(&first, now).unwrap();
        let mut changed = tool("read");
        changed["description"] = json!("Reads one file, faster than before.");
        let admission = judge(&changed, &policy, &pins);
        assert!(matches!(standing(&admission, &policy, None), ToolStanding::Quarantined(_)));
    }

    #[test]
    fn excludes_tool_missing_from_upstream_allowlist() {
        let allowed = ToolAllowlist::from_globs(&["write_*"]).unwrap();
        let policy = AdmissionPolicy { allowed, ..AdmissionPolicy::default() };
        let admission = judge(&tool("read"), &policy, &PinSet::default());
        let ToolStanding::NotAllowed(reason) = standing(&admission, &policy, None) else {
            panic!("the tool must not be allowed");
        };
        assert_eq!(reason, "excluded by `tools` of its upstream in vouch.toml");
    }

    #[test]
    fn refuses_tool_with_a_name_clash() {
        let policy = AdmissionPolicy::default();
        let admission = judge(&tool("read"), &policy, &PinSet::default());
        let ToolStanding::Refused(reason) = standing(&admission, &policy, Some("taken")) else {
            panic!("the tool must be refused");
        };
        assert_eq!(reason, "taken");
    }

    #[test]
    fn excludes_disabled_tool() {
        let policy = AdmissionPolicy::default();
        let admission = judge(&tool("read"), &policy, &PinSet::default());
        let judged = &admission.tools[0];
        let name = "files__read";
        let candidate =
            UpstreamCandidate { name, judged, policy: &policy, clash: None, contract: None };
        assert!(matches!(ALL.judge_upstream(candidate), ToolStanding::NotAllowed(_)));
    }

    #[test]
    fn excludes_tool_missing_from_client_filter() {
        let policy = AdmissionPolicy::default();
        let admission = judge(&tool("read"), &policy, &PinSet::default());
        let contract = admission.tools[0].contract.as_ref().unwrap();
        let none = |_: &str| false;
        let filtered = StandingPolicy { principal: "cli", filter: Some(&none) };
        let ToolStanding::NotAllowed(reason) = filtered.judge_own("files__read", contract) else {
            panic!("the tool must not be allowed");
        };
        assert_eq!(reason, "excluded by [clients.cli] in vouch.toml");
    }
}

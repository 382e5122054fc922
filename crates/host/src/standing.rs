//! The standing of a live tool in the effective allowlist: the live list ∩ the operator's allowlist ∩ the pins.
//!
//! [`StandingPolicy`] decides for one tool at a time; gate 3 enforces the decision.

use std::sync::Arc;

use admit::{Judged, Policy, State};
use contract::Contract;
use contract::text::one_line;
use runtime::ToolFilter;

use crate::offer::Standing;

/// Maximum reasons that are given for one refused tool.
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
    pub judged: &'a Judged,
    /// The policy of its upstream.
    pub policy: &'a Policy,
    /// The reason why another tool has its name in the catalog.
    pub clash: Option<&'a str>,
    /// The effective contract in the catalog; `None` if the operator switched the tool off.
    pub contract: Option<&'a Arc<Contract>>,
}

impl StandingPolicy<'_> {
    /// Returns the standing of a tool of this project.
    pub fn judge_own(&self, name: &str, contract: &Arc<Contract>) -> Standing {
        if !self.filter.is_none_or(|filter| filter.allows(name)) {
            let reason = format!("[clients.{}] in vouch.toml leaves it out", self.principal);
            return Standing::NotAllowed(reason);
        }
        if contract.output.is_none() {
            // A good answer of it could not be told from a bad one.
            return Standing::Refused("it does not say what it answers".to_owned());
        }
        Standing::Allowed(Arc::clone(contract))
    }

    /// Returns the standing of a tool of another server.
    ///
    /// A tool that runs only because its upstream is observed is refused here: `observe` lets calls through that a person
    /// has chosen, and a planner is not one.
    pub fn judge_upstream(&self, candidate: UpstreamCandidate<'_>) -> Standing {
        let UpstreamCandidate { name, judged, policy, clash, contract } = candidate;
        if !judged.runs() || judged.observed {
            refuse(judged, policy)
        } else if let Some(clash) = clash {
            Standing::Refused(clash.to_owned())
        } else if let Some(contract) = contract {
            self.judge_own(name, contract)
        } else {
            Standing::NotAllowed("it is switched off in vouch.toml".to_owned())
        }
    }
}

fn refuse(tool: &Judged, policy: &Policy) -> Standing {
    let reasons: Vec<_> = tool
        .blocking(policy)
        .take(MAX_REASONS)
        .map(|reason| format!("{} ({})", reason.message, reason.rule))
        .collect();
    let reasons = one_line(&reasons.join("; "));
    match tool.state {
        State::Quarantined => Standing::Quarantined(reasons),
        State::NotAllowed => {
            Standing::NotAllowed("`tools` of its upstream in vouch.toml leaves it out".to_owned())
        }
        State::Ready | State::Overlaid | State::Refused => Standing::Refused(reasons),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use admit::{Admission, Allowlist, Mode, Pins, Upstream, admit};
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

    fn judge(tool: &Value, policy: &Policy, pins: &Pins) -> Admission {
        let tools = std::slice::from_ref(tool);
        admit(&Upstream::new("files"), tools, &BTreeMap::new(), pins, policy)
    }

    /// The standing of the only tool, which is in the catalog if it runs.
    fn standing(admission: &Admission, policy: &Policy, clash: Option<&str>) -> Standing {
        let judged = &admission.tools[0];
        let contract = judged.contract.as_ref();
        let candidate = UpstreamCandidate { name: "files__read", judged, policy, clash, contract };
        ALL.judge_upstream(candidate)
    }

    #[test]
    fn allows_admitted_tool() {
        let policy = Policy::default();
        let admission = judge(&tool("read"), &policy, &Pins::default());
        assert!(matches!(standing(&admission, &policy, None), Standing::Allowed(_)));
    }

    #[test]
    fn refuses_tool_that_runs_only_under_observe() {
        let mut unchecked = tool("read");
        unchecked.as_object_mut().unwrap().remove("outputSchema");
        let policy = Policy::new(Mode::Observe);
        let admission = judge(&unchecked, &policy, &Pins::default());
        assert!(admission.tools[0].runs(), "observe lets it run");
        assert!(matches!(standing(&admission, &policy, None), Standing::Refused(_)));
    }

    #[test]
    fn quarantines_tool_that_changed_since_it_was_pinned() {
        let policy = Policy::default();
        let first = judge(&tool("read"), &policy, &Pins::default());
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let pins = Pins::default().update(&first, now).unwrap();
        let mut changed = tool("read");
        changed["description"] = json!("Reads one file, faster than before.");
        let admission = judge(&changed, &policy, &pins);
        assert!(matches!(standing(&admission, &policy, None), Standing::Quarantined(_)));
    }

    #[test]
    fn leaves_out_tool_that_the_upstream_allowlist_omits() {
        let allowed = Allowlist::globs(&["write_*"]).unwrap();
        let policy = Policy { allowed, ..Policy::default() };
        let admission = judge(&tool("read"), &policy, &Pins::default());
        let Standing::NotAllowed(reason) = standing(&admission, &policy, None) else {
            panic!("the tool must not be allowed");
        };
        assert_eq!(reason, "`tools` of its upstream in vouch.toml leaves it out");
    }

    #[test]
    fn refuses_tool_whose_name_is_taken() {
        let policy = Policy::default();
        let admission = judge(&tool("read"), &policy, &Pins::default());
        let Standing::Refused(reason) = standing(&admission, &policy, Some("taken")) else {
            panic!("the tool must be refused");
        };
        assert_eq!(reason, "taken");
    }

    #[test]
    fn leaves_out_tool_that_is_switched_off() {
        let policy = Policy::default();
        let admission = judge(&tool("read"), &policy, &Pins::default());
        let judged = &admission.tools[0];
        let name = "files__read";
        let candidate =
            UpstreamCandidate { name, judged, policy: &policy, clash: None, contract: None };
        assert!(matches!(ALL.judge_upstream(candidate), Standing::NotAllowed(_)));
    }

    #[test]
    fn leaves_out_tool_that_the_client_filter_omits() {
        let policy = Policy::default();
        let admission = judge(&tool("read"), &policy, &Pins::default());
        let contract = admission.tools[0].contract.as_ref().unwrap();
        let none = |_: &str| false;
        let filtered = StandingPolicy { principal: "cli", filter: Some(&none) };
        let Standing::NotAllowed(reason) = filtered.judge_own("files__read", contract) else {
            panic!("the tool must not be allowed");
        };
        assert_eq!(reason, "[clients.cli] in vouch.toml leaves it out");
    }
}

//! The operator's rules, where the pipeline asks for them.

use rules::{Rules, Subject};
use runtime::{Judged, Policy, Verdict};
use serde_json::Value;

/// Rules in CEL as the pipeline's policy.
pub struct RulePolicy(pub Rules);

impl Policy for RulePolicy {
    fn on_call(&self, subject: &Judged<'_>) -> Verdict {
        verdict(self.0.on_call(&of(subject)))
    }

    fn on_result(&self, subject: &Judged<'_>, result: &Value) -> Verdict {
        verdict(self.0.on_result(&of(subject), result))
    }
}

fn of<'a>(subject: &Judged<'a>) -> Subject<'a> {
    let Judged { tool, arguments, caller, annotations } = *subject;
    Subject { tool, arguments, caller, annotations }
}

fn verdict(verdict: rules::Verdict) -> Verdict {
    match verdict {
        rules::Verdict::Allow => Verdict::Allow,
        rules::Verdict::Deny { rule, reason } => {
            Verdict::Deny { rule: rule.to_string(), reason: reason.unwrap_or_default() }
        }
        rules::Verdict::Approve { rule } => Verdict::Approve { rule: rule.to_string() },
    }
}

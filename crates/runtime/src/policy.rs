//! The operator's restrictions on top of contracts: denials by rules, and which tools a client may call.
//!
//! Rules are evaluated by the [`contract::CallPolicy`] that the caller supplies; this module does not define a syntax.

use contract::{ErrorCode, ToolError};

/// Returns the error for a call or result that a rule denies.
pub(crate) fn rule_denial_error(subject: &str, rule: &str, reason: Option<&str>) -> ToolError {
    let message = match reason {
        None => format!("the rule `{rule}` denies this {subject}"),
        Some(reason) => format!("the rule `{rule}` denies this {subject}: {reason}"),
    };
    ToolError::new(ErrorCode::AccessDenied, message).with_detail("rule", rule)
}

/// Selects the tools that a client may call. To the client, the others do not exist.
pub trait ToolFilter: Send + Sync {
    fn allows(&self, tool: &str) -> bool;
}

impl<F: Fn(&str) -> bool + Send + Sync> ToolFilter for F {
    fn allows(&self, tool: &str) -> bool {
        self(tool)
    }
}

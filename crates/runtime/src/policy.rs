//! What an operator adds to the contracts: rules on calls and results, and who may call which tool.
//!
//! This crate only asks; how rules are written is the business of whoever gives the [`contract::CallPolicy`].

use contract::{ErrorCode, ToolError};

/// Returns the error for a call or result that a rule denies.
pub(crate) fn denied(what: &str, rule: &str, reason: Option<&str>) -> ToolError {
    let message = match reason {
        None => format!("the rule `{rule}` denies this {what}"),
        Some(reason) => format!("the rule `{rule}` denies this {what}: {reason}"),
    };
    ToolError::new(ErrorCode::AccessDenied, message).with_detail("rule", rule)
}

/// Which tools a client may call. The others do not exist for it.
pub trait ToolFilter: Send + Sync {
    fn allows(&self, tool: &str) -> bool;
}

impl<F: Fn(&str) -> bool + Send + Sync> ToolFilter for F {
    fn allows(&self, tool: &str) -> bool {
        self(tool)
    }
}

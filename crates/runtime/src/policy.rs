//! The operator's restrictions on top of contracts: denials by rules, and what a client may do.
//!
//! Rules are evaluated by the [`contract::CallPolicy`] that the caller supplies; this module does not define a syntax.

use std::sync::Arc;

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

/// Selects the resources that a client may read, by their address. To the client, the others do not exist.
pub trait ResourceFilter: Send + Sync {
    fn allows_address(&self, uri: &str) -> bool;
}

impl<F: Fn(&str) -> bool + Send + Sync> ResourceFilter for F {
    fn allows_address(&self, uri: &str) -> bool {
        self(uri)
    }
}

/// What the operator allows a client, by its principal.
#[derive(Clone, Default)]
pub struct ClientPolicy {
    /// Without a filter, the client may call every tool.
    pub tools: Option<Arc<dyn ToolFilter>>,
    /// Without a filter, the client may read every resource.
    pub resources: Option<Arc<dyn ResourceFilter>>,
    pub approval: Option<ApprovalRoute>,
}

/// The way in which an approval is obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalRoute {
    /// The client asks its user, if it can. Otherwise the approval is queued.
    Ask,
    /// The approval is queued, and another principal decides.
    Queue,
}

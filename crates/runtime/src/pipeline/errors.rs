//! The errors of the stages that decide before a tool runs, and of the time limit.

use std::time::Duration;

use contract::{ErrorCode, ToolError};

use crate::call::{CallSubject, ToolCall};
use crate::catalog::CatalogEntry;

/// The reply to a read of a resource that is hidden from the caller.
const UNKNOWN_RESOURCE: &str = "unknown resource; `resources/list` lists the addresses";

pub(super) fn timeout_error(entry: &CatalogEntry, limit: Duration) -> ToolError {
    let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let message = format!("`{}` exceeded its time limit of {limit} ms", entry.contract.name);
    ToolError::new(ErrorCode::ExecutionTimeout, message).with_detail("limitMs", limit)
}

pub(super) fn unknown_subject(call: &ToolCall) -> ToolError {
    match &call.subject {
        CallSubject::Tool(name) => unknown_tool(name),
        CallSubject::Resource => {
            ToolError::new(ErrorCode::NotFound, "this server offers no resources")
        }
    }
}

/// Returns the error for a tool or resource that the caller may not use: as if it did not exist.
pub(super) fn hidden_subject(call: &ToolCall) -> ToolError {
    match &call.subject {
        CallSubject::Tool(name) => unknown_tool(name),
        CallSubject::Resource => ToolError::new(ErrorCode::NotFound, UNKNOWN_RESOURCE),
    }
}

/// Returns the error for an unknown tool. The name is untrusted, so it is shortened and escaped.
pub(crate) fn unknown_tool(name: &str) -> ToolError {
    let name: String = contract::text::one_line(&name.chars().take(128).collect::<String>());
    ToolError::new(ErrorCode::ToolNotFound, format!("unknown tool `{name}`"))
        .with_detail("tool", name)
}

pub(super) fn cancelled_error() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "the call was cancelled")
}

pub(super) fn audit_unavailable_error() -> ToolError {
    ToolError::new(
        ErrorCode::StorageUnavailable,
        "the audit log cannot be written, so calls with side effects are refused",
    )
}

//! One envelope for every refusal and failure: a stable [`Code`], its HTTP status, a message and details.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The stable error codes. Each has one HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// Schema or format violated; the message names the field and the rule.
    InvalidInput,
    /// A token is required and missing or wrong.
    Unauthenticated,
    /// Blocked path, refused secret, not allowlisted.
    AccessDenied,
    /// A person must approve first.
    ApprovalRequired,
    /// A person said no.
    ApprovalDenied,
    ToolNotFound,
    /// No such file, module or transaction.
    NotFound,
    TooLarge,
    /// The tool itself says that it failed; its own words are in `content`.
    ToolFailed,
    /// Comes with `retryAfterMs`.
    RateLimited,
    /// The caller went away or cancelled; seen in logs, hardly ever by a caller.
    Cancelled,
    /// A defect of ours; the log has the cause, the caller does not get internals.
    InternalError,
    /// An upstream tool's answer broke its contract.
    ContractViolation,
    UpstreamUnavailable,
    /// Over the contract's time limit.
    ExecutionTimeout,
}

impl Code {
    pub const ALL: [Self; 15] = [
        Self::InvalidInput,
        Self::Unauthenticated,
        Self::AccessDenied,
        Self::ApprovalRequired,
        Self::ApprovalDenied,
        Self::ToolNotFound,
        Self::NotFound,
        Self::TooLarge,
        Self::ToolFailed,
        Self::RateLimited,
        Self::Cancelled,
        Self::InternalError,
        Self::ContractViolation,
        Self::UpstreamUnavailable,
        Self::ExecutionTimeout,
    ];

    pub fn status(self) -> u16 {
        match self {
            Self::InvalidInput => 400,
            Self::Unauthenticated => 401,
            Self::AccessDenied | Self::ApprovalRequired | Self::ApprovalDenied => 403,
            Self::ToolNotFound | Self::NotFound => 404,
            Self::TooLarge => 413,
            Self::ToolFailed => 422,
            Self::RateLimited => 429,
            Self::Cancelled => 499,
            Self::InternalError => 500,
            Self::ContractViolation => 502,
            Self::UpstreamUnavailable => 503,
            Self::ExecutionTimeout => 504,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "INVALID_INPUT",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::AccessDenied => "ACCESS_DENIED",
            Self::ApprovalRequired => "APPROVAL_REQUIRED",
            Self::ApprovalDenied => "APPROVAL_DENIED",
            Self::ToolNotFound => "TOOL_NOT_FOUND",
            Self::NotFound => "NOT_FOUND",
            Self::TooLarge => "TOO_LARGE",
            Self::ToolFailed => "TOOL_FAILED",
            Self::RateLimited => "RATE_LIMITED",
            Self::Cancelled => "CANCELLED",
            Self::InternalError => "INTERNAL_ERROR",
            Self::ContractViolation => "CONTRACT_VIOLATION",
            Self::UpstreamUnavailable => "UPSTREAM_UNAVAILABLE",
            Self::ExecutionTimeout => "EXECUTION_TIMEOUT",
        }
    }

    /// When this code is answered, in one phrase for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::InvalidInput => "an argument breaks the schema or a format rule",
            Self::Unauthenticated => "a token is required and is missing or wrong",
            Self::AccessDenied => "the thing asked for is blocked",
            Self::ApprovalRequired => "a person must approve this call first",
            Self::ApprovalDenied => "a person said no",
            Self::ToolNotFound => "there is no tool of that name",
            Self::NotFound => "the thing asked for does not exist",
            Self::TooLarge => "the input or the result is over its bound",
            Self::ToolFailed => "the tool itself reports an error",
            Self::RateLimited => "too many calls in a minute; wait `retryAfterMs`",
            Self::Cancelled => "the caller cancelled the call or went away",
            Self::InternalError => "a defect of the server; its log has the cause",
            Self::ContractViolation => "the upstream tool's answer broke its contract",
            Self::UpstreamUnavailable => "the upstream server cannot be reached",
            Self::ExecutionTimeout => "the call took longer than its time limit",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A refused or failed call, as the caller sees it. Nothing internal belongs in here: causes go to the log.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    pub code: Code,
    /// For the caller, often a model: names the thing and the rule, and says what to change.
    pub message: String,
    /// The same facts for a program: `path`, `field`, `limit`, `retryAfterMs`, `approvalId` …
    pub details: Map<String, Value>,
}

impl ToolError {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Map::new() }
    }

    /// Adds a fact to `details`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// The error object alone: `{code, status, message, details}`.
    pub fn to_value(&self) -> Value {
        json!({
            "code": self.code,
            "status": self.code.status(),
            "message": self.message,
            "details": self.details,
        })
    }

    /// The one envelope of every front door.
    pub fn envelope(&self) -> Value {
        json!({"success": false, "error": self.to_value()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_on_the_wire_are_the_documented_ones() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn envelope() {
        let error = ToolError::new(Code::AccessDenied, "`.env` is denied").with("path", ".env");
        assert_eq!(
            error.envelope(),
            json!({"success": false, "error": {
                "code": "ACCESS_DENIED", "status": 403,
                "message": "`.env` is denied", "details": {"path": ".env"},
            }})
        );
    }
}

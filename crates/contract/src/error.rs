//! The error envelope of all refused and failed calls: a stable [`ErrorCode`], its HTTP status, a message and details.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Stable error codes. Each maps to one HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// An argument violates the schema or a format rule; the message names the field and the rule.
    InvalidInput,
    /// A required token is missing or wrong.
    Unauthenticated,
    /// The path is blocked, the input contains a secret, or the tool is not allowlisted.
    AccessDenied,
    /// A person must approve the call first.
    ApprovalRequired,
    /// A person denied the call.
    ApprovalDenied,
    ToolNotFound,
    /// The requested file, module or transaction does not exist.
    NotFound,
    TooLarge,
    /// The tool itself reports an error; its message is in `content`.
    ToolFailed,
    /// The details contain `retryAfterMs`.
    RateLimited,
    /// The caller cancelled the call or disconnected. It appears in logs; callers rarely see it.
    Cancelled,
    /// A defect of this server. The log has the cause; the caller gets no internals.
    InternalError,
    /// The answer of an upstream tool violates its contract.
    ContractViolation,
    UpstreamUnavailable,
    /// The server cannot write its records or the project, because the disk is full or failing. Nothing was changed.
    StorageUnavailable,
    /// The call exceeded the time limit of its contract.
    ExecutionTimeout,
}

impl ErrorCode {
    pub const ALL: [Self; 16] = [
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
        Self::StorageUnavailable,
        Self::ExecutionTimeout,
    ];

    /// Returns the HTTP status of this code.
    pub fn http_status(self) -> u16 {
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
            Self::UpstreamUnavailable | Self::StorageUnavailable => 503,
            Self::ExecutionTimeout => 504,
        }
    }

    /// Returns the code as it appears on the wire.
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
            Self::StorageUnavailable => "STORAGE_UNAVAILABLE",
            Self::ExecutionTimeout => "EXECUTION_TIMEOUT",
        }
    }

    /// Returns a phrase for people that says when this code is returned.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::InvalidInput => "an argument violates the schema or a format rule",
            Self::Unauthenticated => "a token is required and is missing or wrong",
            Self::AccessDenied => "access to the requested item is blocked",
            Self::ApprovalRequired => "a person must approve this call first",
            Self::ApprovalDenied => "a person denied this call",
            Self::ToolNotFound => "no tool has this name",
            Self::NotFound => "the requested item does not exist",
            Self::TooLarge => "the input or the result exceeds its size limit",
            Self::ToolFailed => "the tool itself reports an error",
            Self::RateLimited => "too many calls in a minute; wait `retryAfterMs`",
            Self::Cancelled => "the caller cancelled the call or disconnected",
            Self::InternalError => "an internal error of the server; its log has the cause",
            Self::ContractViolation => "the upstream tool's answer violates its contract",
            Self::UpstreamUnavailable => "the upstream server cannot be reached",
            Self::StorageUnavailable => "the server cannot write to its disk; nothing was changed",
            Self::ExecutionTimeout => "the call took longer than its time limit",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A refused or failed call, as the caller sees it. It contains no internals; causes go to the log.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolError {
    pub code: ErrorCode,
    /// Message for the caller, often a model: names the item and the rule, and says what to change.
    pub message: String,
    /// Machine-readable facts: `path`, `field`, `limit`, `retryAfterMs`, `approvalId` …
    pub details: Map<String, Value>,
}

impl ToolError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Map::new() }
    }

    /// Adds a fact to `details`.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the error object without its envelope: `{code, status, message, details}`.
    pub fn to_value(&self) -> Value {
        json!({
            "code": self.code,
            "status": self.code.http_status(),
            "message": self.message,
            "details": self.details,
        })
    }

    /// Returns the envelope that all transports use: `{success: false, error}`.
    pub fn to_envelope(&self) -> Value {
        json!({"success": false, "error": self.to_value()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_serialize_as_documented() {
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn envelope_contains_code_status_message_and_details() {
        let error =
            ToolError::new(ErrorCode::AccessDenied, "`.env` is denied").with_detail("path", ".env");
        assert_eq!(
            error.to_envelope(),
            json!({"success": false, "error": {
                "code": "ACCESS_DENIED", "status": 403,
                "message": "`.env` is denied", "details": {"path": ".env"},
            }})
        );
    }
}

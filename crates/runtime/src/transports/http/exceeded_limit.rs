//! Limits that a request exceeded, and the answers to them.
//!
//! The SDK answers every error of a session or of a body with 500, so the exceeded limit is recorded beside the request
//! and answered by the admission layer.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use contract::{ErrorCode, ToolError};
use serde_json::json;

use super::super::rest::error_response;
use super::memory_budget::MemoryShortage;
use crate::metrics::RefusalReason;

/// Error code of JSON-RPC for a server that cannot serve a request now.
const JSON_RPC_SERVER_ERROR: i32 = -32000;

tokio::task_local! {
    /// The limit that the current HTTP request exceeded, for SDK callbacks.
    pub(super) static EXCEEDED_LIMIT: ExceededLimitSlot;
}

/// A limit that a request exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExceededLimit {
    Sessions {
        limit: usize,
        retry_after: Duration,
    },
    SessionsOfClient {
        limit: usize,
        retry_after: Duration,
    },
    StreamsOfSession {
        limit: usize,
    },
    Memory,
    /// The request alone exceeds the limit.
    RequestMemory {
        limit: usize,
    },
    BodyTime {
        limit: Duration,
    },
    /// The values behind a reserved key cannot be counted.
    ReservedKey,
}

/// Holds the first limit that a request exceeded.
#[derive(Clone, Default)]
pub(super) struct ExceededLimitSlot(Arc<OnceLock<ExceededLimit>>);

impl ExceededLimitSlot {
    pub(super) fn set(&self, exceeded: ExceededLimit) {
        let _ = self.0.set(exceeded);
    }

    pub(super) fn get(&self) -> Option<ExceededLimit> {
        self.0.get().copied()
    }
}

impl ExceededLimit {
    pub(super) fn from_shortage(shortage: MemoryShortage, limit: usize) -> Self {
        match shortage {
            MemoryShortage::RequestTooLarge => Self::RequestMemory { limit },
            MemoryShortage::InUse => Self::Memory,
        }
    }

    pub(super) fn reason(self) -> RefusalReason {
        match self {
            Self::Sessions { .. } => RefusalReason::Sessions,
            Self::SessionsOfClient { .. } => RefusalReason::SessionsOfClient,
            Self::StreamsOfSession { .. } => RefusalReason::StreamsOfSession,
            Self::Memory | Self::RequestMemory { .. } => RefusalReason::Memory,
            Self::BodyTime { .. } => RefusalReason::BodyTimeout,
            Self::ReservedKey => RefusalReason::Memory,
        }
    }

    /// Returns the error. Limits that depend on other requests share the code of the rate limits, because a later attempt
    /// can succeed.
    pub(super) fn to_error(self) -> ToolError {
        let busy = |message: String, retry_after: Duration| {
            let wait = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
            ToolError::new(ErrorCode::RateLimited, message).with_detail("retryAfterMs", wait)
        };
        match self {
            Self::Sessions { limit, retry_after } => busy(
                format!("the server has its maximum of {limit} sessions; idle ones expire"),
                retry_after,
            ),
            Self::SessionsOfClient { limit, retry_after } => busy(
                format!(
                    "this client has its maximum of {limit} sessions; end one with DELETE, or let idle ones expire"
                ),
                retry_after,
            ),
            Self::StreamsOfSession { limit } => busy(
                format!("the session has its maximum of {limit} open streams"),
                Duration::from_secs(1),
            ),
            Self::Memory => busy(
                "the requests in flight use the memory of this server; send the request again"
                    .into(),
                Duration::from_secs(1),
            ),
            Self::RequestMemory { limit } => ToolError::new(
                ErrorCode::TooLarge,
                format!(
                    "the request takes more than the {} MB of memory that requests may use here; send less at a time",
                    limit >> 20
                ),
            )
            .with_detail("limit", limit),
            Self::BodyTime { limit } => ToolError::new(
                ErrorCode::InvalidInput,
                format!("the request body did not arrive within {} ms", limit.as_millis()),
            ),
            Self::ReservedKey => ToolError::new(
                ErrorCode::InvalidInput,
                "the request body has a key that is reserved: $serde_json::private",
            ),
        }
    }

    /// Returns the answer: a JSON-RPC error on the MCP path, otherwise the error envelope.
    pub(super) fn to_response(self, is_mcp: bool) -> Response {
        let error = self.to_error();
        let mut response = error_response(&error);
        if is_mcp {
            let body = json!({"jsonrpc": "2.0", "id": null, "error": {
                "code": JSON_RPC_SERVER_ERROR, "message": error.message, "data": error.to_value(),
            }});
            let retry_after = response.headers_mut().remove(header::RETRY_AFTER);
            response = (response.status(), Json(body)).into_response();
            if let Some(wait) = retry_after {
                response.headers_mut().insert(header::RETRY_AFTER, wait);
            }
        }
        if matches!(
            self,
            Self::BodyTime { .. } | Self::Memory | Self::RequestMemory { .. } | Self::ReservedKey
        ) {
            // The rest of the body is not read.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

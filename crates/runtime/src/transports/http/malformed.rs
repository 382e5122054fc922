//! Converts the SDK's errors for malformed bodies to JSON-RPC errors.
//!
//! The SDK responds with 415 and plain text, which is misleading: the media type was correct.

use axum::Json;
use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use contract::ErrorCode;
use serde_json::json;

/// Prefix of the SDK's response to a malformed body.
const PREFIX: &str = "fail to deserialize request body";
/// The SDK's reason for JSON that is not a message, such as a batch.
const NO_MESSAGE: &str = "unrecognized JSON-RPC message";
/// Maximum bytes read of the SDK's response; longer than any of its texts.
const MAX_TEXT: usize = 4096;

/// Returns the code under which a refusal of the protocol layer is recorded.
pub(super) fn refusal_code(status: StatusCode) -> ErrorCode {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        ErrorCode::TooLarge
    } else {
        ErrorCode::InvalidInput
    }
}

/// Returns the response as a JSON-RPC error if it reports a malformed or oversized body, otherwise unchanged.
pub(super) async fn to_json_rpc_error(response: Response) -> Response {
    let status = response.status();
    if !matches!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE | StatusCode::PAYLOAD_TOO_LARGE) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, MAX_TEXT).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        return json_rpc_error(status, -32600, "the message exceeds the size limit of this server");
    }
    match text.strip_prefix(PREFIX).map(str::trim) {
        Some(NO_MESSAGE) => json_rpc_error(
            StatusCode::BAD_REQUEST,
            -32600,
            "the body must be one JSON-RPC message; batches are not supported",
        ),
        Some(reason) => json_rpc_error(
            StatusCode::BAD_REQUEST,
            -32700,
            &format!("invalid JSON in the request body: {reason}"),
        ),
        None => Response::from_parts(parts, bytes.into()),
    }
}

fn json_rpc_error(status: StatusCode, code: i32, message: &str) -> Response {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    (status, Json(error)).into_response()
}

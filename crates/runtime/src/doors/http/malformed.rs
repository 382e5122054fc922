//! Bodies that are no JSON-RPC message get a JSON-RPC error.
//!
//! The SDK answers them with 415 and plain text, which says the wrong thing: the media type was right.

use axum::Json;
use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use contract::Code;
use serde_json::json;

/// How the SDK's answer begins, and what it says of JSON that is no message (a batch, for instance).
const PREFIX: &str = "fail to deserialize request body";
const NO_MESSAGE: &str = "unrecognized JSON-RPC message";
/// Longer than any text of the SDK's.
const MAX_TEXT: usize = 4096;

/// The code under which a refusal of the protocol is recorded.
pub(super) fn code(status: StatusCode) -> Code {
    if status == StatusCode::PAYLOAD_TOO_LARGE { Code::TooLarge } else { Code::InvalidInput }
}

pub(super) async fn as_json_rpc(response: Response) -> Response {
    let status = response.status();
    if !matches!(status, StatusCode::UNSUPPORTED_MEDIA_TYPE | StatusCode::PAYLOAD_TOO_LARGE) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, MAX_TEXT).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        return error(status, -32600, "the message is over the limit of this server");
    }
    match text.strip_prefix(PREFIX).map(str::trim) {
        Some(NO_MESSAGE) => error(
            StatusCode::BAD_REQUEST,
            -32600,
            "the body must be one JSON-RPC message; batches are not part of this protocol",
        ),
        Some(reason) => {
            error(StatusCode::BAD_REQUEST, -32700, &format!("the body is not valid JSON: {reason}"))
        }
        None => Response::from_parts(parts, bytes.into()),
    }
}

fn error(status: StatusCode, code: i32, message: &str) -> Response {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    (status, Json(error)).into_response()
}

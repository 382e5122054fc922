//! Bodies that are no JSON-RPC message get a JSON-RPC error.
//!
//! The SDK answers them with 415 and plain text, which says the wrong thing: the media type was right.

use axum::Json;
use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// How the SDK's answer begins, and what it says of JSON that is no message (a batch, for instance).
const PREFIX: &str = "fail to deserialize request body";
const NO_MESSAGE: &str = "unrecognized JSON-RPC message";
/// Longer than any text of the SDK's.
const MAX_TEXT: usize = 4096;

pub(super) async fn as_json_rpc(response: Response) -> Response {
    if response.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, MAX_TEXT).await.unwrap_or_default();
    let Some(reason) = std::str::from_utf8(&bytes).ok().and_then(|text| text.strip_prefix(PREFIX))
    else {
        return Response::from_parts(parts, bytes.into());
    };
    let reason = reason.trim();
    let (code, message) = if reason == NO_MESSAGE {
        (
            -32600,
            "the body must be one JSON-RPC message; batches are not part of this protocol"
                .to_owned(),
        )
    } else {
        (-32700, format!("the body is not valid JSON: {reason}"))
    };
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    (StatusCode::BAD_REQUEST, Json(error)).into_response()
}

//! Final processing of MCP responses: puts verbatim results in place of their stand-ins, and sends as few chunks as
//! possible, because each chunk wakes the client.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};

use super::super::verbatim;

/// Maximum time to hold back the start of an event stream for the first message. Most calls finish within it, so
/// headers, message and end are sent together. A call whose connection breaks earlier cannot be resumed, because the
/// client has not received an event id.
pub(super) const COALESCE_TIME: Duration = Duration::from_secs(1);
/// Prefix of an event that carries only an event id to resume from.
const RESUME_MARKER: &[u8] = b"data: \n";

/// Returns the response ready to send. `is_answer` is true if the client waits for it; a listening stream may be silent
/// for hours and is not held back.
pub(super) async fn finish_response(response: Response, is_answer: bool) -> Response {
    let (parts, body) = response.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    if kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
        let events = body.into_data_stream().map_ok(verbatim::restore_bytes);
        let body =
            if is_answer { coalesce_events(events).await } else { Body::from_stream(events) };
        return Response::from_parts(parts, body);
    }
    // Collected, so that it has a Content-Length: a chunked body takes more writes.
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(bytes) => Response::from_parts(parts, verbatim::restore_bytes(bytes).into()),
        Err(error) => {
            tracing::error!(%error, "failed to read a response body");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Collects the events up to the first message into one body, if they arrive in time. Each stream item holds one event.
async fn coalesce_events(
    events: impl Stream<Item = Result<Bytes, axum::Error>> + Send + Unpin + 'static,
) -> Body {
    let (mut events, mut gathered) = (events.fuse(), Vec::new());
    let first = async {
        while let Some(event) = events.next().await {
            let is_marker = event.as_ref().is_ok_and(|event| event.starts_with(RESUME_MARKER));
            gathered.push(event);
            if !is_marker {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(COALESCE_TIME, first).await;
    let next = events.next().now_or_never();
    // The stream has ended, so the length is known.
    if matches!(next, Some(None)) && gathered.iter().all(Result::is_ok) {
        return Body::from(gathered.into_iter().flatten().collect::<Vec<_>>().concat());
    }
    gathered.extend(next.flatten());
    Body::from_stream(stream::iter(gathered).chain(events))
}

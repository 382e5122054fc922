//! Final processing of MCP responses: puts verbatim results in place of their stand-ins, and sends as few chunks as
//! possible, because each chunk wakes the client.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};

use super::super::verbatim;

/// Prefix of an event that carries only an event id to resume from.
const RESUME_MARKER: &[u8] = b"data: \n";

/// Returns the response ready to send. The start of an event stream is held back for the time, which is `None` for a
/// listening stream: it may be silent for hours.
pub(super) async fn finish_response(response: Response, hold_back: Option<Duration>) -> Response {
    let (parts, body) = response.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    if kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
        let events = body.into_data_stream().map_ok(verbatim::restore_bytes);
        let body = match hold_back {
            Some(limit) => coalesce_events(events, limit).await,
            None => Body::from_stream(events),
        };
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
    limit: Duration,
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
    let _ = tokio::time::timeout(limit, first).await;
    let next = events.next().now_or_never();
    // The stream has ended, so the length is known.
    if matches!(next, Some(None)) && gathered.iter().all(Result::is_ok) {
        return Body::from(gathered.into_iter().flatten().collect::<Vec<_>>().concat());
    }
    gathered.extend(next.flatten());
    Body::from_stream(stream::iter(gathered).chain(events))
}

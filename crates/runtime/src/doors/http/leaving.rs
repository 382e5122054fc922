//! How answers over MCP leave: results that stand for themselves in their place, and in as few pieces as possible, because
//! each piece wakes the client.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};

use super::super::verbatim;

/// How long the head of an event stream waits for the first message. Most calls are over by then, and head, message and
/// end leave together. A call whose connection breaks before cannot be resumed: the client has not heard from where.
const PATIENCE: Duration = Duration::from_secs(1);
/// An event that only says where to resume from.
const MARKER: &[u8] = b"data: \n";

/// `is_answer` says that somebody waits for it; a stream that only listens may have nothing to say for hours.
pub(super) async fn leaving(response: Response, is_answer: bool) -> Response {
    let (parts, body) = response.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    if kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
        let events = body.into_data_stream().map_ok(verbatim::restored);
        let body = if is_answer { together(events).await } else { Body::from_stream(events) };
        return Response::from_parts(parts, body);
    }
    // Whole, so that its length is told before it: a body in chunks is written in more pieces.
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(bytes) => Response::from_parts(parts, verbatim::restored(bytes).into()),
        Err(error) => {
            tracing::error!(%error, "a response could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// One piece of the stream holds one event.
async fn together(
    events: impl Stream<Item = Result<Bytes, axum::Error>> + Send + Unpin + 'static,
) -> Body {
    let (mut events, mut gathered) = (events.fuse(), Vec::new());
    let first = async {
        while let Some(event) = events.next().await {
            let is_marker = event.as_ref().is_ok_and(|event| event.starts_with(MARKER));
            gathered.push(event);
            if !is_marker {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(PATIENCE, first).await;
    let next = events.next().now_or_never();
    // Nothing more comes, so its length is known.
    if matches!(next, Some(None)) && gathered.iter().all(Result::is_ok) {
        return Body::from(gathered.into_iter().flatten().collect::<Vec<_>>().concat());
    }
    gathered.extend(next.flatten());
    Body::from_stream(stream::iter(gathered).chain(events))
}

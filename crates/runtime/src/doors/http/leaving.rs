//! How answers over MCP leave: results that stand for themselves in their place, and in as few pieces as possible, because
//! each piece wakes the client.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, TryStreamExt, stream};

use super::super::verbatim;

/// How long an event stream is gathered before it begins to leave. Most calls are over by then, and head, events and end
/// leave together; who waits longer for an answer does not notice.
const GATHER: Duration = Duration::from_millis(20);

pub(super) async fn leaving(response: Response) -> Response {
    let (parts, body) = response.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    if kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
        return Response::from_parts(parts, events(body).await);
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

/// One piece of the stream holds one message.
async fn events(body: Body) -> Body {
    let mut events = body.into_data_stream().map_ok(verbatim::restored);
    let mut gathered = Vec::new();
    let all = async {
        while let Some(event) = events.next().await {
            gathered.push(event);
        }
    };
    if tokio::time::timeout(GATHER, all).await.is_err() {
        return Body::from_stream(stream::iter(gathered).chain(events));
    }
    match gathered.into_iter().collect::<Result<Vec<Bytes>, _>>() {
        Ok(pieces) => Body::from(pieces.concat()),
        Err(error) => Body::from_stream(stream::iter([Err::<Bytes, _>(error)])),
    }
}

//! Tracks responses that are not fully sent, so that a shutdown does not cut them off.
//!
//! A response is sent when its body has been written, not when its handler returns. Listening streams (GET) never end
//! by themselves and are not tracked.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::watch;

use super::memory_budget::MemoryReservation;

/// Counts the responses that are not fully sent.
#[derive(Clone)]
pub(super) struct PendingResponses {
    count: Arc<watch::Sender<usize>>,
}

impl Default for PendingResponses {
    fn default() -> Self {
        Self { count: Arc::new(watch::Sender::new(0)) }
    }
}

/// One response that is not fully sent, until dropped.
pub(super) struct PendingResponse {
    count: Arc<watch::Sender<usize>>,
}

impl PendingResponses {
    /// Registers a response that is about to be produced.
    pub(super) fn register(&self) -> PendingResponse {
        self.count.send_modify(|count| *count += 1);
        PendingResponse { count: Arc::clone(&self.count) }
    }

    /// Waits until every registered response has been sent.
    pub(super) async fn wait_until_sent(&self) {
        // The sender lives in `self`, so the channel cannot be closed.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// Returns the response with a body that holds its memory, and its registration if there is one, until it has been sent.
pub(super) fn track_body(
    response: Response,
    pending: Option<PendingResponse>,
    mut memory: MemoryReservation,
) -> Response {
    // A stream of unknown length begins before its call has ended, and the call holds the parsed request until then.
    if let Some(length) = response.body().size_hint().exact() {
        memory.set_response_bytes(usize::try_from(length).unwrap_or(usize::MAX / 2));
    }
    response.map(|body| Body::new(TrackedBody { body, _pending: pending, _memory: memory }))
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        self.count.send_modify(|count| *count -= 1);
    }
}

/// A response body that keeps its registration and its memory.
struct TrackedBody {
    body: Body,
    _pending: Option<PendingResponse>,
    _memory: MemoryReservation,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory_budget::MemoryBudget;
    use super::*;
    use crate::metrics::ServerMetrics;

    #[test]
    fn stream_holds_the_memory_of_its_request() {
        const LIMIT: usize = 1 << 20;
        let budget = MemoryBudget::new(ServerMetrics::default());
        // Together with a second one, it exceeds the limit.
        let reserve = || budget.reserve_request(80_000, LIMIT);
        let track = |body: Body| track_body(Response::new(body), None, reserve().unwrap());
        let stream =
            track(Body::from_stream(futures::stream::pending::<Result<Bytes, axum::Error>>()));
        assert!(reserve().is_err());
        drop(stream);
        let whole = track(Body::from("a short answer"));
        assert!(reserve().is_ok());
        drop(whole);
    }
}

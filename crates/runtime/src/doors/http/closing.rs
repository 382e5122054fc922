//! Knowing when every answer has left, so that a server that shuts down cuts nobody off.
//!
//! A call has its answer when the body of the response is through, not when the handler is done. Streams that a client
//! opened to listen (GET) never end by themselves and do not count.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::watch;

/// Counts the answers that are owed.
#[derive(Clone)]
pub(super) struct Answers {
    owed: Arc<watch::Sender<usize>>,
}

impl Default for Answers {
    fn default() -> Self {
        Self { owed: Arc::new(watch::Sender::new(0)) }
    }
}

/// One answer that is owed, until it is dropped.
pub(super) struct Owed {
    owed: Arc<watch::Sender<usize>>,
}

impl Answers {
    pub(super) fn owe(&self) -> Owed {
        self.owed.send_modify(|owed| *owed += 1);
        Owed { owed: Arc::clone(&self.owed) }
    }

    pub(super) async fn all_sent(&self) {
        // The sender lives in `self`, so the channel cannot be closed.
        let _ = self.owed.subscribe().wait_for(|owed| *owed == 0).await;
    }
}

impl Owed {
    /// Paid once the body of this response is through.
    pub(super) fn until_sent(self, response: Response) -> Response {
        response.map(|body| Body::new(Counted { body, _owed: self }))
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.owed.send_modify(|owed| *owed -= 1);
    }
}

struct Counted {
    body: Body,
    _owed: Owed,
}

impl HttpBody for Counted {
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

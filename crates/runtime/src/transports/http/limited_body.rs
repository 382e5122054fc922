//! A request body that must arrive in time and fit into the memory budget.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use contract::json::ReservedKeyScan;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Sleep;

use super::exceeded_limit::{ExceededLimit, ExceededLimitSlot};
use super::limits::HttpLimits;
use super::memory_budget::{MemoryReservation, ValueCounter};

/// A request body that ends with an error at its limits.
pub(super) struct LimitedBody {
    pub(super) body: Body,
    pub(super) limits: Arc<HttpLimits>,
    pub(super) exceeded: ExceededLimitSlot,
    /// Also held by the request, whose parsed body outlives this one.
    pub(super) reservation: Arc<Mutex<MemoryReservation>>,
    /// Bytes that were reserved in advance and have not arrived.
    pub(super) expected: usize,
    values: ValueCounter,
    keys: ReservedKeyScan,
    /// Set once the body keeps its reader waiting; most bodies arrive with their headers.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl LimitedBody {
    pub(super) fn new(
        body: Body,
        limits: Arc<HttpLimits>,
        exceeded: ExceededLimitSlot,
        reservation: Arc<Mutex<MemoryReservation>>,
        expected: usize,
    ) -> Self {
        Self {
            body,
            limits,
            exceeded,
            reservation,
            expected,
            values: ValueCounter::default(),
            keys: ReservedKeyScan::default(),
            deadline: None,
        }
    }

    fn fail(&self, exceeded: ExceededLimit) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.exceeded.set(exceeded);
        Poll::Ready(Some(Err(axum::Error::new(BodyLimitError))))
    }
}

/// A request body exceeded a limit. The answer is made from the recorded limit, not from this error.
#[derive(Debug, thiserror::Error)]
#[error("the request body exceeded a limit")]
struct BodyLimitError;

impl HttpBody for LimitedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
            let limit = self.limits.body_timeout;
            let deadline = self.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
            return match deadline.as_mut().poll(cx) {
                Poll::Ready(()) => self.fail(ExceededLimit::BodyTime { limit }),
                Poll::Pending => Poll::Pending,
            };
        };
        let data = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(&[][..], |data| &data[..]),
            _ => &[],
        };
        let excess = data.len().saturating_sub(self.expected);
        self.expected = self.expected.saturating_sub(data.len());
        let values = self.values.count_values(data);
        let limit = self.limits.max_memory_bytes;
        let added = self.reservation.lock().try_add_body(excess, values, limit);
        if let Err(shortage) = added {
            return self.fail(ExceededLimit::from_shortage(shortage, limit));
        }
        if self.keys.find_in(data) {
            return self.fail(ExceededLimit::ReservedKey);
        }
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

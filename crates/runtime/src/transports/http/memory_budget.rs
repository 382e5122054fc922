//! The memory that requests and responses may use together. Over the budget, new requests are refused.
//!
//! It is an estimate: a parsed request takes many times its size, and a response is counted once it exists. A response is
//! never refused, because its call has already had its effect. A single request counts as half of the budget at most, so
//! that each request fits while the server has little else to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::metrics::ServerMetrics;

/// Bytes in memory for one byte of a request body in the worst case. A body of empty arrays (`[],[],…`) of 4 MB took
/// 110 MB when parsed.
const PARSED_FACTOR: usize = 32;
/// Estimated bytes in memory for a request without its body.
const BASE_BYTES: usize = 32 * 1024;

/// Counts the bytes in use.
pub(super) struct MemoryBudget {
    used: AtomicUsize,
    metrics: ServerMetrics,
}

/// The bytes of one request or response, until dropped.
pub(super) struct MemoryReservation {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl MemoryBudget {
    pub(super) fn new(metrics: ServerMetrics) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), metrics })
    }

    /// Reserves the bytes for a request with a body of this length. Returns `None` if they exceed the limit.
    pub(super) fn reserve_request(
        self: &Arc<Self>,
        body_length: usize,
        limit: usize,
    ) -> Option<MemoryReservation> {
        let mut reservation = MemoryReservation { budget: Arc::clone(self), bytes: 0 };
        let bytes = body_length.saturating_mul(PARSED_FACTOR).saturating_add(BASE_BYTES);
        reservation.try_add(bytes, limit).then_some(reservation)
    }

    fn publish(&self) {
        self.metrics.set_memory(self.used.load(Ordering::Relaxed));
    }
}

impl MemoryReservation {
    /// Reserves more bytes for the request's body. Returns false if they exceed the limit.
    pub(super) fn try_add_body(&mut self, body_length: usize, limit: usize) -> bool {
        self.try_add(body_length.saturating_mul(PARSED_FACTOR), limit)
    }

    fn try_add(&mut self, bytes: usize, limit: usize) -> bool {
        let bytes = bytes.min((limit / 2).saturating_sub(self.bytes));
        let add = |used: usize| used.checked_add(bytes).filter(|total| *total <= limit);
        let added = self.budget.used.try_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok();
        if added {
            self.bytes += bytes;
        }
        self.budget.publish();
        added
    }

    /// Replaces the bytes of the request by those of its response, also beyond the limit.
    pub(super) fn set_response_bytes(&mut self, bytes: usize) {
        let bytes = bytes + BASE_BYTES;
        self.budget.used.fetch_add(bytes, Ordering::Relaxed);
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
        self.budget.publish();
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
        self.budget.publish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_requests_over_the_limit_and_counts_responses_beyond_it() {
        let budget = MemoryBudget::new(ServerMetrics::default());
        let limit = 4 * BASE_BYTES;
        let mut first = budget.reserve_request(0, limit).unwrap();
        assert!(first.try_add_body(BASE_BYTES, limit), "it counts as half of the budget at most");
        let mut second = budget.reserve_request(0, limit).unwrap();
        let third = budget.reserve_request(0, limit).unwrap();
        assert!(!second.try_add_body(1, limit));
        assert!(budget.reserve_request(0, limit).is_none());
        drop((second, third));
        first.set_response_bytes(10 * limit);
        assert!(budget.reserve_request(0, limit).is_none());
        drop(first);
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
        let halves = [usize::MAX, usize::MAX].map(|length| budget.reserve_request(length, limit));
        assert!(halves.iter().all(Option::is_some));
        assert!(budget.reserve_request(0, limit).is_none());
    }
}

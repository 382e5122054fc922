//! The memory that requests and responses may use together. Over the budget, new requests are refused.
//!
//! It is an estimate: a parsed request takes many times its size, depending on the number of its values, and a response is
//! counted once it exists. A response is never refused, because its call has already had its effect.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::metrics::ServerMetrics;

/// Bytes in memory for one byte of a request body: its buffers, and the strings in it while they are parsed. A body of 4 MB
/// that is one string of escapes took 33 MB.
const BYTES_PER_BODY_BYTE: usize = 8;
/// Bytes in memory for one bracket, comma or colon of a request body. Bodies of 4 MB with as many values as possible took
/// up to 198 over REST, and 387 over MCP, where the SDK parses a message more than once (`[0],[0],…`: 782 MB).
const BYTES_PER_VALUE: usize = 400;
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

/// The reason why memory was not reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryShortage {
    /// The request alone exceeds the limit.
    RequestTooLarge,
    /// Other requests use the memory.
    InUse,
}

impl MemoryBudget {
    pub(super) fn new(metrics: ServerMetrics) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), metrics })
    }

    /// Reserves the bytes for a request with a body of this length. Its values are added when they arrive.
    pub(super) fn reserve_request(
        self: &Arc<Self>,
        body_length: usize,
        limit: usize,
    ) -> Result<MemoryReservation, MemoryShortage> {
        let mut reservation = MemoryReservation { budget: Arc::clone(self), bytes: 0 };
        let bytes = body_length.saturating_mul(BYTES_PER_BODY_BYTE).saturating_add(BASE_BYTES);
        reservation.try_add(bytes, limit).map(|()| reservation)
    }

    fn publish(&self) {
        self.metrics.set_memory(self.used.load(Ordering::Relaxed));
    }
}

impl MemoryReservation {
    /// Reserves more bytes for a part of the request's body: its length, unless that was declared, and its values.
    pub(super) fn try_add_body(
        &mut self,
        length: usize,
        values: usize,
        limit: usize,
    ) -> Result<(), MemoryShortage> {
        let values = values.saturating_mul(BYTES_PER_VALUE);
        self.try_add(length.saturating_mul(BYTES_PER_BODY_BYTE).saturating_add(values), limit)
    }

    fn try_add(&mut self, bytes: usize, limit: usize) -> Result<(), MemoryShortage> {
        if self.bytes.saturating_add(bytes) > limit {
            return Err(MemoryShortage::RequestTooLarge);
        }
        let add = |used: usize| used.checked_add(bytes).filter(|total| *total <= limit);
        let added = self.budget.used.try_update(Ordering::Relaxed, Ordering::Relaxed, add);
        if added.is_ok() {
            self.bytes += bytes;
        }
        self.budget.publish();
        added.map(drop).map_err(|_| MemoryShortage::InUse)
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

/// Counts the values of a JSON text that arrives in parts, by its brackets, commas and colons outside strings.
#[derive(Default)]
pub(super) struct ValueCounter {
    is_in_string: bool,
    is_escaped: bool,
}

impl ValueCounter {
    /// Returns the number of values that begin in the next part of the text.
    pub(super) fn count_values(&mut self, part: &[u8]) -> usize {
        let mut count = 0;
        for byte in part {
            if self.is_in_string {
                let is_escaped = std::mem::take(&mut self.is_escaped);
                match byte {
                    b'\\' => self.is_escaped = !is_escaped,
                    b'"' => self.is_in_string = is_escaped,
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => self.is_in_string = true,
                    b'[' | b'{' | b',' | b':' => count += 1,
                    _ => {}
                }
            }
        }
        count
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
        first.try_add_body(BASE_BYTES / BYTES_PER_BODY_BYTE, 0, limit).unwrap();
        let mut second = budget.reserve_request(0, limit).unwrap();
        let third = budget.reserve_request(0, limit).unwrap();
        assert_eq!(second.try_add_body(1, 0, limit), Err(MemoryShortage::InUse));
        assert_eq!(second.try_add_body(0, 1, limit), Err(MemoryShortage::InUse));
        assert_eq!(budget.reserve_request(0, limit).err(), Some(MemoryShortage::InUse));
        drop((second, third));
        first.set_response_bytes(10 * limit);
        assert_eq!(budget.reserve_request(0, limit).err(), Some(MemoryShortage::InUse));
        drop(first);
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
        for length in [limit, usize::MAX] {
            let refused = budget.reserve_request(length, limit).err();
            assert_eq!(refused, Some(MemoryShortage::RequestTooLarge));
        }
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn counts_values_outside_strings_across_parts() {
        let text = br#"{"a\"[,":[0,"{\\",[]],"b":{}}"#;
        for size in 1..=text.len() {
            let mut counter = ValueCounter::default();
            let count: usize = text.chunks(size).map(|part| counter.count_values(part)).sum();
            assert_eq!(count, 9, "{size}");
        }
    }
}

//! Retry policy and deadlines of requests.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::thread;
use std::time::{Duration, Instant};

use crate::EmbedError;

/// Time limit of a batch of documents, as a multiple of the query limit. Batches run in the background.
const DOCUMENTS_FACTOR: u32 = 10;

/// The remaining attempts and time of one request.
pub(super) struct RetryPolicy {
    until: Instant,
    /// Time limit of one attempt.
    limit: Duration,
    attempts_left: u32,
    wait: Duration,
}

impl RetryPolicy {
    /// Returns the policy for interactive queries.
    pub(super) fn for_query(limit: Duration) -> Self {
        Self::new(limit, limit, 3, Duration::from_millis(100))
    }

    /// Returns the policy for batches of documents in the background.
    pub(super) fn for_documents(limit: Duration) -> Self {
        let all = limit.saturating_mul(DOCUMENTS_FACTOR);
        // A hanging server must not use up the time of all attempts.
        Self::new(all, all / 3, 8, Duration::from_millis(500))
    }

    fn new(all: Duration, limit: Duration, attempts: u32, wait: Duration) -> Self {
        Self { until: instant_after(all), limit, attempts_left: attempts - 1, wait }
    }

    pub(super) fn attempt_deadline(&self) -> AttemptDeadline {
        AttemptDeadline { until: self.until.min(instant_after(self.limit)), limit: self.limit }
    }

    /// Sleeps before the next attempt, or returns the error if no retry is allowed.
    pub(super) fn wait_after(&mut self, error: EmbedError) -> Result<(), EmbedError> {
        let requested_wait = match &error {
            EmbedError::RateLimited { retry_after } => *retry_after,
            EmbedError::Unavailable(_) | EmbedError::Timeout(_) => None,
            // Other errors are permanent.
            _ => return Err(error),
        };
        let wait = requested_wait.unwrap_or_else(|| add_jitter(self.wait));
        let in_time = Instant::now().checked_add(wait).is_some_and(|next| next < self.until);
        if self.attempts_left == 0 || !in_time {
            return Err(error);
        }
        thread::sleep(wait);
        self.attempts_left -= 1;
        self.wait *= 2;
        Ok(())
    }
}

/// The deadline of one attempt.
#[derive(Clone, Copy)]
pub(super) struct AttemptDeadline {
    until: Instant,
    limit: Duration,
}

impl AttemptDeadline {
    /// Returns the remaining time, or a timeout error if the deadline has passed.
    pub(super) fn time_left(&self) -> Result<Duration, EmbedError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(self.timeout_error()) } else { Ok(left) }
    }

    pub(super) fn timeout_error(&self) -> EmbedError {
        EmbedError::Timeout(self.limit)
    }
}

/// Returns the time after `limit`, or after one hour if the clock cannot represent it.
fn instant_after(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + Duration::from_secs(3600))
}

/// Returns a random duration between `wait / 2` and `wait`, so that failed clients do not retry in lockstep.
fn add_jitter(wait: Duration) -> Duration {
    // A new `RandomState` has random keys, which is enough randomness for jitter.
    let share = RandomState::new().build_hasher().finish() % 512;
    wait.mul_f64((512 + share) as f64 / 1024.0)
}

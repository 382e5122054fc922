//! Whether to ask again, and when.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::thread;
use std::time::{Duration, Instant};

use crate::EmbedError;

/// A batch of documents may take so much longer than a query: nobody waits for it.
const DOCUMENTS: u32 = 10;

/// The attempts at one request.
pub(super) struct Patience {
    until: Instant,
    /// For one attempt.
    limit: Duration,
    attempts_left: u32,
    wait: Duration,
}

impl Patience {
    /// Somebody waits for the answer.
    pub(super) fn for_a_query(limit: Duration) -> Self {
        Self::new(limit, limit, 3, Duration::from_millis(100))
    }

    /// Work in the background.
    pub(super) fn for_documents(limit: Duration) -> Self {
        let all = limit.saturating_mul(DOCUMENTS);
        // One server that hangs must not use up the time of all attempts.
        Self::new(all, all / 3, 8, Duration::from_millis(500))
    }

    fn new(all: Duration, limit: Duration, attempts: u32, wait: Duration) -> Self {
        Self { until: later(all), limit, attempts_left: attempts - 1, wait }
    }

    pub(super) fn deadline(&self) -> Deadline {
        Deadline { until: self.until.min(later(self.limit)), limit: self.limit }
    }

    /// Waits before the next attempt, or gives the error back if there must be none.
    pub(super) fn after(&mut self, error: EmbedError) -> Result<(), EmbedError> {
        let asked_to_wait = match &error {
            EmbedError::RateLimited { retry_after } => *retry_after,
            EmbedError::Unavailable(_) | EmbedError::Timeout(_) => None,
            // What is refused or nonsense stays so.
            _ => return Err(error),
        };
        let wait = asked_to_wait.unwrap_or_else(|| with_jitter(self.wait));
        let in_time = Instant::now().checked_add(wait).is_some_and(|then| then < self.until);
        if self.attempts_left == 0 || !in_time {
            return Err(error);
        }
        thread::sleep(wait);
        self.attempts_left -= 1;
        self.wait *= 2;
        Ok(())
    }
}

/// When an attempt must be over.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    until: Instant,
    limit: Duration,
}

impl Deadline {
    /// The time that is left, or the error that there is none.
    pub(super) fn left(&self) -> Result<Duration, EmbedError> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(self.passed()) } else { Ok(left) }
    }

    pub(super) fn passed(&self) -> EmbedError {
        EmbedError::Timeout(self.limit)
    }
}

/// A limit beyond what a clock can say is no limit; an hour is as good.
fn later(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + Duration::from_secs(3600))
}

/// Between a half and the whole, so that clients that failed together do not come back together.
fn with_jitter(wait: Duration) -> Duration {
    // A fresh hasher is keyed at random; that is all the chance this needs.
    let share = RandomState::new().build_hasher().finish() % 512;
    wait.mul_f64((512 + share) as f64 / 1024.0)
}

//! When a request is repeated.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::thread;
use std::time::{Duration, Instant};

use super::client::{RequestError, RpcLimits};

/// Longest wait between two attempts, unless the node asks for more.
const MAX_WAIT: Duration = Duration::from_secs(8);

/// The remaining attempts and time of one request.
pub(crate) struct RetryPolicy {
    until: Instant,
    attempt: Duration,
    attempts_left: u32,
    wait: Duration,
}

impl RetryPolicy {
    pub(crate) fn new(limits: &RpcLimits) -> Self {
        Self {
            until: Instant::now() + limits.request_time,
            attempt: limits.attempt_time,
            attempts_left: limits.attempts.saturating_sub(1),
            wait: limits.first_wait,
        }
    }

    /// Returns the end of the attempt that begins now.
    pub(crate) fn attempt_end(&self) -> Instant {
        self.until.min(Instant::now() + self.attempt)
    }

    /// Sleeps before the next attempt, or returns the error if there is none.
    pub(crate) fn wait_after(&mut self, error: RequestError) -> Result<(), RequestError> {
        let RequestError::Transient { retry_after, .. } = &error else { return Err(error) };
        let wait = retry_after.unwrap_or_else(|| add_jitter(self.wait));
        let in_time = Instant::now().checked_add(wait).is_some_and(|next| next < self.until);
        if self.attempts_left == 0 || !in_time {
            return Err(error);
        }
        thread::sleep(wait);
        self.attempts_left -= 1;
        self.wait = (self.wait * 2).min(MAX_WAIT);
        Ok(())
    }
}

/// Returns a random duration between `wait / 2` and `wait`, so that workers do not retry in lockstep.
fn add_jitter(wait: Duration) -> Duration {
    // A new `RandomState` has random keys, which is enough randomness for jitter.
    let share = RandomState::new().build_hasher().finish() % 512;
    wait.mul_f64((512 + share) as f64 / 1024.0)
}

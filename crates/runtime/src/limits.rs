//! Rate limits: so many calls a minute for each caller and tool.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// Callers that have been quiet long enough are forgotten after this many checks, so that memory stays bounded.
const FORGET_EVERY: u32 = 4096;

/// The limit of one tool. A caller may use a minute's worth at once; it then refills steadily.
pub(crate) struct RateLimit {
    limiter: DefaultKeyedRateLimiter<Arc<str>>,
    checks: AtomicU32,
}

impl RateLimit {
    pub(crate) fn per_minute(calls: u32) -> Self {
        let calls = NonZeroU32::new(calls).unwrap_or(NonZeroU32::MIN);
        Self { limiter: RateLimiter::keyed(Quota::per_minute(calls)), checks: AtomicU32::new(0) }
    }

    /// Takes one call of the caller's share, or says how long to wait for one.
    pub(crate) fn take(&self, principal: &Arc<str>) -> Result<(), Duration> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
            self.limiter.retain_recent();
        }
        self.limiter
            .check_key(principal)
            .map_err(|wait| wait.wait_time_from(DefaultClock::default().now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_a_share_of_its_own() {
        let limit = RateLimit::per_minute(2);
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        assert!(limit.take(&a).is_ok());
        assert!(limit.take(&a).is_ok());
        let wait = limit.take(&a).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(30), "{wait:?}");
        assert!(limit.take(&b).is_ok());
    }
}

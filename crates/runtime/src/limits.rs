//! Rate limits: so many calls a minute for each caller and tool.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

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

/// After this long without a call every share is whole again, so a limit that nobody used is like a new one.
const REFILLED: Duration = Duration::from_secs(60);

/// The limits of the tools that are offered, and of those that were a moment ago: a tool that goes and comes back must
/// not bring its callers a new share.
#[derive(Default)]
pub(crate) struct Limits {
    known: HashMap<String, Known>,
}

struct Known {
    calls: u32,
    limit: Arc<RateLimit>,
    gone: Option<Instant>,
}

impl Limits {
    /// The limit that this tool had, or a new one where it had none or another rate.
    pub(crate) fn of(&self, tool: &str, calls: u32) -> Arc<RateLimit> {
        match self.known.get(tool).filter(|known| known.calls == calls) {
            Some(known) => Arc::clone(&known.limit),
            None => Arc::new(RateLimit::per_minute(calls)),
        }
    }

    pub(crate) fn hold(&mut self, tool: &str, calls: u32, limit: &Arc<RateLimit>) {
        let known = Known { calls, limit: Arc::clone(limit), gone: None };
        self.known.insert(tool.to_owned(), known);
    }

    /// Lets go of what has not been offered for so long that it does not matter.
    pub(crate) fn forget(&mut self, is_offered: impl Fn(&str) -> bool) {
        let now = Instant::now();
        self.known.retain(|tool, known| {
            is_offered(tool) || now - *known.gone.get_or_insert(now) < REFILLED
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_comes_back_has_the_limit_it_had() {
        let mut limits = Limits::default();
        let first = limits.of("a", 2);
        limits.hold("a", 2, &first);
        limits.forget(|_| false);
        assert!(Arc::ptr_eq(&first, &limits.of("a", 2)));
        assert!(!Arc::ptr_eq(&first, &limits.of("a", 3)), "another rate is another limit");
        assert!(!Arc::ptr_eq(&first, &limits.of("b", 2)));
    }

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

//! Rate limits: a number of calls per minute for each caller and tool.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

/// The clock of rate limits: the time since some moment in the past. Tests replace it, so that the number of calls that
/// fit into a quota does not depend on the speed of the machine.
#[derive(Clone)]
pub struct RateClock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl RateClock {
    /// Creates a clock from a function, which must never return less than it did before.
    pub fn new(now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }
}

impl Default for RateClock {
    /// Returns the monotonic clock of the system.
    fn default() -> Self {
        let start = Instant::now();
        Self::new(move || start.elapsed())
    }
}

impl Clock for RateClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        (self.0)().into()
    }
}

/// Idle callers are removed every this many checks, which bounds memory.
const FORGET_EVERY: u32 = 4096;

/// The rate limit of one tool. A caller may use a full minute's quota at once; the quota then refills steadily.
pub(crate) struct RateLimit {
    limiter: RateLimiter<Arc<str>, DashMapStateStore<Arc<str>>, RateClock, NoOpMiddleware<Nanos>>,
    clock: RateClock,
    checks: AtomicU32,
}

impl RateLimit {
    pub(crate) fn per_minute(calls: u32, clock: &RateClock) -> Self {
        let quota = Quota::per_minute(NonZeroU32::new(calls).unwrap_or(NonZeroU32::MIN));
        Self {
            limiter: RateLimiter::dashmap_with_clock(quota, clock.clone()),
            clock: clock.clone(),
            checks: AtomicU32::new(0),
        }
    }

    /// Takes one call from the caller's quota. Returns the time to wait as the error if the quota is used up.
    pub(crate) fn try_acquire(&self, principal: &Arc<str>) -> Result<(), Duration> {
        if self.checks.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(principal).map_err(|wait| wait.wait_time_from(self.clock.now()))
    }
}

/// After this long without a call every quota is full again, so an unused limit equals a new one.
const REFILL_TIME: Duration = Duration::from_secs(60);

/// The limits of the served tools and of recently removed ones.
///
/// Removed tools are remembered so that a tool that disappears and returns does not reset its callers' quota.
#[derive(Default)]
pub(crate) struct RateLimitRegistry {
    known: HashMap<String, RegisteredLimit>,
    clock: RateClock,
}

struct RegisteredLimit {
    calls: u32,
    limit: Arc<RateLimit>,
    gone: Option<Nanos>,
}

impl RateLimitRegistry {
    pub(crate) fn with_clock(clock: RateClock) -> Self {
        Self { known: HashMap::new(), clock }
    }

    /// Returns the tool's registered limit, or a new one if it has none or its rate has changed.
    pub(crate) fn get_or_create(&self, tool: &str, calls: u32) -> Arc<RateLimit> {
        match self.known.get(tool).filter(|known| known.calls == calls) {
            Some(known) => Arc::clone(&known.limit),
            None => Arc::new(RateLimit::per_minute(calls, &self.clock)),
        }
    }

    /// Registers the limit of a served tool.
    pub(crate) fn register(&mut self, tool: &str, calls: u32, limit: &Arc<RateLimit>) {
        let known = RegisteredLimit { calls, limit: Arc::clone(limit), gone: None };
        self.known.insert(tool.to_owned(), known);
    }

    /// Removes limits of tools that have not been served for longer than [`REFILL_TIME`].
    pub(crate) fn remove_expired(&mut self, is_offered: impl Fn(&str) -> bool) {
        let now = self.clock.now();
        self.known.retain(|tool, known| {
            is_offered(tool) || now < *known.gone.get_or_insert(now) + Nanos::from(REFILL_TIME)
        });
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// Returns a clock and the function that sets it forward.
    fn manual_clock() -> (RateClock, impl Fn(Duration)) {
        let now = Arc::new(Mutex::new(Duration::ZERO));
        let clock = RateClock::new({
            let now = Arc::clone(&now);
            move || *now.lock()
        });
        (clock, move |by| *now.lock() += by)
    }

    #[test]
    fn readded_tool_keeps_its_limit() {
        let mut limits = RateLimitRegistry::default();
        let first = limits.get_or_create("a", 2);
        limits.register("a", 2, &first);
        limits.remove_expired(|_| false);
        assert!(Arc::ptr_eq(&first, &limits.get_or_create("a", 2)));
        assert!(
            !Arc::ptr_eq(&first, &limits.get_or_create("a", 3)),
            "a changed rate creates a new limit"
        );
        assert!(!Arc::ptr_eq(&first, &limits.get_or_create("b", 2)));
    }

    #[test]
    fn each_caller_has_its_own_quota() {
        let (clock, advance) = manual_clock();
        let limit = RateLimit::per_minute(2, &clock);
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        assert!(limit.try_acquire(&a).is_ok());
        assert!(limit.try_acquire(&a).is_ok());
        assert_eq!(limit.try_acquire(&a), Err(Duration::from_secs(30)));
        assert!(limit.try_acquire(&b).is_ok());
        advance(Duration::from_secs(20));
        assert_eq!(limit.try_acquire(&a), Err(Duration::from_secs(10)));
        advance(Duration::from_secs(10));
        assert!(limit.try_acquire(&a).is_ok(), "a call that waited as long as it was told to");
        assert!(limit.try_acquire(&a).is_err());
    }

    #[test]
    fn removed_tool_is_forgotten_after_its_quota_has_refilled() {
        let (clock, advance) = manual_clock();
        let mut limits = RateLimitRegistry::with_clock(clock);
        let first = limits.get_or_create("a", 2);
        limits.register("a", 2, &first);
        limits.remove_expired(|_| false);
        advance(REFILL_TIME - Duration::from_millis(1));
        limits.remove_expired(|_| false);
        assert!(Arc::ptr_eq(&first, &limits.get_or_create("a", 2)));
        advance(Duration::from_millis(1));
        limits.remove_expired(|_| false);
        assert!(!Arc::ptr_eq(&first, &limits.get_or_create("a", 2)));
    }
}

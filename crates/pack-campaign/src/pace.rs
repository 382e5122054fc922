//! How fast calls are made just now.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// What counts as now.
const WINDOW: Duration = Duration::from_secs(10);
/// A shorter time says nothing, since workers tell their counts between sequences only.
const MIN_WINDOW: Duration = Duration::from_millis(500);
/// Looks that are remembered; more often than this nobody has to look.
const MAX_LOOKS: usize = 1000;

/// Remembers what each look showed, so that the next one can tell the difference.
pub(crate) struct Pace {
    looks: Mutex<VecDeque<(Instant, u64)>>,
}

impl Pace {
    pub(crate) fn new(calls: u64) -> Self {
        Self { looks: Mutex::new(VecDeque::from([(Instant::now(), calls)])) }
    }

    /// Calls in a second, since the oldest look that is no older than ten seconds or, without one, since the last.
    pub(crate) fn per_second(&self, calls: u64) -> u64 {
        let mut looks = self.looks.lock();
        let now = Instant::now();
        // One look always stays, to compare with.
        while looks.len() > 1 && (now - looks[0].0 > WINDOW || looks.len() >= MAX_LOOKS) {
            looks.pop_front();
        }
        let (then, before) = looks.front().copied().unwrap_or((now, calls));
        looks.push_back((now, calls));
        let passed = (now - then).max(MIN_WINDOW).as_millis();
        u64::try_from(u128::from(calls.saturating_sub(before)) * 1000 / passed).unwrap_or(u64::MAX)
    }
}

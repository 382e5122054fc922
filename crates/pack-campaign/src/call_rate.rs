//! Current rate of calls.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Time span over which the rate is measured.
const WINDOW: Duration = Duration::from_secs(10);
/// Minimum time span. A shorter one is meaningless, because workers report their counts only between sequences.
const MIN_WINDOW: Duration = Duration::from_millis(500);
/// Maximum number of stored samples.
const MAX_SAMPLES: usize = 1000;

/// Stores a sample at each reading, to compute the rate since an earlier one.
pub(crate) struct CallRate {
    samples: Mutex<VecDeque<(Instant, u64)>>,
}

impl CallRate {
    pub(crate) fn new(calls: u64) -> Self {
        Self { samples: Mutex::new(VecDeque::from([(Instant::now(), calls)])) }
    }

    /// Returns calls per second since the oldest sample of the last ten seconds, or else since the last sample.
    pub(crate) fn calls_per_second(&self, calls: u64) -> u64 {
        let mut samples = self.samples.lock();
        let now = Instant::now();
        // Always keeps one sample to compare with.
        while samples.len() > 1 && (now - samples[0].0 > WINDOW || samples.len() >= MAX_SAMPLES) {
            samples.pop_front();
        }
        let (then, before) = samples.front().copied().unwrap_or((now, calls));
        samples.push_back((now, calls));
        let passed = (now - then).max(MIN_WINDOW).as_millis();
        u64::try_from(u128::from(calls.saturating_sub(before)) * 1000 / passed).unwrap_or(u64::MAX)
    }
}

//! Measures the time spent waiting for a user, which does not count against the tool's time limit.
//!
//! Overlapping elicitations count once.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Clock that runs while at least one elicitation is open.
#[derive(Default)]
pub(super) struct WaitClock {
    state: Mutex<WaitClockState>,
}

#[derive(Default)]
struct WaitClockState {
    open: usize,
    since: Option<Instant>,
    earlier: Duration,
}

/// Keeps the clock running for one open elicitation, until dropped.
pub(super) struct WaitGuard<'a> {
    waiting: &'a WaitClock,
}

impl WaitClock {
    pub(super) fn start_wait(&self) -> WaitGuard<'_> {
        let mut state = self.state.lock();
        state.open += 1;
        state.since.get_or_insert_with(Instant::now);
        WaitGuard { waiting: self }
    }

    /// Returns the total time waited.
    pub(super) fn total_wait(&self) -> Duration {
        let state = self.state.lock();
        state.earlier + state.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.waiting.state.lock();
        state.open -= 1;
        if state.open == 0
            && let Some(since) = state.since.take()
        {
            state.earlier += since.elapsed();
        }
    }
}

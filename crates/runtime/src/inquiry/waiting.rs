//! The time that a person takes to answer, which is not the tool's. Questions may be open at the same time.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

#[derive(Default)]
pub(super) struct Waiting {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: usize,
    since: Option<Instant>,
    before: Duration,
}

/// One question that is open. Who gives up asking drops it.
pub(super) struct Open<'a> {
    waiting: &'a Waiting,
}

impl Waiting {
    pub(super) fn begin(&self) -> Open<'_> {
        let mut state = self.state.lock();
        state.open += 1;
        state.since.get_or_insert_with(Instant::now);
        Open { waiting: self }
    }

    pub(super) fn so_far(&self) -> Duration {
        let state = self.state.lock();
        state.before + state.since.map(|since| since.elapsed()).unwrap_or_default()
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let mut state = self.waiting.state.lock();
        state.open -= 1;
        if state.open == 0
            && let Some(since) = state.since.take()
        {
            state.before += since.elapsed();
        }
    }
}

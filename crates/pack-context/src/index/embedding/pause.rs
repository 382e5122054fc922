//! Calls come first: background work waits while one runs.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Background work goes on in spite of calls after this long, so that a busy server is not left without vectors.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct Calls {
    running: Mutex<usize>,
    ended: Condvar,
}

/// A call that runs; dropping it ends it.
pub(crate) struct Running<'a>(&'a Calls);

impl Calls {
    pub(crate) fn begin(&self) -> Running<'_> {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Running(self)
    }

    /// Waits until no call runs, but not for ever.
    pub(crate) fn let_pass(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.ended.wait_timeout_while(running, PATIENCE, |running| *running > 0));
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.ended.notify_all();
    }
}

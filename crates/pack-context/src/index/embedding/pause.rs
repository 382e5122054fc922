//! Calls come first: background work waits while one runs.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

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
        *self.running.lock() += 1;
        Running(self)
    }

    /// Waits until no call runs, but not for ever.
    pub(crate) fn let_pass(&self) {
        self.ended.wait_while_for(&mut self.running.lock(), |running| *running > 0, PATIENCE);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.ended.notify_all();
    }
}

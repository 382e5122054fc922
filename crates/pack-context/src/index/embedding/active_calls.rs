//! Gives calls priority: background work pauses while a call is active.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Maximum pause of background work, so that a busy server still gets its vectors.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Number of active calls.
#[derive(Default)]
pub(crate) struct ActiveCalls {
    count: Mutex<usize>,
    ended: Condvar,
}

/// An active call; dropping it ends the call.
pub(crate) struct ActiveCallGuard<'a>(&'a ActiveCalls);

impl ActiveCalls {
    pub(crate) fn begin_call(&self) -> ActiveCallGuard<'_> {
        *self.count.lock() += 1;
        ActiveCallGuard(self)
    }

    /// Blocks until no call is active, up to a time limit.
    pub(crate) fn wait_until_idle(&self) {
        self.ended.wait_while_for(&mut self.count.lock(), |count| *count > 0, MAX_PAUSE);
    }
}

impl Drop for ActiveCallGuard<'_> {
    fn drop(&mut self) {
        *self.0.count.lock() -= 1;
        self.0.ended.notify_all();
    }
}

//! Background threads of an index: started once, and stopped with it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Maximum wait for the threads to stop. A thread that is blocked in a request to an endpoint is abandoned. That is
/// safe, because its writes to the cache are transactions.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The background threads of an index.
#[derive(Default)]
pub(crate) struct BackgroundThreads {
    shared: Arc<ThreadControl>,
}

#[derive(Default)]
struct ThreadControl {
    state: Mutex<ThreadControlState>,
    changed: Condvar,
}

#[derive(Default)]
struct ThreadControlState {
    started: bool,
    running: usize,
    stopping: bool,
}

/// Signals a thread to stop.
#[derive(Clone)]
pub(crate) struct StopSignal(Arc<ThreadControl>);

impl BackgroundThreads {
    /// Marks the threads as started; returns true on the first call only.
    pub(crate) fn mark_started(&self) -> bool {
        let mut state = self.shared.state.lock();
        !std::mem::replace(&mut state.started, true)
    }

    /// Starts a thread. If that fails, logs an error and continues without it.
    pub(crate) fn spawn_thread(&self, name: &str, work: impl FnOnce(StopSignal) + Send + 'static) {
        self.shared.state.lock().running += 1;
        let stop = StopSignal(Arc::clone(&self.shared));
        let exit_guard = ThreadExitGuard(Arc::clone(&self.shared));
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _exit_guard = exit_guard;
            work(stop);
        });
        if let Err(error) = spawned {
            tracing::error!(%error, name, "failed to start background thread; calls do its work");
        }
    }

    /// Signals the threads to stop, and waits for them up to a time limit.
    pub(crate) fn stop_and_wait(&self) {
        let mut state = self.shared.state.lock();
        state.stopping = true;
        self.shared.changed.notify_all();
        self.shared.changed.wait_while_for(&mut state, |state| state.running > 0, STOP_TIMEOUT);
    }
}

impl StopSignal {
    pub(crate) fn is_stopping(&self) -> bool {
        self.0.state.lock().stopping
    }

    /// Sleeps for `time`; returns false as soon as the thread should stop.
    pub(crate) fn sleep_unless_stopped(&self, time: Duration) -> bool {
        let mut state = self.0.state.lock();
        self.0.changed.wait_while_for(&mut state, |state| !state.stopping, time);
        !state.stopping
    }
}

/// Lowers the scheduling priority of this thread and the threads that it starts.
pub(crate) fn lower_thread_priority() {
    // On other systems, the call affects the whole process.
    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    if let Err(error) = rustix::process::nice(10) {
        tracing::debug!(%error, "failed to lower thread priority");
    }
}

/// Decrements the number of running threads when a thread exits, even by a panic.
struct ThreadExitGuard(Arc<ThreadControl>);

impl Drop for ThreadExitGuard {
    fn drop(&mut self) {
        self.0.state.lock().running -= 1;
        self.0.changed.notify_all();
    }
}

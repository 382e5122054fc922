//! The threads of an index: begun once, ended with it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How long the end waits for the threads. One that sits in a request to an endpoint is left behind: whatever it still
/// does is a whole transaction of the cache or nothing.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct Threads {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
}

#[derive(Default)]
struct Inner {
    begun: bool,
    running: usize,
    stopping: bool,
}

/// What a thread knows of its end.
#[derive(Clone)]
pub(crate) struct Stop(Arc<Shared>);

impl Threads {
    /// True for the first who asks.
    pub(crate) fn begin(&self) -> bool {
        let mut inner = self.shared.inner.lock();
        !std::mem::replace(&mut inner.begun, true)
    }

    pub(crate) fn spawn(&self, name: &str, work: impl FnOnce(Stop) + Send + 'static) {
        self.shared.inner.lock().running += 1;
        let stop = Stop(Arc::clone(&self.shared));
        let ended = Ended(Arc::clone(&self.shared));
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _ended = ended;
            work(stop);
        });
        if let Err(error) = spawned {
            tracing::error!(%error, name, "a thread could not be started: the index is built by calls alone");
        }
    }

    /// Tells the threads to end, and waits for them a while.
    pub(crate) fn end(&self) {
        let mut inner = self.shared.inner.lock();
        inner.stopping = true;
        self.shared.changed.notify_all();
        self.shared.changed.wait_while_for(&mut inner, |inner| inner.running > 0, PATIENCE);
    }
}

impl Stop {
    pub(crate) fn now(&self) -> bool {
        self.0.inner.lock().stopping
    }

    /// Waits; false once it is time to end.
    pub(crate) fn rest(&self, time: Duration) -> bool {
        let mut inner = self.0.inner.lock();
        self.0.changed.wait_while_for(&mut inner, |inner| !inner.stopping, time);
        !inner.stopping
    }
}

/// Lets everything else on the machine go before this thread and those that it starts.
pub(crate) fn make_way() {
    // Elsewhere the call is about the whole process.
    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    if let Err(error) = rustix::process::nice(10) {
        tracing::debug!(%error, "background work runs at the same priority as calls");
    }
}

/// Counts a thread out, however it ends.
struct Ended(Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.inner.lock().running -= 1;
        self.0.changed.notify_all();
    }
}

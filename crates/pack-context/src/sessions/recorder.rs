//! Writes session events to the store in batches, on its own thread.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use store::context::SessionEvent;

use super::LazyContextStore;

/// Queue capacity, far more than arrives while one batch is written.
///
/// Events that do not fit are dropped, so that a call never waits.
const QUEUE_CAPACITY: usize = 4_096;
/// Time to wait for more events: one transaction per event would cost more than the recorded call.
const BATCH_WINDOW: Duration = Duration::from_millis(200);
const MAX_BATCH_EVENTS: usize = 512;

enum RecorderJob {
    Record(SessionEvent),
    /// Signals the sender once all earlier events are written.
    Flush(SyncSender<()>),
}

/// Queues session events for writing. Dropping it flushes the queue.
pub(super) struct SessionRecorder {
    store: Arc<LazyContextStore>,
    running: OnceLock<RecorderThread>,
}

/// The running writer thread.
struct RecorderThread {
    jobs: SyncSender<RecorderJob>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl SessionRecorder {
    pub(super) fn new(store: Arc<LazyContextStore>) -> Self {
        Self { store, running: OnceLock::new() }
    }

    /// Queues an event; drops it if the queue is full.
    pub(super) fn record_event(&self, event: SessionEvent) {
        let running = self.running.get_or_init(|| RecorderThread::start(Arc::clone(&self.store)));
        match running.jobs.try_send(RecorderJob::Record(event)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                tracing::debug!("dropped session event: queue full")
            }
            Err(TrySendError::Disconnected(_)) => {
                tracing::debug!("dropped session event: no recorder thread");
            }
        }
    }

    /// Waits until all queued events are written.
    pub(super) fn flush(&self) {
        let Some(running) = self.running.get() else { return };
        let (done, wait) = mpsc::sync_channel(1);
        if running.jobs.send(RecorderJob::Flush(done)).is_ok() {
            // An error means that the thread has ended and has written its events.
            let _ = wait.recv();
        }
    }
}

impl RecorderThread {
    fn start(store: Arc<LazyContextStore>) -> Self {
        let (jobs, queue) = mpsc::sync_channel(QUEUE_CAPACITY);
        let thread = thread::Builder::new()
            .name("vouch-sessions".into())
            .spawn(move || run_recorder(&store, &queue))
            .inspect_err(
                |error| tracing::warn!(%error, "failed to start the session recorder thread"),
            )
            .ok();
        Self { jobs, thread: Mutex::new(thread) }
    }
}

impl Drop for SessionRecorder {
    fn drop(&mut self) {
        if let Some(RecorderThread { jobs, thread }) = self.running.take() {
            drop(jobs);
            if let Some(thread) = thread.lock().take() {
                // A panic of the thread was already reported.
                let _ = thread.join();
            }
        }
    }
}

/// Collects events into batches and writes them until the queue is closed.
fn run_recorder(store: &LazyContextStore, queue: &Receiver<RecorderJob>) {
    while let Ok(first) = queue.recv() {
        let deadline = Instant::now() + BATCH_WINDOW;
        let mut events = Vec::new();
        let mut waiting = Vec::new();
        let mut next = Ok(first);
        loop {
            match next {
                Ok(RecorderJob::Record(event)) => events.push(event),
                Ok(RecorderJob::Flush(done)) => waiting.push(done),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
            if events.len() >= MAX_BATCH_EVENTS || !waiting.is_empty() {
                break;
            }
            next = queue.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        }
        if !events.is_empty() {
            store.with_store(|store| store.record_events(&events));
        }
        for done in waiting {
            // The waiting caller may be gone.
            let _ = done.send(());
        }
    }
}

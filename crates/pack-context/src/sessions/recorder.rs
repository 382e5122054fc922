//! The thread that writes events to the store, many at a time.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use store::context::Event;

use super::Kept;

/// Far more than come in while one batch is written. What does not fit is forgotten: a call never waits for it.
const QUEUE: usize = 4_096;
/// How long an event waits for company: a transaction for each would cost more than the call it records.
const PATIENCE: Duration = Duration::from_millis(200);
const BATCH: usize = 512;

enum Job {
    Record(Event),
    /// Answers once everything before it is written.
    Flush(SyncSender<()>),
}

/// Dropping it writes what is still in the queue.
pub(super) struct Recorder {
    kept: Arc<Kept>,
    running: OnceLock<Running>,
}

struct Running {
    jobs: SyncSender<Job>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Recorder {
    pub(super) fn new(kept: Arc<Kept>) -> Self {
        Self { kept, running: OnceLock::new() }
    }

    pub(super) fn record(&self, event: Event) {
        let running = self.running.get_or_init(|| Running::start(Arc::clone(&self.kept)));
        match running.jobs.try_send(Job::Record(event)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                tracing::debug!("an event was not recorded: too many wait")
            }
            Err(TrySendError::Disconnected(_)) => {
                tracing::debug!("an event was not recorded: there is no thread for it");
            }
        }
    }

    pub(super) fn flush(&self) {
        let Some(running) = self.running.get() else { return };
        let (done, wait) = mpsc::sync_channel(1);
        if running.jobs.send(Job::Flush(done)).is_ok() {
            // An error means that the thread is gone, and all it had is written.
            let _ = wait.recv();
        }
    }
}

impl Running {
    fn start(kept: Arc<Kept>) -> Self {
        let (jobs, queue) = mpsc::sync_channel(QUEUE);
        let thread = thread::Builder::new()
            .name("vouch-sessions".into())
            .spawn(move || run(&kept, &queue))
            .inspect_err(|error| tracing::warn!(%error, "sessions are not recorded: no thread"))
            .ok();
        Self { jobs, thread: Mutex::new(thread) }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(Running { jobs, thread }) = self.running.take() {
            drop(jobs);
            if let Some(thread) = thread.lock().take() {
                // A panic in there was reported when it happened.
                let _ = thread.join();
            }
        }
    }
}

fn run(kept: &Kept, queue: &Receiver<Job>) {
    while let Ok(first) = queue.recv() {
        let deadline = Instant::now() + PATIENCE;
        let mut events = Vec::new();
        let mut waiting = Vec::new();
        let mut next = Ok(first);
        loop {
            match next {
                Ok(Job::Record(event)) => events.push(event),
                Ok(Job::Flush(done)) => waiting.push(done),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
            if events.len() >= BATCH || !waiting.is_empty() {
                break;
            }
            next = queue.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        }
        if !events.is_empty() {
            kept.tell(|store| store.record(&events));
        }
        for done in waiting {
            // Who asked may have gone away.
            let _ = done.send(());
        }
    }
}

//! [`AuditLog`]: a queue with little cost for the caller, and the thread that writes its records to the log.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::log_file::LogFile;
use super::record::{AuditCall, AuditEntry, AuditLogEvent};
use crate::{IoError, StoreError};

/// Time that the writer collects records into a batch. It limits a busy server to 200 locks and writes per second.
const BATCH_DELAY: Duration = Duration::from_millis(5);

/// Pause before the writer retries after a failure.
const RETRY_DELAY: Duration = Duration::from_millis(250);

/// Maximum records buffered while the log cannot be written: about 30 MB at half a kilobyte each.
const QUEUE_LIMIT: usize = 65_536;

/// Maximum records in one write, to bound its memory.
const BATCH_LIMIT: usize = 4_096;

/// Appends records to the audit log. Dropping it writes all queued records first.
pub struct AuditLog {
    shared: Arc<SharedQueue>,
    thread: Option<JoinHandle<()>>,
}

impl AuditLog {
    /// Opens the log, repairs the traces of a crash, and starts the writer thread. This blocks briefly.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let file = LogFile::open(path)?;
        let shared = Arc::new(SharedQueue {
            queue: Mutex::default(),
            wake: Condvar::new(),
            healthy: AtomicBool::new(true),
        });
        let writer = AuditWriter { shared: shared.clone(), file };
        let thread = thread::Builder::new()
            .name("vouch-audit".into())
            .spawn(move || writer.run())
            .map_err(|source| IoError::new("start audit writer thread for", path, source))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Queues a record, which is written to the file a few milliseconds later.
    pub fn append(&self, record: AuditCall) {
        self.shared.push_item(QueueItem { entry: Some(AuditEntry::Call(record)), ack: None });
    }

    /// Queues a record and waits until it is on disk. Errors if the write fails; the record then stays queued.
    pub async fn append_durable(&self, record: AuditCall) -> Result<(), StoreError> {
        self.push_and_wait(Some(AuditEntry::Call(record))).await
    }

    /// Waits until all records queued before the call are on disk.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.push_and_wait(None).await
    }

    /// Returns true if the last write succeeded.
    pub fn is_healthy(&self) -> bool {
        self.shared.healthy.load(Ordering::Relaxed)
    }

    /// Returns the number of records that are not in the file yet.
    pub fn pending_count(&self) -> usize {
        let queue = self.shared.queue.lock();
        queue.items.len() + queue.in_flight
    }

    async fn push_and_wait(&self, entry: Option<AuditEntry>) -> Result<(), StoreError> {
        let (ack, acknowledged) = oneshot::channel();
        self.shared.push_item(QueueItem { entry, ack: Some(ack) });
        match acknowledged.await {
            Ok(result) => result.map_err(StoreError::from),
            Err(_) => Err(StoreError::AuditRecordDropped),
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already reported by the panic hook.
            let _ = thread.join();
        }
    }
}

/// State shared by [`AuditLog`] and its writer thread.
struct SharedQueue {
    queue: Mutex<RecordQueue>,
    wake: Condvar,
    healthy: AtomicBool,
}

#[derive(Default)]
struct RecordQueue {
    items: VecDeque<QueueItem>,
    /// Number of records dropped from the front since the last successful write.
    lost: u64,
    in_flight: usize,
    /// True if a caller waits for an acknowledgement, so the batch is written at once.
    urgent: bool,
    closed: bool,
}

struct QueueItem {
    /// `None` if only the acknowledgement of earlier records is requested.
    entry: Option<AuditEntry>,
    ack: Option<oneshot::Sender<Result<(), IoError>>>,
}

impl SharedQueue {
    fn push_item(&self, item: QueueItem) {
        let mut queue = self.queue.lock();
        // Waking costs a system call. It is needed only if the queue was empty, because the writer otherwise wakes by
        // a timeout.
        let wake = queue.items.is_empty() || item.ack.is_some();
        queue.urgent |= item.ack.is_some();
        let grows = item.entry.is_some();
        queue.items.push_back(item);
        if grows {
            queue.drop_oldest();
        }
        drop(queue);
        if wake {
            self.wake.notify_one();
        }
    }
}

impl RecordQueue {
    /// Drops the oldest records above the limit and counts them as lost.
    fn drop_oldest(&mut self) {
        while self.items.len() > QUEUE_LIMIT {
            let dropped = self.items.pop_front();
            self.lost += u64::from(dropped.is_some_and(|item| item.entry.is_some()));
        }
    }
}

struct RecordBatch {
    items: Vec<QueueItem>,
    lost: u64,
}

struct AuditWriter {
    shared: Arc<SharedQueue>,
    file: LogFile,
}

impl AuditWriter {
    fn run(mut self) {
        while let Some(mut batch) = self.next_batch() {
            match self.write_batch(&batch) {
                Ok(()) => {
                    self.report_recovery();
                    self.shared.queue.lock().in_flight = 0;
                    self.acknowledge_batch(&mut batch);
                }
                Err(error) => {
                    self.report_failure(&error);
                    if !self.requeue_batch(batch, &error) {
                        return;
                    }
                }
            }
        }
    }

    /// Waits for the next batch. Returns `None` when the log is closed and the queue is empty.
    fn next_batch(&self) -> Option<RecordBatch> {
        let SharedQueue { wake, .. } = &*self.shared;
        let mut queue = self.shared.queue.lock();
        wake.wait_while(&mut queue, |queue| queue.items.is_empty() && !queue.closed);
        let gathering = |queue: &mut RecordQueue| {
            !queue.urgent && !queue.closed && queue.items.len() < BATCH_LIMIT
        };
        wake.wait_while_for(&mut queue, gathering, BATCH_DELAY);
        let size = queue.items.len().min(BATCH_LIMIT);
        if size == 0 {
            return None;
        }
        let items = queue.items.drain(..size).collect();
        queue.in_flight = size;
        queue.urgent &= !queue.items.is_empty();
        Some(RecordBatch { items, lost: std::mem::take(&mut queue.lost) })
    }

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), IoError> {
        let lost = (batch.lost > 0)
            .then(|| AuditEntry::event_now(AuditLogEvent::Lost { records: batch.lost }));
        let entries = batch.items.iter().filter_map(|item| item.entry.as_ref());
        self.file.append(lost.iter().chain(entries))
    }

    /// Syncs the log if a caller waits for an acknowledgement, and sends the result to all that do.
    fn acknowledge_batch(&self, batch: &mut RecordBatch) {
        let mut waiting = batch.items.iter_mut().filter_map(|item| item.ack.take()).peekable();
        if waiting.peek().is_none() {
            return;
        }
        let result = self.file.sync();
        for ack in waiting {
            // The caller may have stopped waiting.
            let _ = ack.send(result.clone());
        }
    }

    /// Puts the records back into the queue, reports the error to all waiting callers, and pauses before the retry.
    /// Returns false if the log is closed, because then there is no retry.
    fn requeue_batch(&self, batch: RecordBatch, error: &IoError) -> bool {
        let mut queue = self.shared.queue.lock();
        queue.in_flight = 0;
        queue.lost += batch.lost;
        for item in batch.items.into_iter().rev() {
            queue.items.push_front(item);
        }
        for item in &mut queue.items {
            if let Some(ack) = item.ack.take() {
                let _ = ack.send(Err(error.clone()));
            }
        }
        queue.items.retain(|item| item.entry.is_some());
        queue.urgent = false;
        queue.drop_oldest();
        if queue.closed {
            let records = queue.items.len() as u64 + queue.lost;
            tracing::error!(records, "audit records lost: failed to write the log at shutdown");
            return false;
        }
        let waiting = |queue: &mut RecordQueue| !queue.closed && !queue.urgent;
        self.shared.wake.wait_while_for(&mut queue, waiting, RETRY_DELAY);
        true
    }

    fn report_failure(&self, error: &IoError) {
        if self.shared.healthy.swap(false, Ordering::Relaxed) {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(%error, cause, "failed to write audit log; records are buffered in memory");
        }
    }

    fn report_recovery(&self) {
        if !self.shared.healthy.swap(true, Ordering::Relaxed) {
            tracing::info!("audit log is writable again");
        }
    }
}

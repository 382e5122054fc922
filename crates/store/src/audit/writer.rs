//! [`AuditLog`]: a queue with little cost for the caller, and the thread that writes its records to the log.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};
use tokio::sync::oneshot;

use super::key::ChainKey;
use super::log_file::LogFile;
use super::options::AuditOptions;
use super::record::{AuditCall, AuditEntry, AuditIntent, AuditLogEvent};
use crate::{IoError, StoreError, random};

/// Time that the writer collects records into a batch. A batch takes a lock and a dozen system calls, so this limits a busy
/// server to 40 of them per second; with 5 ms they took 8 % of the processor time of a gateway with one client.
const BATCH_DELAY: Duration = Duration::from_millis(25);

/// Pause before the writer retries after a failure.
const RETRY_DELAY: Duration = Duration::from_millis(250);

/// Time after which written lines are synced, and the heads that protect them against removal.
const HEAD_DELAY: Duration = Duration::from_secs(1);

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
    pub fn open(path: impl AsRef<Path>, options: &AuditOptions) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let file = LogFile::open(path, options)?;
        let shared = Arc::new(SharedQueue {
            queue: Mutex::default(),
            wake: Condvar::new(),
            healthy: AtomicBool::new(true),
            written: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            key: RwLock::new(file.current_key().clone()),
        });
        let writer = AuditWriter { shared: shared.clone(), file, unsynced_since: None };
        let thread = thread::Builder::new()
            .name("vouch-audit".into())
            .spawn(move || writer.run())
            .map_err(|source| IoError::new("start audit writer thread for", path, source))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Queues a record, which is written to the file within some 25 milliseconds.
    pub fn append(&self, record: AuditCall) {
        self.shared.push_item(QueueItem::new(Some(AuditEntry::Call(record)), None));
    }

    /// Queues a record and waits until it is on disk. Errors if the write or sync fails; the record is then written later, and
    /// the log is not healthy until that succeeds.
    pub async fn append_durable(&self, record: AuditCall) -> Result<(), StoreError> {
        self.push_and_wait(Some(AuditEntry::Call(record))).await
    }

    /// Queues the intent of a call and waits until it is on disk. Errors if the write fails; the intent is then dropped,
    /// because the call must not run.
    pub async fn append_intent(&self, intent: AuditIntent) -> Result<(), StoreError> {
        self.push_and_wait(Some(AuditEntry::Intent(intent))).await
    }

    /// Returns a new id for an intent and its outcome.
    pub fn new_call_id(&self) -> Result<String, StoreError> {
        random::generate_id()
    }

    /// Returns the keyed form of a digest of arguments. A guess of the arguments cannot be checked against it.
    pub fn blind_digest(&self, digest: &str) -> String {
        self.shared.key.read().blind_digest(digest)
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

    /// Returns the counts of this log, for metrics.
    pub fn counts(&self) -> AuditCounts {
        AuditCounts { shared: Arc::clone(&self.shared) }
    }

    async fn push_and_wait(&self, entry: Option<AuditEntry>) -> Result<(), StoreError> {
        let (ack, acknowledged) = oneshot::channel();
        self.shared.push_item(QueueItem::new(entry, Some(ack)));
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

/// What this process has written to its audit log. It stays readable after the log is closed.
#[derive(Clone)]
pub struct AuditCounts {
    shared: Arc<SharedQueue>,
}

impl AuditCounts {
    /// Returns the number of records that were written, without events about the log itself.
    pub fn records(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed)
    }

    /// Returns how often a write or a sync failed.
    pub fn failures(&self) -> u64 {
        self.shared.failures.load(Ordering::Relaxed)
    }

    /// Returns the number of records that wait in memory.
    pub fn pending(&self) -> u64 {
        let queue = self.shared.queue.lock();
        (queue.items.len() + queue.in_flight) as u64
    }

    /// Returns the number of records that were dropped because too many waited.
    pub fn dropped(&self) -> u64 {
        self.shared.queue.lock().dropped
    }
}

/// State shared by [`AuditLog`] and its writer thread.
struct SharedQueue {
    queue: Mutex<RecordQueue>,
    wake: Condvar,
    healthy: AtomicBool,
    /// Number of records that were written.
    written: AtomicU64,
    /// Number of writes and syncs that failed.
    failures: AtomicU64,
    /// The current key, for digests of arguments.
    key: RwLock<ChainKey>,
}

#[derive(Default)]
struct RecordQueue {
    items: VecDeque<QueueItem>,
    /// Number of records dropped from the front since the last successful write.
    lost: u64,
    /// Number of records dropped since the start.
    dropped: u64,
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

impl QueueItem {
    fn new(entry: Option<AuditEntry>, ack: Option<oneshot::Sender<Result<(), IoError>>>) -> Self {
        Self { entry, ack }
    }

    /// Returns true if the record is written later if it cannot be written now.
    fn is_retried(&self) -> bool {
        matches!(self.entry, Some(AuditEntry::Call(_) | AuditEntry::Event { .. }))
    }
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
            let count = u64::from(dropped.is_some_and(|item| item.entry.is_some()));
            self.lost += count;
            self.dropped += count;
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
    /// Time of the first write after the last sync of the heads.
    unsynced_since: Option<Instant>,
}

/// What the writer does next.
enum WriterStep {
    Write(RecordBatch),
    SyncHeads,
    Stop,
}

impl AuditWriter {
    fn run(mut self) {
        loop {
            match self.next_step() {
                WriterStep::Write(batch) => {
                    if !self.process_batch(batch) {
                        return;
                    }
                }
                WriterStep::SyncHeads => self.sync_heads(),
                WriterStep::Stop => {
                    if self.unsynced_since.is_some() {
                        self.sync_heads();
                    }
                    return;
                }
            }
            if self.unsynced_since.is_some_and(|since| since.elapsed() >= HEAD_DELAY) {
                self.sync_heads();
            }
        }
    }

    /// Writes a batch. Returns false if it failed and the log is closed, because then there is no retry.
    fn process_batch(&mut self, mut batch: RecordBatch) -> bool {
        match self.write_batch(&batch) {
            Ok(()) => {
                self.unsynced_since.get_or_insert_with(Instant::now);
                self.shared.queue.lock().in_flight = 0;
                let records = batch.items.iter().filter(|item| item.entry.is_some()).count();
                self.shared.written.fetch_add(records as u64, Ordering::Relaxed);
                self.adopt_key();
                self.acknowledge_batch(&mut batch);
                true
            }
            Err(error) => {
                self.report_failure(&error);
                self.requeue_batch(batch, &error)
            }
        }
    }

    /// Syncs the lines and heads. A failure is retried after the same delay.
    fn sync_heads(&mut self) {
        match self.file.sync_heads() {
            Ok(()) => {
                self.unsynced_since = None;
                self.report_recovery();
            }
            Err(error) => {
                self.unsynced_since = Some(Instant::now());
                self.report_failure(&error);
            }
        }
    }

    /// Uses the key of the log for digests of arguments, after another process changed it.
    fn adopt_key(&self) {
        let key = self.file.current_key();
        if self.shared.key.read().id != key.id {
            *self.shared.key.write() = key.clone();
        }
    }

    /// Waits for the next batch, or until the heads must be synced.
    fn next_step(&self) -> WriterStep {
        let SharedQueue { wake, .. } = &*self.shared;
        let mut queue = self.shared.queue.lock();
        let idle = |queue: &mut RecordQueue| queue.items.is_empty() && !queue.closed;
        match self.unsynced_since {
            Some(since) => {
                wake.wait_while_until(&mut queue, idle, since + HEAD_DELAY);
                if idle(&mut queue) {
                    return WriterStep::SyncHeads;
                }
            }
            None => wake.wait_while(&mut queue, idle),
        }
        let gathering = |queue: &mut RecordQueue| {
            !queue.urgent && !queue.closed && queue.items.len() < BATCH_LIMIT
        };
        wake.wait_while_for(&mut queue, gathering, BATCH_DELAY);
        let size = queue.items.len().min(BATCH_LIMIT);
        if size == 0 {
            return WriterStep::Stop;
        }
        let items = queue.items.drain(..size).collect();
        queue.in_flight = size;
        queue.urgent &= !queue.items.is_empty();
        WriterStep::Write(RecordBatch { items, lost: std::mem::take(&mut queue.lost) })
    }

    fn write_batch(&mut self, batch: &RecordBatch) -> Result<(), IoError> {
        let lost = (batch.lost > 0)
            .then(|| AuditEntry::event_now(AuditLogEvent::Lost { records: batch.lost }));
        let entries = batch.items.iter().filter_map(|item| item.entry.as_ref());
        self.file.append(lost.iter().chain(entries))
    }

    /// Syncs the log if a caller waits for an acknowledgement, and sends the result to all that do.
    fn acknowledge_batch(&mut self, batch: &mut RecordBatch) {
        let mut waiting = batch.items.iter_mut().filter_map(|item| item.ack.take()).peekable();
        let result = if waiting.peek().is_some() { self.file.sync() } else { Ok(()) };
        match &result {
            Ok(()) => self.report_recovery(),
            Err(error) => self.report_failure(error),
        }
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
        queue.items.retain(QueueItem::is_retried);
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
        self.shared.failures.fetch_add(1, Ordering::Relaxed);
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

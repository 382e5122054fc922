//! [`AuditLog`]: a queue that costs its caller next to nothing, and the one thread that writes it out.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;

use super::file::LogFile;
use super::record::{Entry, Event, Record};
use crate::{IoError, StoreError};

/// How long the writer lets records gather. A busy server then locks and writes 200 times a second, not for each call.
const GATHER: Duration = Duration::from_millis(5);

/// How long the writer waits before it tries again after a failure.
const RETRY: Duration = Duration::from_millis(250);

/// What waits while the disk is full; at half a kilobyte each this is some 30 MB.
const QUEUE_LIMIT: usize = 65_536;

/// Bounds the memory of one write.
const BATCH_LIMIT: usize = 4_096;

/// Appends to the audit log. Dropping it writes everything out first.
pub struct AuditLog {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl AuditLog {
    /// Opens the log, repairs what a crash has left, and starts the writer. This blocks for a moment.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let file = LogFile::open(path)?;
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            healthy: AtomicBool::new(true),
        });
        let writer = Writer { shared: shared.clone(), file };
        let thread = thread::Builder::new()
            .name("vouch-audit".into())
            .spawn(move || writer.run())
            .map_err(|source| IoError::new("start the writer of", path, source))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Queues a record. It is in the file some milliseconds later.
    pub fn append(&self, record: Record) {
        self.shared.push(Item { entry: Some(Entry::Call(record)), ack: None });
    }

    /// Resolves when the record is on disk. An error means that it is not yet: it stays queued all the same.
    pub async fn append_durable(&self, record: Record) -> Result<(), StoreError> {
        self.wait(Some(Entry::Call(record))).await
    }

    /// Resolves when everything that was queued before is on disk.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.wait(None).await
    }

    /// Whether the last attempt to write succeeded.
    pub fn is_healthy(&self) -> bool {
        self.shared.healthy.load(Ordering::Relaxed)
    }

    /// How many records are not in the file yet.
    pub fn pending(&self) -> usize {
        let queue = self.shared.queue.lock();
        queue.items.len() + queue.in_flight
    }

    async fn wait(&self, entry: Option<Entry>) -> Result<(), StoreError> {
        let (ack, acknowledged) = oneshot::channel();
        self.shared.push(Item { entry, ack: Some(ack) });
        match acknowledged.await {
            Ok(result) => result.map_err(StoreError::from),
            Err(_) => Err(StoreError::RecordLost),
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.shared.queue.lock().closed = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic in there was reported when it happened.
            let _ = thread.join();
        }
    }
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    healthy: AtomicBool,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    /// Dropped from the front since the last line was written.
    lost: u64,
    in_flight: usize,
    /// Someone waits for an acknowledgement.
    urgent: bool,
    closed: bool,
}

struct Item {
    /// `None`: only the acknowledgement of what came before is wanted.
    entry: Option<Entry>,
    ack: Option<oneshot::Sender<Result<(), IoError>>>,
}

impl Shared {
    fn push(&self, item: Item) {
        let mut queue = self.queue.lock();
        // The writer sleeps without a limit only while the queue is empty; waking it costs a system call.
        let wake = queue.items.is_empty() || item.ack.is_some();
        queue.urgent |= item.ack.is_some();
        let grows = item.entry.is_some();
        queue.items.push_back(item);
        if grows {
            queue.trim();
        }
        drop(queue);
        if wake {
            self.wake.notify_one();
        }
    }
}

impl Queue {
    fn trim(&mut self) {
        while self.items.len() > QUEUE_LIMIT {
            let dropped = self.items.pop_front();
            self.lost += u64::from(dropped.is_some_and(|item| item.entry.is_some()));
        }
    }
}

struct Batch {
    items: Vec<Item>,
    lost: u64,
}

struct Writer {
    shared: Arc<Shared>,
    file: LogFile,
}

impl Writer {
    fn run(mut self) {
        while let Some(mut batch) = self.next_batch() {
            match self.write(&batch) {
                Ok(()) => {
                    self.recovered();
                    self.shared.queue.lock().in_flight = 0;
                    self.acknowledge(&mut batch);
                }
                Err(error) => {
                    self.failed(&error);
                    if !self.put_back(batch, &error) {
                        return;
                    }
                }
            }
        }
    }

    /// Sleeps until there is something to write. `None` when the log is closed and all is written.
    fn next_batch(&self) -> Option<Batch> {
        let Shared { wake, .. } = &*self.shared;
        let mut queue = self.shared.queue.lock();
        wake.wait_while(&mut queue, |queue| queue.items.is_empty() && !queue.closed);
        let gathering =
            |queue: &mut Queue| !queue.urgent && !queue.closed && queue.items.len() < BATCH_LIMIT;
        wake.wait_while_for(&mut queue, gathering, GATHER);
        let size = queue.items.len().min(BATCH_LIMIT);
        if size == 0 {
            return None;
        }
        let items = queue.items.drain(..size).collect();
        queue.in_flight = size;
        queue.urgent &= !queue.items.is_empty();
        Some(Batch { items, lost: std::mem::take(&mut queue.lost) })
    }

    fn write(&mut self, batch: &Batch) -> Result<(), IoError> {
        let lost = (batch.lost > 0).then(|| Entry::now(Event::Lost { records: batch.lost }));
        let entries = batch.items.iter().filter_map(|item| item.entry.as_ref());
        self.file.append(lost.iter().chain(entries))
    }

    fn acknowledge(&self, batch: &mut Batch) {
        let mut waiting = batch.items.iter_mut().filter_map(|item| item.ack.take()).peekable();
        if waiting.peek().is_none() {
            return;
        }
        let result = self.file.sync();
        for ack in waiting {
            // Who no longer waits does not mind.
            let _ = ack.send(result.clone());
        }
    }

    /// Keeps the records, tells all who wait that they are not written, and pauses. False when the log is closed: then
    /// there is no later.
    fn put_back(&self, batch: Batch, error: &IoError) -> bool {
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
        queue.trim();
        if queue.closed {
            let records = queue.items.len() as u64 + queue.lost;
            tracing::error!(
                records,
                "audit records are lost: the log could not be written at the end"
            );
            return false;
        }
        let waiting = |queue: &mut Queue| !queue.closed && !queue.urgent;
        self.shared.wake.wait_while_for(&mut queue, waiting, RETRY);
        true
    }

    fn failed(&self, error: &IoError) {
        if self.shared.healthy.swap(false, Ordering::Relaxed) {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(%error, cause, "the audit log cannot be written; records wait in memory");
        }
    }

    fn recovered(&self) {
        if !self.shared.healthy.swap(true, Ordering::Relaxed) {
            tracing::info!("the audit log is written again");
        }
    }
}

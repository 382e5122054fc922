//! The queue of the writer: what is pending, what is dropped, and when a log is healthy.

use std::fs::{self, File};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use disk::simulated::{DiskFault, OperationKind, SimulatedDisk};
use disk::{Disk, SystemDisk};
use store::StoreError;
use store::audit::{self, AuditLog, AuditOptions, VerificationFindingKind};
use tempfile::TempDir;

use crate::audit::{
    audit_options, call_record, intent_record, messages, open_log, verify, write_log,
};

/// Longest time to wait for a condition.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LIMIT, "{what} did not happen");
        std::thread::yield_now();
    }
}

/// A disk whose writes and syncs fail or wait while the test wants it.
#[derive(Debug, Default)]
struct GatedDisk {
    gate: Mutex<Gate>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Gate {
    is_closed: bool,
    /// True if a write waits at the closed gate.
    has_arrived: bool,
}

impl GatedDisk {
    fn close(&self) {
        *self.gate.lock().unwrap() = Gate { is_closed: true, has_arrived: false };
    }

    fn open(&self) {
        self.gate.lock().unwrap().is_closed = false;
        self.changed.notify_all();
    }

    fn wait_for_arrival(&self) {
        let gate = self.gate.lock().unwrap();
        let wait = self.changed.wait_timeout_while(gate, LIMIT, |gate| !gate.has_arrived);
        assert!(!wait.unwrap().1.timed_out(), "no write came");
    }

    fn pass(&self) {
        let mut gate = self.gate.lock().unwrap();
        gate.has_arrived = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(gate, |gate| gate.is_closed).unwrap());
    }
}

impl Disk for GatedDisk {
    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        self.pass();
        SystemDisk.write(file, bytes)
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.pass();
        SystemDisk.write_at(file, bytes, offset)
    }

    fn set_len(&self, file: &File, length: u64) -> io::Result<()> {
        SystemDisk.set_len(file, length)
    }

    fn sync_data(&self, _: &File) -> io::Result<()> {
        Ok(())
    }

    fn sync_all(&self, _: &File) -> io::Result<()> {
        Ok(())
    }

    fn sync_folder(&self, _: BorrowedFd<'_>) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemDisk.rename(from, to)
    }

    fn rename_noclobber(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemDisk.rename_noclobber(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        SystemDisk.remove_file(path)
    }
}

fn open_gated(temp: &TempDir) -> (Arc<GatedDisk>, PathBuf, AuditLog) {
    let disk = Arc::new(GatedDisk::default());
    let path = temp.path().join("audit.jsonl");
    let options = AuditOptions { disk: disk.clone(), ..audit_options(&path) };
    let log = AuditLog::open(&path, &options).unwrap();
    (disk, path, log)
}

/// A log on a simulated disk.
fn open_simulated(temp: &TempDir) -> (Arc<SimulatedDisk>, PathBuf, AuditLog) {
    let path = write_log(temp, 1).canonicalize().unwrap();
    let disk = SimulatedDisk::new(path.parent().unwrap()).unwrap();
    let options = AuditOptions { disk: disk.clone(), ..audit_options(&path) };
    let log = AuditLog::open(&path, &options).unwrap();
    (disk, path, log)
}

#[test]
fn records_that_are_being_written_are_pending() {
    let temp = TempDir::new().unwrap();
    let (disk, path, log) = open_gated(&temp);
    disk.close();
    log.append(call_record(1));
    disk.wait_for_arrival();
    assert_eq!(log.pending_count(), 1, "in the write");
    log.append(call_record(2));
    log.append(call_record(3));
    assert_eq!(log.pending_count(), 3, "in the write and in the queue");
    disk.open();
    wait_until("the write", || log.pending_count() == 0);
    assert_eq!(audit::read_records(&path).unwrap().count(), 4);
}

/// A caller that waits for a record learns that it was dropped.
#[tokio::test]
async fn dropped_record_is_reported_to_its_caller() {
    let temp = TempDir::new().unwrap();
    let (disk, path, log) = open_gated(&temp);
    disk.close();
    log.append(call_record(1));
    disk.wait_for_arrival();
    let waiting = log.append_durable(call_record(2));
    let mut waiting = std::pin::pin!(waiting);
    let first = std::future::poll_fn(|context| {
        std::task::Poll::Ready(waiting.as_mut().poll(context).is_pending())
    });
    assert!(first.await, "it is in the queue");
    (0..65_536).for_each(|n| log.append(call_record(n)));
    let error = waiting.await.unwrap_err();
    assert!(matches!(error, StoreError::AuditRecordDropped), "{error}");
    // A caller that only waits takes no place of a record.
    assert_eq!(log.pending_count(), 65_537);
    let counts = log.counts();
    assert_eq!((counts.pending(), counts.dropped(), counts.records()), (65_537, 1, 0));
    let flush = log.flush();
    let mut flush = std::pin::pin!(flush);
    let first = std::future::poll_fn(|context| {
        std::task::Poll::Ready(flush.as_mut().poll(context).is_pending())
    });
    assert!(first.await);
    disk.open();
    flush.await.unwrap();
    let report = verify(&path).unwrap();
    assert_eq!((report.notes.len(), report.notes[0].count), (1, 1), "{:?}", messages(&report));
    assert_eq!(report.lines, 1 + 1 + 1 + 65_536);
    assert_eq!((counts.pending(), counts.dropped(), counts.records()), (0, 1, 1 + 65_536));
}

/// What an operator sees of the log. The counts are those of this process.
#[tokio::test]
async fn records_and_failures_are_counted() {
    let temp = TempDir::new().unwrap();
    let (disk, _, log) = open_simulated(&temp);
    let counts = log.counts();
    assert_eq!((counts.records(), counts.failures()), (0, 0));
    for n in 0..3 {
        log.append_durable(call_record(n)).await.unwrap();
    }
    log.flush().await.unwrap();
    assert_eq!((counts.records(), counts.failures()), (3, 0));
    disk.plan_fault(disk.operations().len(), DiskFault::Full(0));
    log.append_durable(call_record(3)).await.unwrap_err();
    assert_eq!(counts.records(), 3);
    assert!(counts.failures() > 0);
    disk.make_room();
    log.flush().await.unwrap();
    let failures = counts.failures();
    log.append_intent(intent_record("written", call_record(4).time)).await.unwrap();
    assert_eq!((counts.records(), counts.failures()), (5, failures));
    drop(log);
    assert_eq!(counts.records(), 5);
}

/// A call whose intent cannot be written does not run, so the intent is not written later.
#[tokio::test]
async fn intent_that_cannot_be_written_is_dropped() {
    let temp = TempDir::new().unwrap();
    let (disk, path, log) = open_simulated(&temp);
    for _ in 0..2 {
        disk.plan_fault(disk.operations().len(), DiskFault::Error(28));
        log.append_intent(intent_record("refused", call_record(1).time)).await.unwrap_err();
        assert!(!log.is_healthy());
        assert_eq!(log.pending_count(), 0);
    }
    log.append_intent(intent_record("written", call_record(1).time)).await.unwrap();
    assert!(log.is_healthy());
    let id = log.new_call_id().unwrap();
    assert!(id.len() == 10 && id != log.new_call_id().unwrap(), "{id}");
    drop(log);
    let report = verify(&path).unwrap();
    assert!(report.ok, "{:?}", messages(&report));
    let open: Vec<_> =
        report.notes.iter().filter(|it| it.kind == VerificationFindingKind::Unknown).collect();
    assert_eq!((report.unknown, open.len(), open[0].seq), (1, 1, Some(report.last_seq)));
    let line = report.lines;
    let expected = format!(
        "line {line} has no outcome, so its effect is unknown: `write` by alice at 2026-03-01T12:00:00.001Z"
    );
    assert_eq!(open[0].message, expected);
}

/// Heads are synced about a second after a write, also if no call waits. A failure is noticed, and it is repeated.
#[test]
fn failed_sync_of_heads_is_noticed_and_repeated() {
    let temp = TempDir::new().unwrap();
    let (disk, path, log) = open_simulated(&temp);
    // The write and the two live heads, and then the sync of the lines.
    let sync = disk.operations().len() + 3;
    disk.plan_fault(sync, DiskFault::Error(5));
    log.append(call_record(2));
    wait_until("the failure", || !log.is_healthy());
    let failed = disk.operations()[sync].clone();
    assert_eq!(failed.to_string(), "SyncData audit.jsonl");
    wait_until("the recovery", || log.is_healthy());
    assert!(disk.count_syncs(OperationKind::SyncData, "keys/mark") > 0);
    drop(log);
    disk.crash(0).unwrap();
    let report = verify(&path).unwrap();
    assert!(report.ok && report.last_seq == 3, "{:?}", messages(&report));
}

/// A server that is never idle still syncs its heads.
#[test]
fn heads_are_synced_while_records_arrive() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 1);
    let log = open_log(&path).unwrap();
    let mark = temp.path().join("keys/mark");
    // The other slots are written without a sync.
    let read_synced = || fs::read(&mark).unwrap()[..1024].to_vec();
    let before = read_synced();
    wait_until("the sync", || {
        while log.pending_count() < 200 {
            log.append(call_record(1));
        }
        read_synced() != before
    });
}

/// Lines are on disk before the head that names them, and before their file is closed.
#[test]
fn file_is_synced_before_it_is_closed() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 1).canonicalize().unwrap();
    let disk = SimulatedDisk::new(path.parent().unwrap()).unwrap();
    let mut options = AuditOptions { disk: disk.clone(), ..audit_options(&path) };
    options.rotation.max_file_bytes = 1000;
    let log = AuditLog::open(&path, &options).unwrap();
    // None of these waits for a sync.
    (0..5).for_each(|n| log.append(call_record(n)));
    wait_until("the write", || log.pending_count() == 0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(log.append_durable(call_record(6))).unwrap();
    let operations: Vec<_> = disk.operations().iter().map(ToString::to_string).collect();
    let position = |text: &str| operations.iter().position(|it| it == text);
    let closed = position("RenameNoclobber audit.000001.jsonl").unwrap();
    let written = operations[..closed].iter().rposition(|it| it == "Write audit.jsonl").unwrap();
    let tail = &operations[written + 1..closed];
    let synced = tail.iter().position(|it| it == "SyncData audit.jsonl").expect("a sync");
    assert!(tail[synced..].iter().any(|it| it == "SyncData audit.head"), "{operations:?}");
    drop(log);
    disk.crash(0).unwrap();
    let report = verify(&path).unwrap();
    assert!(report.ok && report.files == 2, "{:?}", messages(&report));
}

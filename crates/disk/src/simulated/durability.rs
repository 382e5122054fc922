//! Checks a feature that writes durably, with every fault at every operation of its write.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::{DiskFault, Operation, OperationKind, SimulatedDisk};

/// Number of states that are tried after a power failure, per operation and fault.
const CRASH_STATES: u64 = 10;
/// Number of states that are tried before a sync counts as needless. States differ, so few are needed.
const STATES_WITHOUT_SYNC: u64 = 32;

/// Faults that are tried at every operation.
const FAULTS: [DiskFault; 3] = [
    DiskFault::Error(Errno::IO.raw_os_error()),
    DiskFault::PowerOffBefore,
    DiskFault::PowerOffAfter,
];
/// Faults that are tried at every write.
const WRITE_FAULTS: [DiskFault; 3] =
    [DiskFault::ShortWrite, DiskFault::Full(0), DiskFault::Full(7)];

/// A feature that writes durably.
pub trait DurableFeature {
    /// Creates the files that exist before the write below the empty folder `root`.
    fn prepare(&self, root: &Path);

    /// Does the write, as a new process would. It is called again after an error and after a restart.
    fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String>;

    /// Checks what a reader finds. If `is_acknowledged`, the write must be found. Otherwise the state before and the state
    /// after are valid, and anything else is not.
    fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String>;

    /// Returns true for a sync that this write needs only after another process was killed.
    fn can_drop_sync(&self, _sync: &Operation) -> bool {
        false
    }
}

/// Checks a feature below `root`, an empty folder that is cleared again and again. Returns the operations of one write.
///
/// Errors if an acknowledged write is lost or torn, if a write that failed leaves an invalid state, if it cannot be
/// repeated, or if a sync can be dropped without losing anything.
pub fn check_durability(
    root: &Path,
    feature: &impl DurableFeature,
) -> Result<Vec<Operation>, String> {
    let case = Case { root, feature };
    let operations = case.write_without_fault()?;
    for (index, operation) in operations.iter().enumerate() {
        let is_write = operation.kind == OperationKind::Write;
        let write_faults = WRITE_FAULTS.into_iter().filter(|_| is_write);
        for fault in FAULTS.into_iter().chain(write_faults) {
            let explain = |error| format!("{fault:?} at {index}, {operation}: {error}");
            case.retry_after_fault(index, fault).map_err(explain)?;
            for seed in 0..CRASH_STATES {
                case.crash_after_fault(index, fault, seed)
                    .map_err(|error| explain(format!("crash with seed {seed}: {error}")))?;
            }
        }
    }
    let needed = |it: &Operation| it.kind.is_sync() && !feature.can_drop_sync(it);
    for (index, operation) in operations.iter().enumerate().filter(|(_, it)| needed(it)) {
        case.require_sync(index, operations.len())
            .map_err(|error| format!("{operation} at {index} {error}"))?;
    }
    Ok(operations)
}

struct Case<'a, F> {
    root: &'a Path,
    feature: &'a F,
}

impl<F: DurableFeature> Case<'_, F> {
    fn start(&self) -> Result<Arc<SimulatedDisk>, String> {
        let describe = |error: std::io::Error| format!("failed to set up: {error}");
        for entry in fs::read_dir(self.root).map_err(describe)? {
            let path = entry.map_err(describe)?.path();
            match path.is_dir() && !path.is_symlink() {
                true => fs::remove_dir_all(path).map_err(describe)?,
                false => fs::remove_file(path).map_err(describe)?,
            }
        }
        self.feature.prepare(self.root);
        SimulatedDisk::new(self.root).map_err(describe)
    }

    /// Writes once, and returns whether the caller learned that it succeeded.
    fn write(&self, disk: &Arc<SimulatedDisk>) -> Result<(), String> {
        let written = self.feature.write(self.root, Arc::clone(disk));
        if disk.is_off() { Err("power failed".to_owned()) } else { written }
    }

    fn crash(disk: &SimulatedDisk, seed: u64) -> Result<(), String> {
        disk.crash(seed).map_err(|error| format!("failed to simulate the crash: {error}"))
    }

    fn write_without_fault(&self) -> Result<Vec<Operation>, String> {
        let mut operations = Vec::new();
        for seed in 0..CRASH_STATES {
            let disk = self.start()?;
            self.write(&disk).map_err(|error| format!("failed without a fault: {error}"))?;
            operations = disk.operations();
            Self::crash(&disk, seed)?;
            self.feature
                .check(self.root, true)
                .map_err(|error| format!("no fault, crash with seed {seed}: {error}"))?;
        }
        Ok(operations)
    }

    /// The process survives the fault: it finds a valid state, and a second attempt succeeds and is durable.
    fn retry_after_fault(&self, index: usize, fault: DiskFault) -> Result<(), String> {
        let disk = self.start()?;
        disk.plan_fault(index, fault);
        let written = self.write(&disk);
        if disk.is_off() {
            return Ok(());
        }
        self.feature.check(self.root, written.is_ok())?;
        disk.clear_faults();
        self.write(&disk).map_err(|error| format!("second attempt: {error}"))?;
        self.feature.check(self.root, true)?;
        Self::crash(&disk, 0)?;
        self.feature.check(self.root, true).map_err(|error| format!("second attempt: {error}"))
    }

    /// Power fails after the fault: the next process finds a valid state, and its attempt succeeds and is durable.
    fn crash_after_fault(&self, index: usize, fault: DiskFault, seed: u64) -> Result<(), String> {
        let disk = self.start()?;
        disk.plan_fault(index, fault);
        let is_acknowledged = self.write(&disk).is_ok();
        Self::crash(&disk, seed)?;
        self.feature.check(self.root, is_acknowledged)?;
        self.write(&disk).map_err(|error| format!("attempt after the restart: {error}"))?;
        Self::crash(&disk, 0)?;
        self.feature
            .check(self.root, true)
            .map_err(|error| format!("attempt after the restart: {error}"))
    }

    /// Errors if nothing is lost or torn when a sync has no effect, and power fails at a later operation or at the end.
    fn require_sync(&self, index: usize, operations: usize) -> Result<(), String> {
        for seed in 0..STATES_WITHOUT_SYNC {
            for off in index + 1..=operations {
                let disk = self.start()?;
                disk.plan_fault(index, DiskFault::DropSync);
                disk.plan_fault(off, DiskFault::PowerOffAfter);
                let is_acknowledged = self.write(&disk).is_ok();
                Self::crash(&disk, seed)?;
                if self.feature.check(self.root, is_acknowledged).is_err() {
                    return Ok(());
                }
            }
        }
        Err("can be dropped without losing anything".to_owned())
    }
}

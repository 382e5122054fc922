//! A disk for tests that loses what was not synced, fails, fills up, and counts syncs.
//!
//! It works on real files below a root folder and keeps a model of what is on the disk: the content of a file at its last
//! sync, and the entries of a folder at its last sync. [`SimulatedDisk::crash`] sets the real folder back to a state that a
//! disk may have after a power failure: everything that was synced, and an arbitrary part of the rest.
//!
//! What it assumes: a sector of 512 bytes is written completely or not at all, and a rename is atomic. A sync of a file
//! does not make its name durable; only a sync of the folder does. After a failed sync the system forgets what it could not
//! write, so a later sync that succeeds does not bring it back (as on Linux).
//!
//! What it does not simulate: errors while files and folders are opened or created, errors of reads, and files that are
//! written by other means than [`Disk`], such as a database. Exclude the latter, or they count as not synced.

mod content;
mod durability;
mod tree;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;
use rustix::io::Errno;

use self::content::Change;
pub use self::durability::{DurableFeature, check_durability};
use self::tree::{Exclusion, TreeModel};
use crate::{Disk, SystemDisk};

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    Write,
    SetLen,
    SyncData,
    SyncAll,
    SyncFolder,
    Rename,
    RenameNoclobber,
    Remove,
}

impl OperationKind {
    /// Returns true for operations that make something durable.
    pub fn is_sync(self) -> bool {
        matches!(self, Self::SyncData | Self::SyncAll | Self::SyncFolder)
    }
}

/// An operation that was requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub kind: OperationKind,
    /// Path below the root; of a rename the new one.
    pub path: PathBuf,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.path.display())
    }
}

/// What happens at an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The operation fails with this error of the system.
    Error(i32),
    /// Only half of a write is done, and the operation reports it. Other operations fail.
    ShortWrite,
    /// Power fails before the operation.
    PowerOffBefore,
    /// Power fails after the operation, before the caller learns of it.
    PowerOffAfter,
    /// A sync succeeds without effect. Other operations are not affected.
    DropSync,
    /// The disk is full from this operation on. A write still stores this number of bytes.
    Full(u64),
}

type SyncFilter = Box<dyn Fn(&Operation) -> bool + Send>;

struct State {
    tree: TreeModel,
    operations: Vec<Operation>,
    faults: BTreeMap<usize, DiskFault>,
    dropped_syncs: Option<SyncFilter>,
    /// Bytes that can still be written; `None` means any number.
    free: Option<u64>,
    is_off: bool,
}

/// A disk for tests. All operations fail after a power failure until [`SimulatedDisk::crash`] restarts it.
pub struct SimulatedDisk {
    root: PathBuf,
    excluded: Exclusion,
    state: Mutex<State>,
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedDisk").field("root", &self.root).finish_non_exhaustive()
    }
}

impl SimulatedDisk {
    /// Returns a disk for the files below `root`, all of which are durable now.
    pub fn new(root: &Path) -> io::Result<Arc<Self>> {
        Self::with_exclusion(root, |_| false)
    }

    /// Returns a disk that leaves alone the files and folders below `root` for whose relative path `excluded` returns true.
    pub fn with_exclusion(root: &Path, excluded: fn(&Path) -> bool) -> io::Result<Arc<Self>> {
        let root = root.canonicalize()?;
        let tree = TreeModel::read(&root, excluded)?;
        let state = State {
            tree,
            operations: Vec::new(),
            faults: BTreeMap::new(),
            dropped_syncs: None,
            free: None,
            is_off: false,
        };
        Ok(Arc::new(Self { root, excluded, state: Mutex::new(state) }))
    }

    /// Returns the operations since the start or the last crash.
    pub fn operations(&self) -> Vec<Operation> {
        self.lock().operations.clone()
    }

    /// Returns how often something was synced since the start or the last crash, by kind and path below the root.
    pub fn count_syncs(&self, kind: OperationKind, path: impl AsRef<Path>) -> usize {
        let state = self.lock();
        state.operations.iter().filter(|it| it.kind == kind && it.path == path.as_ref()).count()
    }

    /// Plans a fault for the operation with this index, counted from the start or the last crash. Several can be planned.
    pub fn plan_fault(&self, index: usize, fault: DiskFault) {
        self.lock().faults.insert(index, fault);
    }

    /// Lets all syncs succeed without effect for which `filter` returns true.
    pub fn drop_syncs(&self, filter: impl Fn(&Operation) -> bool + Send + 'static) {
        self.lock().dropped_syncs = Some(Box::new(filter));
    }

    /// Removes all faults and makes room on the disk. A disk without power stays off.
    pub fn clear_faults(&self) {
        let mut state = self.lock();
        state.faults.clear();
        (state.dropped_syncs, state.free) = (None, None);
    }

    /// Makes room on a full disk. Planned faults stay.
    pub fn make_room(&self) {
        self.lock().free = None;
    }

    /// Lets the changes of a file reach the disk in order, so that what is lost is missing from its end, as on file systems that
    /// order data before lengths (ext4 by default). Otherwise any sector may be missing.
    pub fn keep_order(&self) {
        self.lock().tree.is_ordered = true;
    }

    /// Returns true if power failed. What is reported as done afterwards does not reach the caller of a real system.
    pub fn is_off(&self) -> bool {
        self.lock().is_off
    }

    /// Simulates a power failure and a restart: sets the real folder back to what may be on the disk, chosen by `seed`, and
    /// removes all faults. Seed 0 loses everything that was not synced.
    ///
    /// Close all files before: their content is replaced.
    pub fn crash(&self, seed: u64) -> io::Result<()> {
        let mut state = self.lock();
        let is_ordered = state.tree.is_ordered;
        let rng = (seed != 0).then(|| Rng::with_seed(seed));
        state.tree.crash(&self.root, self.excluded, rng)?;
        *state = State {
            tree: TreeModel::read(&self.root, self.excluded)?,
            operations: Vec::new(),
            faults: BTreeMap::new(),
            dropped_syncs: None,
            free: None,
            is_off: false,
        };
        state.tree.is_ordered = is_ordered;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_owned()
    }

    /// Records an operation and applies its fault. `run` gets the model, and the maximum number of bytes to write.
    fn run<T>(
        &self,
        kind: OperationKind,
        path: &Path,
        length: u64,
        run: impl FnOnce(&mut TreeModel, SyncEffect, u64) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.lock();
        if state.is_off {
            return Err(power_is_off());
        }
        let operation = Operation { kind, path: self.relative(path) };
        let index = state.operations.len();
        let is_dropped =
            kind.is_sync() && state.dropped_syncs.as_ref().is_some_and(|filter| filter(&operation));
        state.operations.push(operation);
        let fault = state.faults.remove(&index);
        let mut effect = if is_dropped { SyncEffect::Dropped } else { SyncEffect::Durable };
        let mut writable = length;
        match fault {
            Some(DiskFault::Error(code)) => {
                if kind.is_sync() {
                    let _ = run(&mut state.tree, SyncEffect::Forgotten, 0);
                }
                return Err(io::Error::from_raw_os_error(code));
            }
            Some(DiskFault::ShortWrite) if kind == OperationKind::Write => writable = length / 2,
            Some(DiskFault::ShortWrite) => return Err(Errno::IO.into()),
            Some(DiskFault::PowerOffBefore) => {
                state.is_off = true;
                return Err(power_is_off());
            }
            Some(DiskFault::Full(free)) => state.free = Some(free),
            Some(DiskFault::DropSync) => effect = SyncEffect::Dropped,
            Some(DiskFault::PowerOffAfter) | None => {}
        }
        if let Some(free) = &mut state.free {
            writable = writable.min(*free);
            *free -= writable;
            if writable == 0 && length > 0 {
                return Err(Errno::NOSPC.into());
            }
        }
        let result = run(&mut state.tree, effect, writable);
        if fault == Some(DiskFault::PowerOffAfter) {
            state.is_off = true;
            return Err(power_is_off());
        }
        result
    }

    fn write_with(
        &self,
        file: &File,
        bytes: &[u8],
        write: impl FnOnce(&[u8]) -> io::Result<(usize, u64)>,
    ) -> io::Result<usize> {
        let path = path_of_handle(file);
        self.run(OperationKind::Write, &path, bytes.len() as u64, |tree, _, writable| {
            let known = tree.file_mut(file)?;
            let (written, offset) = write(&bytes[..to_usize(writable)])?;
            let bytes = bytes[..written].to_vec();
            known.content.push(Change::Write { offset: to_usize(offset), bytes });
            Ok(written)
        })
    }

    /// Syncs a file in the model only. The real files need not survive a real power failure.
    fn sync_file(&self, kind: OperationKind, file: &File) -> io::Result<()> {
        self.run(kind, &path_of_handle(file), 0, |tree, effect, _| {
            let known = tree.file_mut(file)?;
            match effect {
                SyncEffect::Durable => known.content.sync(),
                SyncEffect::Forgotten => known.content.forget(),
                SyncEffect::Dropped => {}
            }
            Ok(())
        })
    }
}

/// The effect of a sync on the model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SyncEffect {
    Durable,
    Dropped,
    Forgotten,
}

fn power_is_off() -> io::Error {
    io::Error::other("the simulated disk has no power")
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).expect("files of tests fit into memory")
}

/// Returns the path of an open file or folder.
fn path_of_handle(handle: &impl AsFd) -> PathBuf {
    let link = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
    std::fs::read_link(&link).unwrap_or_else(|_| link.into())
}

impl Disk for SimulatedDisk {
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        self.write_with(file, bytes, |bytes| {
            let written = SystemDisk.write(file, bytes)?;
            Ok((written, file.stream_position()? - written as u64))
        })
    }

    fn write_at(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.write_with(file, bytes, |bytes| {
            Ok((SystemDisk.write_at(file, bytes, offset)?, offset))
        })
    }

    fn set_len(&self, file: &File, length: u64) -> io::Result<()> {
        self.run(OperationKind::SetLen, &path_of_handle(file), 0, |tree, _, _| {
            let known = tree.file_mut(file)?;
            SystemDisk.set_len(file, length)?;
            known.content.push(Change::SetLen(to_usize(length)));
            Ok(())
        })
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        self.sync_file(OperationKind::SyncData, file)
    }

    fn sync_all(&self, file: &File) -> io::Result<()> {
        self.sync_file(OperationKind::SyncAll, file)
    }

    fn sync_folder(&self, folder: BorrowedFd<'_>) -> io::Result<()> {
        let path = path_of_handle(&folder);
        self.run(OperationKind::SyncFolder, &path, 0, |tree, effect, _| match effect {
            SyncEffect::Durable => tree.sync_folder(&path, &self.relative(&path), self.excluded),
            SyncEffect::Forgotten | SyncEffect::Dropped => Ok(()),
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(OperationKind::Rename, to, 0, |tree, _, _| {
            SystemDisk.rename(from, to)?;
            tree.push_rename(from, to)
        })
    }

    fn rename_noclobber(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(OperationKind::RenameNoclobber, to, 0, |tree, _, _| {
            SystemDisk.rename_noclobber(from, to)?;
            tree.push_rename(from, to)
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.run(OperationKind::Remove, path, 0, |_, _, _| SystemDisk.remove_file(path))
    }
}

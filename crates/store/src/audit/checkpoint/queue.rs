//! The checkpoints that wait for delivery, in the key folder. Several processes may seal and deliver at once.
//!
//! ```text
//! last-checkpoint.json   0600, a checkpoint per line: those that a target has not got, and the last one
//! deliveries.json        0600, the hash of the last checkpoint that each target got
//! seal.lock              held while a checkpoint is signed, and while one of the files changes
//! delivery.lock          held while checkpoints are delivered, so that they arrive in order
//! ```
//!
//! A checkpoint is in its file before anyone gets it. A process that ends between a delivery and its record delivers the
//! checkpoint once more, which changes nothing for its reader.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use disk::Disk;
use serde::{Deserialize, Serialize};

use super::{SignedCheckpoint, VERSION};
use crate::audit::keyring::AuditKeyLocation;
use crate::files::FileWriter;
use crate::{StateDir, StoreError, private_file};

const LAST_NAME: &str = "last-checkpoint.json";
const DELIVERIES_NAME: &str = "deliveries.json";
const SEAL_LOCK_NAME: &str = "seal.lock";
const DELIVERY_LOCK_NAME: &str = "delivery.lock";

/// Maximum number of stored checkpoints: about 5 MB, and those of more than a year at one per hour. A target that misses
/// more of them gets the newest ones only.
const MAX_STORED: usize = 10_000;

/// The checkpoints that wait for delivery, and what each target has got.
#[derive(Clone, Debug)]
pub struct CheckpointQueue<'d> {
    folder: PathBuf,
    disk: &'d dyn Disk,
}

/// The right to deliver checkpoints, until it is dropped.
#[derive(Debug)]
pub struct DeliveryLock {
    _file: File,
}

/// The right to sign a checkpoint and to change the files, until it is dropped.
#[derive(Debug)]
pub(super) struct SealLock {
    _file: File,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliveryFile {
    version: u32,
    /// Per target, the hash of the last checkpoint that it got, or that existed when the target was added.
    targets: BTreeMap<String, Option<String>>,
}

impl<'d> CheckpointQueue<'d> {
    /// Returns the queue in the key folder.
    pub fn new(location: &AuditKeyLocation, disk: &'d dyn Disk) -> Self {
        Self { folder: location.folder().to_owned(), disk }
    }

    /// Returns the last checkpoint that was signed.
    pub fn read_last(&self) -> Result<Option<SignedCheckpoint>, StoreError> {
        Ok(self.read_stored()?.pop())
    }

    /// Adds the targets that are not known yet. They get every checkpoint that is signed from now on.
    ///
    /// A target that was added earlier and is not among these is forgotten once it misses too many checkpoints.
    pub fn add_targets(&self, targets: &[String]) -> Result<(), StoreError> {
        let lock = self.lock_sealing()?;
        let stored = self.read_stored()?;
        // Without the file, it is unknown what a target has got.
        let read = self.read_deliveries()?;
        let seen = read.is_some().then(|| stored.last().map(SignedCheckpoint::hash)).flatten();
        let mut deliveries = read.unwrap_or_default();
        let before = deliveries.targets.clone();
        if stored.len() >= MAX_STORED {
            deliveries.targets.retain(|target, got| {
                targets.contains(target) || waiting(&stored, got.as_deref()).len() < stored.len()
            });
        }
        for target in targets {
            deliveries.targets.entry(target.clone()).or_insert_with(|| seen.clone());
        }
        if deliveries.targets != before {
            return self.write_deliveries(&lock, deliveries);
        }
        // An earlier attempt may have failed to make the name of the file durable.
        let path = self.folder.join(DELIVERIES_NAME);
        let synced = self.disk.sync_parent(&path);
        synced.map_err(|source| StoreError::from_io("sync", &path, source))
    }

    /// Returns the checkpoints that a target has not got, oldest first.
    pub fn list_undelivered(&self, target: &str) -> Result<Vec<SignedCheckpoint>, StoreError> {
        let got = self.read_deliveries()?.unwrap_or_default().targets.remove(target).flatten();
        let stored = self.read_stored()?;
        let count = waiting(&stored, got.as_deref()).len();
        Ok(stored.into_iter().rev().take(count).rev().collect())
    }

    /// Records that a target has got a checkpoint and all before it.
    pub fn record_delivery(
        &self,
        target: &str,
        checkpoint: &SignedCheckpoint,
    ) -> Result<(), StoreError> {
        let lock = self.lock_sealing()?;
        let mut deliveries = self.read_deliveries()?.unwrap_or_default();
        deliveries.targets.insert(target.to_owned(), Some(checkpoint.hash()));
        self.write_deliveries(&lock, deliveries)
    }

    /// Returns the right to deliver; `None` while another process has it.
    pub fn try_lock_delivery(&self) -> Result<Option<DeliveryLock>, StoreError> {
        let path = self.folder.join(DELIVERY_LOCK_NAME);
        let failed = |source| StoreError::from_io("lock", &path, source);
        let file = self.open_lock_file(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(DeliveryLock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Waits for the right to sign, which another process has for as long as it takes to read the ends of its logs.
    pub(super) fn lock_sealing(&self) -> Result<SealLock, StoreError> {
        let path = self.folder.join(SEAL_LOCK_NAME);
        let file = self.open_lock_file(&path)?;
        file.lock().map_err(|source| StoreError::from_io("lock", &path, source))?;
        Ok(SealLock { _file: file })
    }

    /// Stores a checkpoint, with those before it that a target has not got.
    pub(super) fn push(
        &self,
        _lock: &SealLock,
        checkpoint: &SignedCheckpoint,
    ) -> Result<(), StoreError> {
        let stored = self.read_stored()?;
        let targets = self.read_deliveries()?.unwrap_or_default().targets;
        let counts = targets.values().map(|got| waiting(&stored, got.as_deref()).len());
        let needed = counts.max().unwrap_or(0);
        if needed >= MAX_STORED {
            tracing::error!(
                "{MAX_STORED} checkpoints of the audit log wait for delivery: the oldest one is given up"
            );
        }
        let kept = &stored[stored.len() - needed.min(MAX_STORED - 1)..];
        let lines = kept.iter().chain([checkpoint]).map(|signed| signed.to_line() + "\n");
        let path = self.folder.join(LAST_NAME);
        FileWriter::new(self.disk)
            .replace_private_file(&path, lines.collect::<String>().as_bytes())
            .map_err(|source| StoreError::from_io("write", &path, source))
    }

    /// Returns the stored checkpoints, oldest first.
    fn read_stored(&self) -> Result<Vec<SignedCheckpoint>, StoreError> {
        let Some(text) = read_text(&self.folder.join(LAST_NAME))? else { return Ok(vec![]) };
        let lines = text.lines().map(serde_json::from_str::<SignedCheckpoint>);
        // A file that was changed is not continued; the gap in the numbers is found later.
        Ok(lines.collect::<Result<_, _>>().unwrap_or_else(|_| {
            tracing::error!(
                "the last checkpoint of the audit log was changed: numbers begin again"
            );
            vec![]
        }))
    }

    /// Returns `None` if it is unknown what the targets have got.
    fn read_deliveries(&self) -> Result<Option<DeliveryFile>, StoreError> {
        let text = read_text(&self.folder.join(DELIVERIES_NAME))?;
        let file = text.and_then(|text| serde_json::from_str::<DeliveryFile>(&text).ok());
        Ok(file.filter(|file| file.version == VERSION))
    }

    fn write_deliveries(&self, _lock: &SealLock, file: DeliveryFile) -> Result<(), StoreError> {
        let path = self.folder.join(DELIVERIES_NAME);
        let file = DeliveryFile { version: VERSION, ..file };
        let text = serde_json::to_string_pretty(&file).expect("strings serialize") + "\n";
        FileWriter::new(self.disk)
            .replace_private_file(&path, text.as_bytes())
            .map_err(|source| StoreError::from_io("write", &path, source))
    }

    fn open_lock_file(&self, path: &Path) -> Result<File, StoreError> {
        create_folder(&self.folder, self.disk)?;
        let file = private_file::open_options().open(path);
        file.map_err(|source| StoreError::from_io("open", path, source))
    }
}

/// Creates the key folder, with access for its owner only.
pub(super) fn create_folder(folder: &Path, disk: &dyn Disk) -> Result<(), StoreError> {
    disk.create_folders(folder, 0o700)
        .map_err(|source| StoreError::from_io("create", folder, source))?;
    StateDir::open(folder).map(drop)
}

/// Returns the checkpoints after the one with this hash; all of them if none has it.
fn waiting<'c>(stored: &'c [SignedCheckpoint], got: Option<&str>) -> &'c [SignedCheckpoint] {
    let at = got.and_then(|got| stored.iter().rposition(|signed| signed.hash() == got));
    &stored[at.map_or(0, |at| at + 1)..]
}

fn read_text(path: &Path) -> Result<Option<String>, StoreError> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // It is not text, so it was changed.
        Err(error) if error.kind() == ErrorKind::InvalidData => Ok(Some(error.to_string())),
        text => {
            text.map(Some).map_err(|source: io::Error| StoreError::from_io("read", path, source))
        }
    }
}

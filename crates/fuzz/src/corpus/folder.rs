//! The corpus folder: atomically written files, used by one campaign at a time.
//!
//! A file is written under a temporary name, synced and renamed, so that neither a kill nor a full disk leaves a partial
//! file or destroys an existing one. Its name is a hash of its content, so that known sequences are not written again.
//!
//! Unusable files never stop a campaign: they are reported, and the others are used.

mod files;

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_primitives::keccak256;
use disk::Disk;

use super::format::{self, SequenceFormatError};
use crate::call::SequenceCall;
use crate::target::FuzzTarget;

const LOCK: &str = ".vouch-lock";

/// Maximum size of a sequence file. Some kilobytes are typical, even with large arguments.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// A folder locked by this process. The lock is released on drop or when the process ends.
#[derive(Debug)]
pub struct CorpusFolder {
    root: PathBuf,
    /// Numbers temporary files, because several threads may write the same file.
    writes: AtomicU64,
    disk: Arc<dyn Disk>,
    /// Subfolders in which the names of all files are durable.
    synced_folders: Mutex<BTreeSet<&'static str>>,
    /// Holds the lock while it is open.
    _lock: File,
}

/// Kind of a stored sequence; determines its subfolder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SequenceKind {
    Coverage,
    Reproducer,
    Unshrunk,
    Optimization,
}

/// Content of a corpus folder.
#[derive(Debug, Default)]
pub struct LoadedCorpus {
    /// Reproducers first, so that known failures are found at once; sorted by name.
    pub sequences: Vec<(PathBuf, Vec<SequenceCall>)>,
    /// Damaged files, by their new path `<name>.corrupt`.
    pub set_aside: Vec<SkippedFile>,
    /// Files that were left in place because they may be intact: those of another target, unreadable ones, and those that
    /// are too large.
    pub foreign: Vec<SkippedFile>,
}

/// A file that was not used.
#[derive(Debug)]
pub struct SkippedFile {
    pub path: PathBuf,
    pub reason: SkipReason,
}

/// Reason for which a file was not used.
#[derive(Debug, thiserror::Error)]
pub enum SkipReason {
    #[error("failed to read the file")]
    Read(#[source] io::Error),
    #[error("the file is larger than {MAX_FILE_BYTES} bytes")]
    TooLarge,
    #[error("the file is not valid UTF-8")]
    NotText,
    #[error(transparent)]
    Format(#[from] SequenceFormatError),
    #[error("failed to set the damaged file aside")]
    Stuck(#[source] io::Error),
}

/// A file written to the corpus folder.
#[derive(Debug, PartialEq, Eq)]
pub struct SavedFile {
    pub path: PathBuf,
    /// False if it existed before.
    pub is_new: bool,
}

/// Error of opening, listing or writing a corpus folder.
#[derive(Debug, thiserror::Error)]
pub enum CorpusFolderError {
    #[error("failed to create folder {}", .path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error(
        "corpus folder {} is in use by another campaign; wait for it to end or choose another folder",
        .0.display()
    )]
    InUse(PathBuf),
    #[error("failed to lock {}", .path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error("failed to list folder {}", .path.display())]
    List { path: PathBuf, source: io::Error },
    #[error("failed to write {}; existing files are unchanged", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("invalid file name `{0}`: must not be empty, hidden or contain a separator")]
    Name(String),
}

impl SequenceKind {
    const ALL: [Self; 4] = [Self::Coverage, Self::Reproducer, Self::Unshrunk, Self::Optimization];

    /// Returns the name of its subfolder.
    pub fn folder_name(self) -> &'static str {
        match self {
            Self::Coverage => "coverage",
            Self::Reproducer => "reproducers",
            Self::Unshrunk => "reproducers-unshrunk",
            Self::Optimization => "reproducers-optimizations",
        }
    }
}

impl CorpusFolder {
    const FOUNDRY: &str = "foundry";

    /// Creates the folder if needed and locks it. Fails if another campaign holds the lock.
    pub fn open(path: &Path) -> Result<Self, CorpusFolderError> {
        Self::open_on_disk(path, disk::system_disk())
    }

    /// Opens the folder like [`CorpusFolder::open`], on this disk.
    pub fn open_on_disk(path: &Path, disk: Arc<dyn Disk>) -> Result<Self, CorpusFolderError> {
        create_folder(&*disk, path)?;
        let lock = acquire_lock(path)?;
        let folder = Self {
            root: path.to_owned(),
            writes: AtomicU64::new(0),
            disk,
            synced_folders: Mutex::default(),
            _lock: lock,
        };
        for name in
            SequenceKind::ALL.map(SequenceKind::folder_name).into_iter().chain([Self::FOUNDRY])
        {
            let path = path.join(name);
            let created = fs::create_dir_all(&path);
            created.map_err(|source| CorpusFolderError::Create { path: path.clone(), source })?;
            files::remove_unfinished(&path);
        }
        let synced = folder.disk.sync_folder_at(path);
        synced.map_err(|source| CorpusFolderError::Create { path: path.to_owned(), source })?;
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Reads all sequences, including unshrunk ones: a killed campaign may not have shrunk a failure, and only the last
    /// optimization sequence reproduces the maximum.
    pub fn load(&self, target: &FuzzTarget) -> Result<LoadedCorpus, CorpusFolderError> {
        let mut loaded = LoadedCorpus::default();
        for kind in [
            SequenceKind::Reproducer,
            SequenceKind::Unshrunk,
            SequenceKind::Optimization,
            SequenceKind::Coverage,
        ] {
            let folder = self.root.join(kind.folder_name());
            let listed = files::list_sequences(&folder);
            for path in listed.map_err(|source| CorpusFolderError::List { path: folder, source })? {
                loaded.add_file(&*self.disk, path, target);
            }
        }
        Ok(loaded)
    }

    /// Saves a sequence. `gas` is the limit of each call, which the format records.
    pub fn save_sequence(
        &self,
        kind: SequenceKind,
        calls: &[SequenceCall],
        target: &FuzzTarget,
        gas: u64,
    ) -> Result<SavedFile, CorpusFolderError> {
        let text = format::serialize_sequence(calls, target, gas);
        self.write_file(kind.folder_name(), &format!("{}.txt", hash_to_number(&text)), &text)
    }

    /// Saves a reproducer as a Foundry test.
    pub fn save_foundry_test(
        &self,
        name: &str,
        text: &str,
    ) -> Result<SavedFile, CorpusFolderError> {
        let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
        if !is_plain {
            return Err(CorpusFolderError::Name(name.to_owned()));
        }
        self.write_file(Self::FOUNDRY, name, text)
    }

    fn write_file(
        &self,
        folder: &'static str,
        name: &str,
        text: &str,
    ) -> Result<SavedFile, CorpusFolderError> {
        let path = self.root.join(folder).join(name);
        let failed = |source| CorpusFolderError::Write { path: path.clone(), source };
        if files::has_content(&path, text) {
            // A campaign that was killed, or whose disk failed, may have renamed the file without syncing its folder.
            if !self.synced_folders().contains(folder) {
                self.disk.sync_parent(&path).map_err(failed)?;
                self.synced_folders().insert(folder);
            }
            return Ok(SavedFile { path, is_new: false });
        }
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        files::replace_file(&*self.disk, &path, number, text.as_bytes()).map_err(|source| {
            self.synced_folders().remove(folder);
            failed(source)
        })?;
        Ok(SavedFile { path, is_new: true })
    }

    fn synced_folders(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.synced_folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadedCorpus {
    fn add_file(&mut self, disk: &dyn Disk, path: PathBuf, target: &FuzzTarget) {
        let reason = match read_sequence_file(&path, target) {
            Ok(calls) => return self.sequences.push((path, calls)),
            Err(reason) => reason,
        };
        if !reason.is_damage() {
            return self.foreign.push(SkippedFile { path, reason });
        }
        self.set_aside.push(match files::set_aside(disk, &path) {
            Ok(path) => SkippedFile { path, reason },
            Err(error) => SkippedFile { path, reason: SkipReason::Stuck(error) },
        });
    }
}

impl SkipReason {
    fn is_damage(&self) -> bool {
        match self {
            SkipReason::NotText => true,
            SkipReason::Format(error) => !error.is_foreign(),
            SkipReason::Read(_) | SkipReason::TooLarge | SkipReason::Stuck(_) => false,
        }
    }
}

fn read_sequence_file(path: &Path, target: &FuzzTarget) -> Result<Vec<SequenceCall>, SkipReason> {
    let bytes = files::read_bounded(path, MAX_FILE_BYTES).map_err(SkipReason::Read)?;
    let bytes = bytes.ok_or(SkipReason::TooLarge)?;
    let text = String::from_utf8(bytes).map_err(|_| SkipReason::NotText)?;
    Ok(format::parse_sequence(&text, target)?)
}

fn create_folder(disk: &dyn Disk, path: &Path) -> Result<(), CorpusFolderError> {
    disk.create_folders(path, 0o777)
        .map_err(|source| CorpusFolderError::Create { path: path.to_owned(), source })
}

fn acquire_lock(folder: &Path) -> Result<File, CorpusFolderError> {
    let path = folder.join(LOCK);
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let taken = opened.map_err(TryLockError::Error).and_then(|lock| {
        lock.try_lock()?;
        Ok(lock)
    });
    taken.map_err(|error| match error {
        TryLockError::WouldBlock => CorpusFolderError::InUse(folder.to_owned()),
        TryLockError::Error(source) => CorpusFolderError::Lock { path, source },
    })
}

/// Hashes a text to a number as long as those in Echidna's file names.
fn hash_to_number(text: &str) -> u64 {
    let hash = keccak256(text);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash[..8]);
    u64::from_be_bytes(bytes) >> 1
}

//! The folder of a corpus: files that are whole or not there, used by one campaign at a time.
//!
//! A file is written beside its place, synced and renamed, so that neither a kill nor a full disk leaves half of one or
//! costs one that was there. It is named for its content, so that what is known is not written again.
//!
//! What cannot be used never stops a campaign: it is named, and the rest is used.

mod files;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use alloy_primitives::keccak256;

use super::format::{self, FormatError};
use crate::call::Call;
use crate::target::Target;

const LOCK: &str = ".vouch-lock";

/// A sequence takes some kilobytes; even the longest with large arguments stays far below.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// A folder that this process holds. It is free again when the value is dropped, or the process ends in any way.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    /// Numbers the files that are being written, for several threads may write the same.
    writes: AtomicU64,
    /// Locked as long as it is open.
    _lock: File,
}

/// Where a sequence belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Coverage,
    Reproducer,
    Unshrunk,
    Optimization,
}

/// What a folder holds.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Reproducers first, so that known failures are seen at once; in the order of their names.
    pub sequences: Vec<(PathBuf, Vec<Call>)>,
    /// Files that are damaged, where they are now: `<name>.corrupt`.
    pub set_aside: Vec<Unused>,
    /// Files that were left where they are because nothing says that they are damaged: those of another contract, those
    /// that could not be opened, and those that are too large.
    pub foreign: Vec<Unused>,
}

/// A file that was not used.
#[derive(Debug)]
pub struct Unused {
    pub path: PathBuf,
    pub reason: Reason,
}

/// Why a file was not used.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    #[error("the file could not be read")]
    Read(#[source] io::Error),
    #[error("the file is larger than {MAX_FILE_BYTES} bytes")]
    TooLarge,
    #[error("the file is not text")]
    NotText,
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error("the file is damaged and could not be set aside")]
    Stuck(#[source] io::Error),
}

/// A sequence on disk.
#[derive(Debug, PartialEq, Eq)]
pub struct Saved {
    pub path: PathBuf,
    /// False if it was there before.
    pub is_new: bool,
}

/// Why a folder cannot be used, or something not be kept in it.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("cannot make the folder {}", .path.display())]
    Make { path: PathBuf, source: io::Error },
    #[error(
        "another campaign uses the corpus folder {}: wait for it, or choose another folder",
        .0.display()
    )]
    InUse(PathBuf),
    #[error("cannot lock {}", .path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error("cannot list the folder {}", .path.display())]
    List { path: PathBuf, source: io::Error },
    #[error("cannot write {}; nothing that was there is lost", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("`{0}` is no name of a file: it must not be empty or hidden, nor have a separator")]
    Name(String),
}

impl Kind {
    const ALL: [Self; 4] = [Self::Coverage, Self::Reproducer, Self::Unshrunk, Self::Optimization];

    /// The name of its folder.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Coverage => "coverage",
            Self::Reproducer => "reproducers",
            Self::Unshrunk => "reproducers-unshrunk",
            Self::Optimization => "reproducers-optimizations",
        }
    }
}

impl Folder {
    const FOUNDRY: &str = "foundry";

    /// Takes the folder, and makes it where it is not there.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        make(path)?;
        let lock = take_lock(path)?;
        let folder = Self { root: path.to_owned(), writes: AtomicU64::new(0), _lock: lock };
        for name in Kind::ALL.map(Kind::folder).into_iter().chain([Self::FOUNDRY]) {
            let path = path.join(name);
            make(&path)?;
            files::remove_unfinished(&path);
        }
        Ok(folder)
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Reads all sequences. Those that were not shrunk are read, too: a campaign that was killed may have had no time
    /// to shrink a failure, and nothing but its last sequence says which number was the largest.
    pub fn load(&self, target: &Target) -> Result<Loaded, FolderError> {
        let mut loaded = Loaded::default();
        for kind in [Kind::Reproducer, Kind::Unshrunk, Kind::Optimization, Kind::Coverage] {
            let folder = self.root.join(kind.folder());
            let listed = files::list(&folder);
            for path in listed.map_err(|source| FolderError::List { path: folder, source })? {
                loaded.add(path, target);
            }
        }
        Ok(loaded)
    }

    /// Keeps a sequence. `gas` is what each of its calls may use.
    pub fn save(
        &self,
        kind: Kind,
        calls: &[Call],
        target: &Target,
        gas: u64,
    ) -> Result<Saved, FolderError> {
        let text = format::write(calls, target, gas);
        self.write(kind.folder(), &format!("{}.txt", number(&text)), &text)
    }

    /// Keeps a reproducer as a Foundry test.
    pub fn save_test(&self, name: &str, text: &str) -> Result<Saved, FolderError> {
        let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\']);
        if !is_plain {
            return Err(FolderError::Name(name.to_owned()));
        }
        self.write(Self::FOUNDRY, name, text)
    }

    fn write(&self, folder: &str, name: &str, text: &str) -> Result<Saved, FolderError> {
        let path = self.root.join(folder).join(name);
        if files::holds(&path, text) {
            return Ok(Saved { path, is_new: false });
        }
        let number = self.writes.fetch_add(1, Ordering::Relaxed);
        match files::replace(&path, number, |file| io::Write::write_all(file, text.as_bytes())) {
            Ok(()) => Ok(Saved { path, is_new: true }),
            Err(source) => Err(FolderError::Write { path, source }),
        }
    }
}

impl Loaded {
    fn add(&mut self, path: PathBuf, target: &Target) {
        let reason = match read(&path, target) {
            Ok(calls) => return self.sequences.push((path, calls)),
            Err(reason) => reason,
        };
        if !reason.is_damage() {
            return self.foreign.push(Unused { path, reason });
        }
        self.set_aside.push(match files::set_aside(&path) {
            Ok(path) => Unused { path, reason },
            Err(error) => Unused { path, reason: Reason::Stuck(error) },
        });
    }
}

impl Reason {
    fn is_damage(&self) -> bool {
        match self {
            Reason::NotText => true,
            Reason::Format(error) => !error.is_foreign(),
            Reason::Read(_) | Reason::TooLarge | Reason::Stuck(_) => false,
        }
    }
}

fn read(path: &Path, target: &Target) -> Result<Vec<Call>, Reason> {
    let bytes = files::read(path, MAX_FILE_BYTES).map_err(Reason::Read)?;
    let bytes = bytes.ok_or(Reason::TooLarge)?;
    let text = String::from_utf8(bytes).map_err(|_| Reason::NotText)?;
    Ok(format::read(&text, target)?)
}

fn make(path: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(path).map_err(|source| FolderError::Make { path: path.to_owned(), source })
}

fn take_lock(folder: &Path) -> Result<File, FolderError> {
    let path = folder.join(LOCK);
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let taken = opened.map_err(TryLockError::Error).and_then(|lock| {
        lock.try_lock()?;
        Ok(lock)
    });
    taken.map_err(|error| match error {
        TryLockError::WouldBlock => FolderError::InUse(folder.to_owned()),
        TryLockError::Error(source) => FolderError::Lock { path, source },
    })
}

/// A number for the text, as long as Echidna's names are.
fn number(text: &str) -> u64 {
    let hash = keccak256(text);
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash[..8]);
    u64::from_be_bytes(bytes) >> 1
}

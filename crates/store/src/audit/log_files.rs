//! The files of a log: the current one, and the numbered ones that were closed before it.
//!
//! ```text
//! audit.000001.jsonl  audit.000002.jsonl  audit.jsonl      oldest first
//! ```
//!
//! A rotation may come at any time, so a reader takes a [`LogSnapshot`] and reads the files that it names.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, ErrorKind, Read, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::chain::{self, Hash};
use super::line_reader::LineReader;
use super::record::{AuditEntry, AuditRecord};

/// Bytes that are hashed at once.
const BLOCK: usize = 64 << 10;

/// Maximum number of rotations during one attempt to read a log. More of them are no coincidence.
const MAX_ATTEMPTS: u32 = 1000;

/// The files of a log at one moment between two batches.
#[derive(Debug)]
pub(super) struct LogSnapshot {
    log: PathBuf,
    /// Numbers of the closed files, oldest first.
    closed: Vec<u32>,
    /// The current file and its length then; `None` if there was none.
    current: Option<(File, u64)>,
    current_number: u32,
}

impl LogSnapshot {
    /// Lists the files while no writer changes them. `read_more` reads what must be of the same moment.
    pub(super) fn take<T>(
        log: &Path,
        read_more: impl Fn() -> io::Result<T>,
    ) -> io::Result<(Self, T)> {
        for _ in 0..MAX_ATTEMPTS {
            let current = open_if_exists(log)?;
            if let Some(file) = &current {
                file.lock_shared()?;
                // A rotation may have come before the lock. The file is a closed one then.
                if !is_at_path(file, log)? {
                    continue;
                }
            }
            let (closed, more) = (list_closed(log)?, read_more()?);
            let current = match current {
                Some(file) => {
                    let length = file.metadata()?.len();
                    file.unlock()?;
                    Some((file, length))
                }
                // There was nothing to lock. In the middle of a rotation, the file is missing for a moment.
                None if log.try_exists()? => continue,
                None => None,
            };
            let current_number = match (closed.last(), &current) {
                (Some(last), _) => last.saturating_add(1),
                // All files before it may have been removed.
                (None, Some((file, length))) => read_file_number(file, *length)?.unwrap_or(1),
                (None, None) => 1,
            };
            return Ok((Self { log: log.to_owned(), closed, current, current_number }, more));
        }
        Err(io::Error::other("the file is replaced again and again"))
    }

    /// Returns true if the log has no files.
    pub(super) fn is_empty(&self) -> bool {
        self.closed.is_empty() && self.current.is_none()
    }

    /// Returns the numbers of the closed files, oldest first.
    pub(super) fn closed(&self) -> &[u32] {
        &self.closed
    }

    /// Returns the number of the current file, whether it exists or not.
    pub(super) fn current_number(&self) -> u32 {
        self.current_number
    }

    /// Returns the numbers of all files, oldest first.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        let current = self.current.as_ref().map(|_| self.current_number());
        self.closed.iter().copied().chain(current)
    }

    /// Returns the name of a file, or `None` for the current one.
    pub(super) fn file_name(&self, number: u32) -> Option<String> {
        let path = self.closed.contains(&number).then(|| closed_path(&self.log, number))?;
        Some(path.file_name()?.to_string_lossy().into_owned())
    }

    /// Opens a file and returns it with the length that counts. Returns `None` if the snapshot has no file with this
    /// number, and errors with [`ErrorKind::NotFound`] if the file was removed since.
    pub(super) fn open_file(&self, number: u32) -> io::Result<Option<(File, u64)>> {
        if self.closed.contains(&number) {
            let file = open_regular_file(&closed_path(&self.log, number))?;
            let length = file.metadata()?.len();
            return Ok(Some((file, length)));
        }
        match &self.current {
            Some((file, length)) if number == self.current_number() => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                Ok(Some((file, *length)))
            }
            _ => Ok(None),
        }
    }
}

/// Returns the number of a file that its first line states.
pub(super) fn read_file_number(mut file: &File, length: u64) -> io::Result<Option<u32>> {
    file.rewind()?;
    let mut reader = LineReader::new(BufReader::new(file.take(length)));
    let first = reader.next_line()?.and_then(|line| AuditRecord::parse(line.bytes));
    Ok(first.and_then(|first| match first.entry {
        AuditEntry::Event { event, .. } => event.begun_file().map(|(number, _)| number),
        AuditEntry::Call(_) | AuditEntry::Intent(_) => None,
    }))
}

/// Opens a file for reading. Errors at once if it is no regular file: opening a named pipe could wait forever.
pub(super) fn open_regular_file(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidData, "not a regular file")),
    }
}

fn open_if_exists(path: &Path) -> io::Result<Option<File>> {
    match open_regular_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}

/// Returns true if the open file is the one at the path.
fn is_at_path(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match path.metadata() {
        Ok(found) => Ok((found.ino(), found.dev()) == (ours.ino(), ours.dev())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the path of a closed file of a log.
pub(super) fn closed_path(log: &Path, number: u32) -> PathBuf {
    log.with_extension(format!("{number:06}.jsonl"))
}

/// Returns the numbers of the closed files, oldest first.
pub(super) fn list_closed(log: &Path) -> io::Result<Vec<u32>> {
    let absolute = std::path::absolute(log)?;
    let entries = match std::fs::read_dir(absolute.parent().unwrap_or(&absolute)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let stem = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut numbers = vec![];
    for entry in entries {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| {
            let digits = name.strip_prefix(&*stem)?.strip_prefix('.')?.strip_suffix(".jsonl")?;
            // Only the spelling that we write, so that a number has one file.
            let number: u32 = digits.parse().ok()?;
            (format!("{number:06}") == digits && number > 0).then_some(number)
        });
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns the SHA-256 of the first `length` bytes of a file.
pub(super) fn hash_file(file: File, length: u64) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = file.take(length);
    let mut block = Vec::with_capacity(BLOCK);
    while file.by_ref().take(BLOCK as u64).read_to_end(&mut block)? > 0 {
        hasher.update(&block);
        block.clear();
    }
    let hash: Hash = hasher.finalize().into();
    Ok(chain::format_hash(&hash))
}

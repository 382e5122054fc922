//! Verifies the hash chain of a log and reports which lines were changed, removed, inserted or moved.
//!
//! Verification is one pass with one line of look-ahead. `chain_verifier` follows the chain from line to line. If a
//! line does not follow, it was changed, is out of place, or lines before it are missing. At the end, lines out of
//! place are matched with missing lines: a line that is in both sets was moved.

mod chain_verifier;
mod file_digest;
mod findings;
mod report;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use self::chain_verifier::{ChainVerifier, ScannedLine};
use self::file_digest::DigestReader;
pub use self::report::{VerificationFinding, VerificationFindingKind, VerificationReport};
use super::head::{self, HeadState};
use super::keyring::{AuditKeyLocation, KeySet};
use super::line_reader::LineReader;
use super::log_files::LogSnapshot;
use crate::StoreError;

/// Maximum number of attempts when files are removed between their listing and their reading.
const MAX_ATTEMPTS: u32 = 10;

/// The heads of a log at one moment between two batches.
pub(super) struct Heads {
    pub(super) head: HeadState,
    pub(super) mark: HeadState,
}

/// A log whose chain was verified, with the files that were read.
#[derive(Debug)]
pub struct VerifiedLog {
    path: PathBuf,
    pub report: VerificationReport,
    pub(super) snapshot: LogSnapshot,
}

impl VerifiedLog {
    /// Verifies a log like [`verify_log`].
    pub fn verify(
        path: impl Into<PathBuf>,
        location: &AuditKeyLocation,
    ) -> Result<Self, StoreError> {
        let path = path.into();
        for _ in 0..MAX_ATTEMPTS {
            let keys = KeySet::load(location)?.unwrap_or_else(KeySet::empty);
            match verify_files(&path, &location.mark_path(), keys) {
                // A file was removed as configured after the snapshot.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok((snapshot, report)) => return Ok(Self { path, report, snapshot }),
                Err(source) => return Err(StoreError::from_io("read audit log", &path, source)),
            }
        }
        let source = io::Error::other("files are removed while they are read");
        Err(StoreError::from_io("read audit log", &path, source))
    }

    /// Returns the path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the log has a file.
    pub fn exists(&self) -> bool {
        !self.snapshot.is_empty()
    }
}

/// Verifies the whole log against its chain and its heads. Returns the findings.
///
/// It uses little memory, and other processes may write to the log meanwhile. Errors only if the log or its keys cannot
/// be read.
pub fn verify_log(
    path: impl AsRef<Path>,
    keys: &AuditKeyLocation,
) -> Result<VerificationReport, StoreError> {
    VerifiedLog::verify(path.as_ref(), keys).map(|log| log.report)
}

fn verify_files(
    log: &Path,
    mark: &Path,
    keys: KeySet,
) -> io::Result<(LogSnapshot, VerificationReport)> {
    let (snapshot, heads) = LogSnapshot::take(log, || {
        let head = head::read_head(&head::head_path(log), &keys)?;
        Ok(Heads { head, mark: head::read_head(mark, &keys)? })
    })?;
    let mut walk = ChainVerifier::new(keys, heads);
    for number in snapshot.numbers() {
        let Some((file, length)) = snapshot.open_file(number)? else { continue };
        verify_file(&mut walk, number, snapshot.file_name(number), file, length)?;
    }
    Ok((snapshot, walk.into_report()))
}

fn verify_file(
    walk: &mut ChainVerifier,
    number: u32,
    name: Option<String>,
    file: File,
    length: u64,
) -> io::Result<()> {
    walk.begin_file(number, name);
    let source = DigestReader::new(BufReader::with_capacity(64 << 10, file.take(length)));
    let mut reader = LineReader::new(source);
    let mut current = reader.next_line()?.map(|read| ScannedLine::new(walk.next_line(), &read));
    while let Some(seen) = current.take_if(|seen| seen.complete) {
        let next = reader.next_line()?.map(|read| ScannedLine::new(walk.next_line(), &read));
        walk.check_line(&seen, next.as_ref());
        current = next;
    }
    walk.end_file(current, reader.into_source().finish());
    Ok(())
}

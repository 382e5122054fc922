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
use std::path::Path;

use self::chain_verifier::{ChainVerifier, ScannedLine};
use self::file_digest::DigestReader;
pub use self::report::{VerificationFinding, VerificationFindingKind, VerificationReport};
use super::head::{self, HeadState};
use super::keyring::{AuditKeyLocation, KeySet};
use super::line_reader::LineReader;
use super::log_files::{closed_path, list_closed};
use crate::{IoError, StoreError};

/// The heads of a log at one moment between two batches.
pub(super) struct Heads {
    pub(super) head: HeadState,
    pub(super) mark: HeadState,
}

/// Verifies the whole log against its chain and its heads. Returns the findings.
///
/// It uses little memory, and other processes may write to the log meanwhile. Errors only if the log or its keys cannot
/// be read.
pub fn verify_log(
    path: impl AsRef<Path>,
    keys: &AuditKeyLocation,
) -> Result<VerificationReport, StoreError> {
    let path = path.as_ref();
    let found = KeySet::load(keys)?.unwrap_or_else(KeySet::empty);
    verify_files(path, &keys.mark_path(), found)
        .map_err(|source| IoError::new("read audit log", path, source).into())
}

fn verify_files(log: &Path, mark: &Path, keys: KeySet) -> io::Result<VerificationReport> {
    let read_heads = || -> io::Result<Heads> {
        let head = head::read_head(&head::head_path(log), &keys)?;
        Ok(Heads { head, mark: head::read_head(mark, &keys)? })
    };
    let current = match File::open(log) {
        Ok(file) => Some(file),
        // The log was never written or was removed. The heads tell which.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let (closed, length, heads) = match &current {
        Some(file) => {
            file.lock_shared()?;
            let taken = list_closed(log)
                .and_then(|closed| Ok((closed, file.metadata()?.len(), read_heads()?)));
            file.unlock()?;
            taken?
        }
        None => (list_closed(log)?, 0, read_heads()?),
    };
    let mut walk = ChainVerifier::new(keys, heads);
    for number in closed {
        let path = closed_path(log, number);
        let file = File::open(&path)?;
        let length = file.metadata()?.len();
        verify_file(&mut walk, number, path.file_name(), file, length)?;
    }
    if let Some(file) = current {
        let number = walk.next_file();
        verify_file(&mut walk, number, None, file, length)?;
    }
    Ok(walk.into_report())
}

fn verify_file(
    walk: &mut ChainVerifier,
    number: u32,
    name: Option<&std::ffi::OsStr>,
    file: File,
    length: u64,
) -> io::Result<()> {
    walk.begin_file(number, name.map(|name| name.to_string_lossy().into_owned()));
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

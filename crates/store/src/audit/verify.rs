//! Verifies the hash chain of a log and reports which lines were changed, removed, inserted or moved.
//!
//! Verification is one pass with one line of look-ahead. `chain_verifier` follows the chain from line to line. If a
//! line does not follow, it was changed, is out of place, or lines before it are missing. At the end, lines out of
//! place are matched with missing lines: a line that is in both sets was moved.

mod chain_verifier;
mod report;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use self::chain_verifier::{ChainVerifier, ScannedLine};
pub use self::report::{VerificationFinding, VerificationFindingKind, VerificationReport};
use super::chain::ChainTip;
use super::head;
use super::line_reader::LineReader;
use crate::{IoError, StoreError};

/// Verifies the whole log against its chain and its head. Returns the findings.
///
/// It uses constant memory, and other processes may write to the log meanwhile. Errors only if the log cannot be read.
pub fn verify_log(path: impl AsRef<Path>) -> Result<VerificationReport, StoreError> {
    let path = path.as_ref();
    verify_file(path).map_err(|source| IoError::new("read audit log", path, source).into())
}

fn verify_file(path: &Path) -> io::Result<VerificationReport> {
    let head = head::head_path(path);
    let file = match File::open(path) {
        Ok(file) => file,
        // The log was never written or was removed. The head tells which.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(ChainVerifier::new(head::read_head(&head)?).into_report(None));
        }
        Err(error) => return Err(error),
    };
    let (length, head) = take_snapshot(&file, &head)?;
    let mut reader = LineReader::new(BufReader::with_capacity(64 << 10, file.take(length)));
    let mut walk = ChainVerifier::new(head);
    let mut line = 1;
    let mut current = scan_line(&mut reader, line)?;
    while let Some(seen) = current.take_if(|seen| seen.complete) {
        line += 1;
        let next = scan_line(&mut reader, line)?;
        walk.check_line(&seen, next.as_ref());
        current = next;
    }
    Ok(walk.into_report(current))
}

/// Returns the length and the head at one moment between two batches. The log up to that length no longer changes.
fn take_snapshot(file: &File, head: &Path) -> io::Result<(u64, Option<ChainTip>)> {
    file.lock_shared()?;
    let taken = file.metadata().and_then(|metadata| Ok((metadata.len(), head::read_head(head)?)));
    file.unlock()?;
    taken
}

fn scan_line(
    reader: &mut LineReader<impl io::BufRead>,
    line: u64,
) -> io::Result<Option<ScannedLine>> {
    Ok(reader.next_line()?.map(|read| ScannedLine::new(line, &read)))
}

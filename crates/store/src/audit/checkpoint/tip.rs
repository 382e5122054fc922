//! Finds the end of a log for a checkpoint, and how far the log has grown since one.
//!
//! A writer may close the current file at any time: it renames the file under a lock, and creates the next one.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use disk::Disk;

use super::{CheckpointTip, SignedCheckpoint};
use crate::audit::line_reader::{LineReader, find_last_lines};
use crate::audit::log_files::{closed_path, hash_file, list_closed};
use crate::audit::record::{AuditEntry, AuditLogEvent, AuditRecord};
use crate::{IoError, StoreError, private_file};

/// The file with the last line of a log, as it was when no writer held the lock.
struct LastFile {
    file: File,
    number: u32,
    /// Length up to the end of the last complete line.
    bytes: u64,
}

/// Returns the end of a log, after its lines were synced; `None` if it has no lines.
pub(super) fn read_tip(log: &Path, disk: &dyn Disk) -> io::Result<Option<CheckpointTip>> {
    let Some(LastFile { file, number, bytes }) = find_last_file(log)? else { return Ok(None) };
    // A line that a power failure can still remove must not be in a checkpoint.
    disk.sync_data(&file)?;
    let first = read_line_at(&file, 0, bytes)?;
    let last = read_line_at(&file, find_last_lines(&file, bytes, 1)?, bytes)?;
    let Some((first, last)) = first.zip(last) else { return Ok(None) };
    io::Seek::rewind(&mut &file)?;
    let sha256 = hash_file(file, bytes)?;
    let chain = chain_of(&first).unwrap_or_default();
    Ok(Some(CheckpointTip { chain, seq: last.seq, file: number, bytes, sha256 }))
}

/// Returns the file with the last line of a log; `None` if there is no file.
fn find_last_file(log: &Path) -> io::Result<Option<LastFile>> {
    loop {
        let found = match open_existing(log)? {
            Some(current) => inspect_current(log, current)?,
            None => match list_closed(log)?.last() {
                None => return Ok(None),
                Some(number) => inspect_closed(log, *number)?,
            },
        };
        // Otherwise a writer closed the file, or began the next one, after it was opened.
        if found.is_some() {
            return Ok(found);
        }
    }
}

/// Returns the current file, or the closed one before it if no line was written to it yet. Returns `None` if the opened file
/// is no longer the current one.
fn inspect_current(log: &Path, file: File) -> io::Result<Option<LastFile>> {
    file.lock_shared()?;
    let inspect = || {
        let ours = file.metadata()?;
        let is_current = match log.symlink_metadata() {
            Ok(found) => (found.ino(), found.dev()) == (ours.ino(), ours.dev()),
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        Ok(if is_current { Some((list_closed(log)?, ours.len())) } else { None })
    };
    let state = inspect();
    file.unlock()?;
    let Some((closed, length)) = state? else { return Ok(None) };
    let bytes = find_last_lines(&file, length, 0)?;
    match closed.last() {
        // A crash came before the first line of the file.
        Some(number) if bytes == 0 => open_closed(log, *number),
        last => {
            let number = last.map_or(1, |last| last + 1);
            Ok(Some(LastFile { file, number, bytes }))
        }
    }
}

/// Returns a closed file if there is no current one: a crash came before it was created. Returns `None` if there is.
fn inspect_closed(log: &Path, number: u32) -> io::Result<Option<LastFile>> {
    let last = open_closed(log, number)?;
    if let Some(LastFile { file, .. }) = &last {
        // A writer that is between the two steps holds the lock on it.
        file.lock_shared()?;
        file.unlock()?;
    }
    let is_last = open_existing(log)?.is_none() && list_closed(log)?.last() == Some(&number);
    Ok(last.filter(|_| is_last))
}

fn open_closed(log: &Path, number: u32) -> io::Result<Option<LastFile>> {
    let Some(file) = open_existing(&closed_path(log, number))? else { return Ok(None) };
    let bytes = find_last_lines(&file, file.metadata()?.len(), 0)?;
    Ok(Some(LastFile { file, number, bytes }))
}

fn open_existing(path: &Path) -> io::Result<Option<File>> {
    match private_file::read_options().open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}

/// Returns the number of bytes by which a log grew since a checkpoint, in all of its files; its whole size if the
/// checkpoint does not name it. Returns `None` if a file was removed that the checkpoint does not cover completely.
pub fn read_log_growth(
    log: &Path,
    last: Option<&SignedCheckpoint>,
) -> Result<Option<u64>, StoreError> {
    let read = || -> io::Result<Option<u64>> {
        let closed = list_closed(log)?;
        let current = open_existing(log)?;
        let current_number = closed.last().map_or(1, |last| last + 1);
        let length_of = |number: u32| closed_path(log, number).metadata().map(|it| it.len());
        let current_length = match &current {
            Some(file) => file.metadata()?.len(),
            None => 0,
        };
        let tip = match last {
            Some(last) => find_tip(log, current.as_ref().zip(Some(current_length)), &closed, last)?,
            None => None,
        };
        let mut bytes = current_length;
        let first = tip.map_or(closed.first().copied().unwrap_or(current_number), |tip| tip.file);
        for number in first..current_number {
            match length_of(number) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                length => bytes += length?,
            }
        }
        Ok(Some(bytes.saturating_sub(tip.map_or(0, |tip| tip.bytes))))
    };
    read().map_err(|source| IoError::new("read audit log", log, source).into())
}

/// Returns what a checkpoint says about a log.
fn find_tip<'c>(
    log: &Path,
    current: Option<(&File, u64)>,
    closed: &[u32],
    last: &'c SignedCheckpoint,
) -> io::Result<Option<&'c CheckpointTip>> {
    let mut first = match current {
        Some((file, length)) => read_line_at(file, 0, find_last_lines(file, length, 0)?)?,
        None => None,
    };
    if first.is_none()
        && let Some(number) = closed.last()
        && let Some(closed) = open_closed(log, *number)?
    {
        first = read_line_at(&closed.file, 0, closed.bytes)?;
    }
    let chain = first.as_ref().and_then(chain_of);
    Ok(chain.and_then(|chain| last.checkpoint.chains.iter().find(|tip| tip.chain == chain)))
}

/// Returns the id of the chain that the first line of a file names.
pub(super) fn chain_of(first: &AuditRecord) -> Option<String> {
    match &first.entry {
        AuditEntry::Event {
            event: AuditLogEvent::Chain { chain, .. } | AuditLogEvent::File { chain, .. },
            ..
        } => Some(chain.clone()),
        _ => None,
    }
}

/// Returns the record at an offset of a file.
pub(super) fn read_line_at(
    mut file: &File,
    start: u64,
    end: u64,
) -> io::Result<Option<AuditRecord>> {
    io::Seek::seek(&mut file, io::SeekFrom::Start(start))?;
    let source = io::BufReader::new(io::Read::take(file, end - start));
    let mut reader = LineReader::new(source);
    Ok(reader.next_line()?.and_then(|line| AuditRecord::parse(line.bytes)))
}

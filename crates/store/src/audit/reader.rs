//! Reads the records of a log, from its start or from its end. It does not check the chain; see `verify` for that.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::line_reader::{LineReader, find_last_lines};
use super::record::AuditRecord;
use crate::{IoError, StoreError};

/// An iterator over the records of a log, oldest first. It skips lines that are not audit records and a torn last line.
pub struct AuditRecords {
    path: PathBuf,
    reader: Option<LineReader<BufReader<io::Take<File>>>>,
}

/// Returns the records that are in the log at the time of the call; none if the log does not exist.
pub fn read_records(path: impl AsRef<Path>) -> Result<AuditRecords, StoreError> {
    open_records(path.as_ref(), |_, _| Ok(0))
}

/// Returns the last `count` records, oldest first.
pub fn read_last_records(
    path: impl AsRef<Path>,
    count: u64,
) -> Result<Vec<AuditRecord>, StoreError> {
    open_records(path.as_ref(), |file, length| {
        let end = find_last_lines(file, length, 0)?;
        find_last_lines(file, end, count)
    })?
    .collect()
}

/// Opens the log and reads from the offset that `start` returns for the file and its length.
fn open_records(
    path: &Path,
    start: impl FnOnce(&File, u64) -> io::Result<u64>,
) -> Result<AuditRecords, StoreError> {
    let open = || {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let length = file.metadata()?.len();
        let start = start(&file, length)?;
        file.seek(SeekFrom::Start(start))?;
        Ok(Some(LineReader::new(BufReader::new(file.take(length - start)))))
    };
    let reader = open().map_err(|source| IoError::new("read audit log", path, source))?;
    Ok(AuditRecords { path: path.to_owned(), reader })
}

impl Iterator for AuditRecords {
    type Item = Result<AuditRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.reader.as_mut()?.next_line() {
                Ok(Some(line)) if line.complete => {
                    if let Some(record) = AuditRecord::parse(line.bytes) {
                        return Some(Ok(record));
                    }
                }
                Ok(_) => self.reader = None,
                Err(source) => {
                    self.reader = None;
                    let error = IoError::new("read audit log", &self.path, source);
                    return Some(Err(error.into()));
                }
            }
        }
    }
}

//! Reads the records of a log, from its start or from its end, across its files. It does not check the chain; see `verify`
//! for that.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::line_reader::{LineReader, find_last_lines};
use super::log_files::LogSnapshot;
use super::record::AuditRecord;
use crate::{IoError, StoreError};

/// An iterator over the records of a log, oldest first. It skips lines that are not audit records and torn last lines.
pub struct AuditRecords {
    path: PathBuf,
    /// Files that were not read yet, with the length that counts.
    files: VecDeque<(File, u64)>,
    reader: Option<LineReader<BufReader<io::Take<File>>>>,
}

/// Returns the records that are in the log at the time of the call; none if the log does not exist.
pub fn read_records(path: impl AsRef<Path>) -> Result<AuditRecords, StoreError> {
    let path = path.as_ref();
    let files = open_files(path).map_err(|source| IoError::new("read audit log", path, source))?;
    Ok(AuditRecords { path: path.to_owned(), files: files.into(), reader: None })
}

/// Returns the last `count` records, oldest first.
pub fn read_last_records(
    path: impl AsRef<Path>,
    count: u64,
) -> Result<Vec<AuditRecord>, StoreError> {
    let path = path.as_ref();
    let mut records = vec![];
    let mut read = || -> io::Result<()> {
        let (snapshot, ()) = LogSnapshot::take(path, || Ok(()))?;
        let numbers: Vec<_> = snapshot.numbers().collect();
        for number in numbers.into_iter().rev() {
            let missing = count - records.len() as u64;
            if missing == 0 {
                break;
            }
            let (file, length) = match snapshot.open_file(number) {
                Ok(Some(file)) => file,
                Ok(None) => break,
                // It was removed as configured since the snapshot, and so were all files before it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            };
            let mut newer = std::mem::take(&mut records);
            records = read_last_of_file(file, length, missing)?;
            records.append(&mut newer);
        }
        Ok(())
    };
    read().map_err(|source| IoError::new("read audit log", path, source))?;
    Ok(records)
}

/// Opens all files of a log.
fn open_files(log: &Path) -> io::Result<Vec<(File, u64)>> {
    let (snapshot, ()) = LogSnapshot::take(log, || Ok(()))?;
    let mut files = vec![];
    for number in snapshot.numbers() {
        match snapshot.open_file(number) {
            // It was removed as configured since the snapshot, and so were all files before it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => files.clear(),
            file => files.extend(file?),
        }
    }
    Ok(files)
}

fn read_last_of_file(mut file: File, length: u64, count: u64) -> io::Result<Vec<AuditRecord>> {
    let end = find_last_lines(&file, length, 0)?;
    let start = find_last_lines(&file, end, count)?;
    file.seek(SeekFrom::Start(start))?;
    let mut reader = LineReader::new(BufReader::new(file.take(end - start)));
    let mut records = vec![];
    while let Some(line) = reader.next_line()? {
        records.extend(AuditRecord::parse(line.bytes));
    }
    Ok(records)
}

impl AuditRecords {
    /// Returns the next record, or `None` at the end of the last file.
    fn read_next(&mut self) -> io::Result<Option<AuditRecord>> {
        loop {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                None => {
                    let Some((file, length)) = self.files.pop_front() else { return Ok(None) };
                    self.reader.insert(LineReader::new(BufReader::new(file.take(length))))
                }
            };
            match reader.next_line()? {
                Some(line) if line.complete => {
                    if let Some(record) = AuditRecord::parse(line.bytes) {
                        return Ok(Some(record));
                    }
                }
                _ => self.reader = None,
            }
        }
    }
}

impl Iterator for AuditRecords {
    type Item = Result<AuditRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.read_next() {
            Ok(record) => record.map(Ok),
            Err(source) => {
                (self.reader, self.files) = (None, VecDeque::new());
                Some(Err(IoError::new("read audit log", &self.path, source).into()))
            }
        }
    }
}

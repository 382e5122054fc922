//! Reading the log back, line by line or from its end. Whether it can be trusted is the business of `verify`.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::lines::{LineReader, start_of_last};
use super::record::Line;
use crate::{IoError, StoreError};

/// The lines of a log, oldest first. What is not a line of ours is passed over, and so is a torn end.
pub struct Lines {
    path: PathBuf,
    reader: Option<LineReader<BufReader<io::Take<File>>>>,
}

/// Reads what is in the log now. A log that does not exist has no lines.
pub fn read(path: impl AsRef<Path>) -> Result<Lines, StoreError> {
    lines(path.as_ref(), |_, _| Ok(0))
}

/// The last `count` lines, oldest first.
pub fn tail(path: impl AsRef<Path>, count: u64) -> Result<Vec<Line>, StoreError> {
    lines(path.as_ref(), |file, length| {
        let end = start_of_last(file, length, 0)?;
        start_of_last(file, end, count)
    })?
    .collect()
}

fn lines(
    path: &Path,
    start: impl FnOnce(&File, u64) -> io::Result<u64>,
) -> Result<Lines, StoreError> {
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
    let reader = open().map_err(|source| IoError::new("read the audit log", path, source))?;
    Ok(Lines { path: path.to_owned(), reader })
}

impl Iterator for Lines {
    type Item = Result<Line, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.reader.as_mut()?.next() {
                Ok(Some(piece)) if piece.complete => {
                    if let Some(line) = Line::parse(piece.bytes) {
                        return Some(Ok(line));
                    }
                }
                Ok(_) => self.reader = None,
                Err(source) => {
                    self.reader = None;
                    let error = IoError::new("read the audit log", &self.path, source);
                    return Some(Err(error.into()));
                }
            }
        }
    }
}

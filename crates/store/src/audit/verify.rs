//! Finding what was done to a log, and naming the lines.
//!
//! One pass, one line of look-ahead. `walk` follows the chain from line to line; a line that does not follow is either
//! changed, or stands where it does not belong, or something before it is missing. What stands in the wrong place is
//! held against what is missing at the end: a line that is missing here and stands there was moved.

mod report;
mod walk;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

pub use self::report::{Finding, Kind, Report};
use self::walk::{Seen, Walk};
use super::chain::Tip;
use super::head;
use super::lines::LineReader;
use crate::{IoError, StoreError};

/// Checks the whole log against its chain and its head, in constant memory, while others may go on writing.
pub fn verify(path: impl AsRef<Path>) -> Result<Report, StoreError> {
    let path = path.as_ref();
    check(path).map_err(|source| IoError::new("read the audit log", path, source).into())
}

fn check(path: &Path) -> io::Result<Report> {
    let head = head::path_of(path);
    let file = match File::open(path) {
        Ok(file) => file,
        // Nothing was ever written, or everything was removed: the head knows.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Walk::new(head::read(&head)?).finish(None));
        }
        Err(error) => return Err(error),
    };
    let (length, head) = snapshot(&file, &head)?;
    let mut reader = LineReader::new(BufReader::with_capacity(64 << 10, file.take(length)));
    let mut walk = Walk::new(head);
    let mut line = 1;
    let mut current = see(&mut reader, line)?;
    while let Some(seen) = current.take_if(|seen| seen.complete) {
        line += 1;
        let next = see(&mut reader, line)?;
        walk.step(&seen, next.as_ref());
        current = next;
    }
    Ok(walk.finish(current))
}

/// Length and head at one moment between two batches. Up to that length nobody writes any more.
fn snapshot(file: &File, head: &Path) -> io::Result<(u64, Option<Tip>)> {
    file.lock_shared()?;
    let taken = file.metadata().and_then(|metadata| Ok((metadata.len(), head::read(head)?)));
    file.unlock()?;
    taken
}

fn see(reader: &mut LineReader<impl io::BufRead>, line: u64) -> io::Result<Option<Seen>> {
    Ok(reader.next()?.map(|piece| Seen::new(line, &piece)))
}

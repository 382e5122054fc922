//! Reads lines with their hashes in constant memory, and finds the start of the last lines of a file.

use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt;

use sha2::{Digest, Sha256};

use super::chain::{ChainLink, Hash};

/// Maximum length of an audit record, larger than any request. The content of a longer line is hashed but discarded.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// A line with its hash.
pub(super) struct HashedLine<'a> {
    /// The content without the newline; empty if it is longer than [`MAX_LINE_BYTES`].
    pub(super) bytes: &'a [u8],
    pub(super) length: u64,
    pub(super) hash: Hash,
    /// True if the line ends with a newline.
    pub(super) complete: bool,
}

impl HashedLine<'_> {
    /// Returns the chain fields, or `None` if the line is not an audit record.
    pub(super) fn parse_link(&self) -> Option<ChainLink> {
        ChainLink::parse(self.bytes)
    }
}

/// Reads a log line by line.
pub(super) struct LineReader<R> {
    source: R,
    line: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, line: vec![] }
    }

    /// Returns the source, which is read up to the last returned line.
    pub(super) fn into_source(self) -> R {
        self.source
    }

    /// Returns the next line, or `None` at the end. The last line may lack its newline.
    pub(super) fn next_line(&mut self) -> io::Result<Option<HashedLine<'_>>> {
        self.line.clear();
        let mut hasher = Sha256::new();
        let mut length = 0;
        let mut complete = false;
        while !complete {
            let chunk = match self.source.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            let end = chunk.iter().position(|&byte| byte == b'\n');
            complete = end.is_some();
            let part = &chunk[..end.unwrap_or(chunk.len())];
            hasher.update(part);
            length += part.len() as u64;
            if length <= MAX_LINE_BYTES {
                self.line.extend_from_slice(part);
            } else {
                self.line.clear();
            }
            let used = part.len() + usize::from(complete);
            self.source.consume(used);
        }
        if length == 0 && !complete {
            return Ok(None);
        }
        let hash = hasher.finalize().into();
        Ok(Some(HashedLine { bytes: &self.line, length, hash, complete }))
    }
}

/// Returns the offset at which the last `count` lines of the first `end` bytes begin.
///
/// A torn line at the end is not counted. With `count` 0 the result is the offset after the last complete line.
pub(super) fn find_last_lines(file: &File, end: u64, count: u64) -> io::Result<u64> {
    let mut block = [0; 8192];
    let mut wanted = count + 1;
    let mut position = end;
    while position > 0 {
        let size = position.min(block.len() as u64);
        position -= size;
        let block = &mut block[..usize::try_from(size).expect("the block size fits in usize")];
        file.read_exact_at(block, position)?;
        for (offset, _) in block.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n') {
            wanted -= 1;
            if wanted == 0 {
                return Ok(position + offset as u64 + 1);
            }
        }
    }
    Ok(0)
}

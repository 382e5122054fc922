//! Reading lines: forwards with their hashes in constant memory, and backwards from the end of a file.

use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt;

use sha2::{Digest, Sha256};

use super::chain::{Hash, Link};

/// More than a request may hold. A longer line is hashed but not kept, and so is no line of ours.
const MAX_LINE: u64 = 16 << 20;

pub(super) struct Piece<'a> {
    /// Without the newline; empty when it is too long.
    pub(super) bytes: &'a [u8],
    pub(super) length: u64,
    pub(super) hash: Hash,
    /// Whether a newline ends it.
    pub(super) complete: bool,
}

impl Piece<'_> {
    pub(super) fn link(&self) -> Option<Link> {
        Link::parse(self.bytes)
    }
}

pub(super) struct LineReader<R> {
    source: R,
    line: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, line: vec![] }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
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
            if length <= MAX_LINE {
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
        Ok(Some(Piece { bytes: &self.line, length, hash, complete }))
    }
}

/// Where the last `count` lines of the first `end` bytes begin. A torn line at the end counts as none of them, so that
/// with `count` 0 this is where the complete lines end.
pub(super) fn start_of_last(file: &File, end: u64, count: u64) -> io::Result<u64> {
    let mut block = [0; 8192];
    let mut wanted = count + 1;
    let mut position = end;
    while position > 0 {
        let size = position.min(block.len() as u64);
        position -= size;
        let block = &mut block[..usize::try_from(size).expect("a block is small")];
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

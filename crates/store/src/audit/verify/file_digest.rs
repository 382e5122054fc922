//! Computes the hash and length of a file while its lines are read.

use std::io::{self, BufRead, Read};

use sha2::{Digest, Sha256};

use crate::audit::chain::{self, Hash};

/// The content of a file, as the event at the start of the next file names it.
pub(super) struct FileDigest {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// A reader that hashes what is read.
pub(super) struct DigestReader<R> {
    source: R,
    hasher: Sha256,
    bytes: u64,
}

impl<R: BufRead> DigestReader<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, hasher: Sha256::new(), bytes: 0 }
    }

    /// Returns the digest of what was read.
    pub(super) fn finish(self) -> FileDigest {
        let hash: Hash = self.hasher.finalize().into();
        FileDigest { bytes: self.bytes, sha256: chain::format_hash(&hash) }
    }
}

impl<R: BufRead> Read for DigestReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.fill_buf()?.read(buffer)?;
        self.consume(size);
        Ok(size)
    }
}

impl<R: BufRead> BufRead for DigestReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        if let Ok(block) = self.source.fill_buf() {
            self.hasher.update(&block[..amount]);
        }
        self.bytes += amount as u64;
        self.source.consume(amount);
    }
}

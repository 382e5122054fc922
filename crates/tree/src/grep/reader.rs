//! How files are read for both passes: the searcher's settings, with a bound on memory, and an end when nobody waits.

use std::fs::File;
use std::io::{self, Read, Seek};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink};

use super::MAX_LINE_BYTES;

/// How much the searcher reads at once, until a line is longer.
const PIECE: usize = 64 * 1024;

/// How much of a file is read at first: a piece, and the three bytes before it that are looked at for a byte order mark.
const BEGINNING: usize = PIECE + 3;

/// The settings of ripgrep for files that it meets in a folder.
pub(super) fn settings() -> SearcherBuilder {
    let mut builder = SearcherBuilder::new();
    builder.binary_detection(BinaryDetection::quit(0)).heap_limit(Some(MAX_LINE_BYTES));
    builder
}

/// Searches one file after the other.
pub(super) struct Reader<'a> {
    settings: SearcherBuilder,
    searcher: Searcher,
    /// The beginning of a file, kept for the next one.
    beginning: Vec<u8>,
    is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        settings: SearcherBuilder,
        is_cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Self { searcher: settings.build(), settings, beginning: vec![0; BEGINNING], is_cancelled }
    }

    /// Searches at most `bytes` of the file, of which there are `size`, and gives the sink that was told.
    ///
    /// A long line makes the searcher's buffer grow for good, and with it the pieces that it reads. How much of a file
    /// with a NUL byte is searched depends on the pieces, so a grown buffer would let one file decide what is found in
    /// another. It is replaced, and the search begun again with a new sink: the first three bytes are read apart, for
    /// the byte order mark, and a sink may have heard of a line in them.
    pub(super) fn search<S: Sink<Error = io::Error>>(
        &mut self,
        matcher: &RegexMatcher,
        mut file: &File,
        size: u64,
        bytes: u64,
        sink: impl Fn() -> S,
    ) -> io::Result<S> {
        // What is written while it is searched counts next time. Some file systems say 0 of every file.
        let bytes = if size == 0 { bytes } else { bytes.min(size) };
        let mut pieces = Pieces::new(file, bytes, &mut self.beginning, self.is_cancelled);
        let mut told = sink();
        let mut result = self.searcher.search_reader(matcher, &mut pieces, &mut told);
        if pieces.has_grown {
            self.searcher = self.settings.build();
            file.rewind()?;
            let pieces = Pieces::new(file, bytes, &mut self.beginning, self.is_cancelled);
            told = sink();
            result = self.searcher.search_reader(matcher, pieces, &mut told);
        }
        result.map(|()| told)
    }
}

/// Gives the searcher the pieces that reading the file itself would give, with fewer calls: a small file is read by one.
struct Pieces<'a> {
    file: &'a File,
    /// How many bytes may still be given.
    left: u64,
    /// How many were given.
    read: usize,
    beginning: &'a mut [u8],
    /// How much of the beginning is filled; None before the first read.
    filled: Option<usize>,
    /// The buffer was larger than it should be before anything was searched.
    has_grown: bool,
    is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Pieces<'a> {
    fn new(
        file: &'a File,
        left: u64,
        beginning: &'a mut [u8],
        is_cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Self { file, left, read: 0, beginning, filled: None, has_grown: false, is_cancelled }
    }

    /// The beginning that was not given yet, read by one call where the system does.
    fn rest_of_beginning(&mut self) -> io::Result<&[u8]> {
        let filled = match self.filled {
            Some(filled) => filled,
            None => {
                let filled = self.file.take(self.left).read(self.beginning)?;
                *self.filled.insert(filled)
            }
        };
        Ok(&self.beginning[self.read.min(filled)..filled])
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Even a file of many gigabytes is given up at once.
        self.has_grown = buffer.len() > PIECE && self.read < PIECE;
        if self.has_grown || (self.is_cancelled)() {
            // Not `Interrupted`, which readers take for an invitation to try again.
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if self.left == 0 {
            return Ok(0);
        }
        let rest = self.rest_of_beginning()?;
        let mut read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        self.left -= read as u64;
        // A piece ends where the buffer or the file does, not where the beginning happens to.
        if read < buffer.len() && self.left > 0 {
            let more = self.file.take(self.left).read(&mut buffer[read..])?;
            self.left -= more as u64;
            read += more;
        }
        self.read += read;
        Ok(read)
    }
}

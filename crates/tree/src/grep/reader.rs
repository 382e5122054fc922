//! How files are read for both passes: the searcher's settings, with a bound on memory, and an end when nobody waits.

use std::fs::File;
use std::io::{self, Read, Seek};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink};

use super::MAX_LINE_BYTES;

/// How much the searcher reads at once, until a line is longer.
const PIECE: usize = 64 * 1024;

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
    is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        settings: SearcherBuilder,
        is_cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Self { searcher: settings.build(), settings, is_cancelled }
    }

    /// Searches at most `bytes` of the file, and gives the sink that was told.
    ///
    /// A long line makes the searcher's buffer grow for good, and with it the pieces that it reads. How much of a file
    /// with a NUL byte is searched depends on the pieces, so a grown buffer would let one file decide what is found in
    /// another. It is replaced, and the search begun again with a new sink: the first three bytes are read apart, for
    /// the byte order mark, and a sink may have heard of a line in them.
    pub(super) fn search<S: Sink<Error = io::Error>>(
        &mut self,
        matcher: &RegexMatcher,
        mut file: &File,
        bytes: u64,
        sink: impl Fn() -> S,
    ) -> io::Result<S> {
        let is_cancelled = self.is_cancelled;
        let mut pieces = Pieces { file, left: bytes, read: 0, has_grown: false, is_cancelled };
        let mut told = sink();
        let mut result = self.searcher.search_reader(matcher, &mut pieces, &mut told);
        if pieces.has_grown {
            self.searcher = self.settings.build();
            file.rewind()?;
            let pieces = Pieces { file, left: bytes, read: 0, has_grown: false, is_cancelled };
            told = sink();
            result = self.searcher.search_reader(matcher, pieces, &mut told);
        }
        result.map(|()| told)
    }
}

struct Pieces<'a> {
    file: &'a File,
    /// How many bytes may still be read.
    left: u64,
    read: usize,
    /// The buffer was larger than it should be before anything was searched.
    has_grown: bool,
    is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Even a file of many gigabytes is given up at once.
        self.has_grown = buffer.len() > PIECE && self.read < PIECE;
        if self.has_grown || (self.is_cancelled)() {
            // Not `Interrupted`, which readers take for an invitation to try again.
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let read = self.file.take(self.left).read(buffer)?;
        self.left -= read as u64;
        self.read += read;
        Ok(read)
    }
}

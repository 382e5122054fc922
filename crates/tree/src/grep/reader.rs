//! Reads files for both passes, with ripgrep's searcher settings, bounded memory and cancellation.

use std::fs::File;
use std::io::{self, Read, Seek};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink};

use super::MAX_LINE_BYTES;

/// Number of bytes the searcher reads at once, unless a line is longer.
const CHUNK_BYTES: usize = 64 * 1024;

/// Size of the first read: one chunk, plus the three bytes that are checked for a byte order mark.
const FIRST_READ_BYTES: usize = CHUNK_BYTES + 3;

/// Returns ripgrep's settings for the files of a folder search.
pub(super) fn searcher_settings() -> SearcherBuilder {
    let mut builder = SearcherBuilder::new();
    builder.binary_detection(BinaryDetection::quit(0)).heap_limit(Some(MAX_LINE_BYTES));
    builder
}

/// Searches files one after the other, and reuses its buffers.
pub(super) struct FileSearcher<'a> {
    settings: SearcherBuilder,
    searcher: Searcher,
    /// Buffer for the beginning of a file.
    beginning: Vec<u8>,
    is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> FileSearcher<'a> {
    pub(super) fn new(
        settings: SearcherBuilder,
        is_cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Self {
            searcher: settings.build(),
            settings,
            beginning: vec![0; FIRST_READ_BYTES],
            is_cancelled,
        }
    }

    /// Searches at most `bytes` bytes of a file of `size` bytes. Returns the sink that received the matches.
    ///
    /// A long line makes the searcher's buffer grow permanently, and with it the chunks that it reads. The searched
    /// part of a file with a NUL byte depends on the chunks, so a grown buffer would let one file affect the matches of
    /// another. Therefore a grown searcher is replaced, and the search restarts with a new sink. A new sink is needed
    /// because the first three bytes are read separately for the byte order mark, and may already contain a line.
    pub(super) fn search_file<S: Sink<Error = io::Error>>(
        &mut self,
        matcher: &RegexMatcher,
        mut file: &File,
        size: u64,
        bytes: u64,
        sink: impl Fn() -> S,
    ) -> io::Result<S> {
        // Data appended during the search is ignored. Some file systems report size 0 for every file.
        let bytes = if size == 0 { bytes } else { bytes.min(size) };
        let mut chunks = FileChunks::new(file, bytes, &mut self.beginning, self.is_cancelled);
        let mut receiver = sink();
        let mut result = self.searcher.search_reader(matcher, &mut chunks, &mut receiver);
        if chunks.has_grown {
            self.searcher = self.settings.build();
            file.rewind()?;
            let chunks = FileChunks::new(file, bytes, &mut self.beginning, self.is_cancelled);
            receiver = sink();
            result = self.searcher.search_reader(matcher, chunks, &mut receiver);
        }
        result.map(|()| receiver)
    }
}

/// Returns the same chunks as reading the file directly, with fewer system calls: one for a small file.
struct FileChunks<'a> {
    file: &'a File,
    /// Number of bytes that may still be returned.
    left: u64,
    /// Number of bytes returned so far.
    read: usize,
    beginning: &'a mut [u8],
    /// Number of bytes in `beginning`; `None` before the first read.
    filled: Option<usize>,
    /// Set if the searcher's buffer was too large before the search started.
    has_grown: bool,
    is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

impl<'a> FileChunks<'a> {
    fn new(
        file: &'a File,
        left: u64,
        beginning: &'a mut [u8],
        is_cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Self { file, left, read: 0, beginning, filled: None, has_grown: false, is_cancelled }
    }

    /// Returns the unread rest of the beginning. The first call fills it with one `read`.
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

impl Read for FileChunks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Checked on each read, so that cancellation also stops the search of a huge file.
        self.has_grown = buffer.len() > CHUNK_BYTES && self.read < CHUNK_BYTES;
        if self.has_grown || (self.is_cancelled)() {
            // Not `Interrupted`, because readers retry on it.
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if self.left == 0 {
            return Ok(0);
        }
        let rest = self.rest_of_beginning()?;
        let mut read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        self.left -= read as u64;
        // A chunk ends at the end of the buffer or of the file, not at the end of `beginning`.
        if read < buffer.len() && self.left > 0 {
            let more = self.file.take(self.left).read(&mut buffer[read..])?;
            self.left -= more as u64;
            read += more;
        }
        self.read += read;
        Ok(read)
    }
}

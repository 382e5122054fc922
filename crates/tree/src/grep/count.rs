//! The first pass: counts the matching lines of each file, and keeps the files needed for the first matches.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use grep_searcher::{Searcher, Sink, SinkFinish, SinkMatch};
use parking_lot::Mutex;

use super::reader::{FileSearcher, searcher_settings};
use super::{GrepQuery, OrderedPath};
use crate::{FileStamp, FileTree};
use guard::PathRefusal;

/// The matches of one file, and the state of the file when they were counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileCount {
    pub(super) matches: u64,
    pub(super) stamp: FileStamp,
    /// Number of bytes that may be searched again; `u64::MAX` for a file without NUL bytes.
    pub(super) bytes: u64,
}

/// Counts over all files so far, shared by the threads.
pub(super) struct MatchTally {
    limit: u64,
    total: AtomicU64,
    skipped: AtomicU64,
    first: Mutex<LeadingFiles>,
}

/// The first files with matches, as many as are needed for `limit` matches.
#[derive(Default)]
struct LeadingFiles {
    files: BTreeMap<OrderedPath, FileCount>,
    matches: u64,
}

/// The result of the first pass.
pub(super) struct MatchCounts {
    pub(super) first: BTreeMap<OrderedPath, FileCount>,
    pub(super) total: u64,
    pub(super) skipped: u64,
}

impl MatchTally {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit: limit as u64,
            total: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            first: Mutex::default(),
        }
    }

    fn add_file(&self, path: &str, count: FileCount) {
        self.total.fetch_add(count.matches, Ordering::Relaxed);
        let mut first = self.first.lock();
        first.files.insert(OrderedPath(path.into()), count);
        first.matches += count.matches;
        while let Some((_, last)) = first.files.last_key_value()
            && first.matches - last.matches >= self.limit
        {
            first.matches -= last.matches;
            first.files.pop_last();
        }
    }

    pub(super) fn finish(self) -> MatchCounts {
        let first = self.first.into_inner();
        MatchCounts {
            first: first.files,
            total: self.total.into_inner(),
            skipped: self.skipped.into_inner(),
        }
    }
}

/// Counts matches on one thread.
pub(super) struct MatchCounter<'a> {
    tree: &'a FileTree,
    query: &'a GrepQuery,
    tally: &'a MatchTally,
    reader: FileSearcher<'a>,
}

impl<'a> MatchCounter<'a> {
    pub(super) fn new(
        tree: &'a FileTree,
        query: &'a GrepQuery,
        tally: &'a MatchTally,
        is_cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        let mut settings = searcher_settings();
        settings.line_number(false);
        Self { tree, query, tally, reader: FileSearcher::new(settings, is_cancelled) }
    }

    /// Searches one file. Unreadable files are counted as skipped; removed files are not counted at all.
    pub(super) fn count_file(&mut self, path: &str) {
        let (file, metadata) = match self.tree.open(path) {
            Ok(opened) => opened,
            Err(PathRefusal::NotFound) => return,
            Err(_) => {
                self.tally.skipped.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        let lines = || LineCountSink { matches: 0, bytes: 0 };
        match self.reader.search_file(&self.query.matcher, &file, metadata.len(), u64::MAX, lines) {
            Ok(LineCountSink { matches: 0, .. }) => {}
            Ok(LineCountSink { matches, bytes }) => {
                self.tally.add_file(
                    path,
                    FileCount { matches, stamp: FileStamp::from_metadata(&metadata), bytes },
                );
            }
            Err(_) => drop(self.tally.skipped.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

/// Counts the matching lines of one file.
struct LineCountSink {
    matches: u64,
    bytes: u64,
}

impl Sink for LineCountSink {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        Ok(true)
    }

    /// Records where the search ended. A file with a NUL byte is searched up to the chunk that contains the byte. Chunk
    /// boundaries differ between the passes, so the second pass must not read further than the first.
    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), Self::Error> {
        self.bytes = end.binary_byte_offset().map_or(u64::MAX, |_| end.byte_count());
        Ok(())
    }
}

//! The first pass: how many lines of each file match, and which files come first.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use grep_searcher::{Searcher, Sink, SinkFinish, SinkMatch};
use parking_lot::Mutex;

use super::reader::{Reader, settings};
use super::{Place, Query};
use crate::{Stamp, Tree};
use guard::Refusal;

/// What one file holds, and the state it was in.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileCount {
    pub(super) matches: u64,
    pub(super) stamp: Stamp,
    /// How many bytes were searched.
    pub(super) bytes: u64,
}

/// The sums over all files so far, shared by the threads.
pub(super) struct Tally {
    limit: u64,
    total: AtomicU64,
    skipped: AtomicU64,
    first: Mutex<First>,
}

/// Files with matches, as many of the first as are needed for `limit` matches.
#[derive(Default)]
struct First {
    files: BTreeMap<Place, FileCount>,
    matches: u64,
}

pub(super) struct Counted {
    pub(super) first: BTreeMap<Place, FileCount>,
    pub(super) total: u64,
    pub(super) skipped: u64,
}

impl Tally {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit: limit as u64,
            total: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            first: Mutex::default(),
        }
    }

    fn add(&self, path: &str, count: FileCount) {
        self.total.fetch_add(count.matches, Ordering::Relaxed);
        let mut first = self.first.lock();
        first.files.insert(Place(path.into()), count);
        first.matches += count.matches;
        while let Some((_, last)) = first.files.last_key_value()
            && first.matches - last.matches >= self.limit
        {
            first.matches -= last.matches;
            first.files.pop_last();
        }
    }

    pub(super) fn finish(self) -> Counted {
        let first = self.first.into_inner();
        Counted {
            first: first.files,
            total: self.total.into_inner(),
            skipped: self.skipped.into_inner(),
        }
    }
}

/// Counts for one thread.
pub(super) struct Counter<'a> {
    tree: &'a Tree,
    query: &'a Query,
    tally: &'a Tally,
    reader: Reader<'a>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(
        tree: &'a Tree,
        query: &'a Query,
        tally: &'a Tally,
        is_cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        let mut settings = settings();
        settings.line_number(false);
        Self { tree, query, tally, reader: Reader::new(settings, is_cancelled) }
    }

    /// Searches one file. What cannot be read is skipped; what has vanished is not there.
    pub(super) fn count(&mut self, path: &str) {
        let (file, metadata) = match self.tree.open(path) {
            Ok(opened) => opened,
            Err(Refusal::NotFound) => return,
            Err(_) => {
                self.tally.skipped.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        let lines = || Lines { matches: 0, bytes: 0 };
        match self.reader.search(&self.query.matcher, &file, metadata.len(), u64::MAX, lines) {
            Ok(Lines { matches: 0, .. }) => {}
            Ok(Lines { matches, bytes }) => {
                self.tally.add(path, FileCount { matches, stamp: Stamp::of(&metadata), bytes });
            }
            Err(_) => drop(self.tally.skipped.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

struct Lines {
    matches: u64,
    bytes: u64,
}

impl Sink for Lines {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        Ok(true)
    }

    /// A file with a NUL byte is searched up to the piece of it, as it was read, that has the byte. Pieces differ
    /// between passes, so the second must not go further than the first did.
    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), Self::Error> {
        self.bytes = end.binary_byte_offset().map_or(u64::MAX, |_| end.byte_count());
        Ok(())
    }
}

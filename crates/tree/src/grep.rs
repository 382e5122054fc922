//! The search itself: ripgrep's engine over the files that count, in parallel, with or without an index.
//!
//! It runs in two passes. The first counts matching lines, file by file, and keeps the files that can still be among
//! the first `limit` matches. The second reads those few again, for the lines themselves and their context. So totals
//! are exact however small the limit is, memory does not grow with the number of matches, and a search that finds a
//! million lines does not build a million texts.
//!
//! What matches is what `rg` with its default options would print for a folder: text is searched line by line, a file
//! ends at its first NUL byte, a byte order mark decides the encoding, links are not followed. Where this differs, it
//! says so: a line of more than [`MAX_LINE_BYTES`] is not searched, and its file counts as skipped.
//!
//! `query.rs` holds what is asked, `filter.rs` the glob, `count.rs` the first pass, `lines.rs` the second, `excerpt.rs`
//! cuts long lines.

mod count;
mod excerpt;
mod filter;
mod lines;
mod query;
mod reader;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use self::count::{Counted, Counter, Tally};
pub use self::excerpt::MAX_TEXT;
pub use self::filter::{FilterError, MAX_GLOB};
pub use self::query::{PatternError, Query};
use crate::rules;
use crate::trigram::Plan;
use crate::{Tree, by_path};

/// A longer line is not searched: it would have to be held in memory whole, by every thread that meets one.
pub const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// How many lines are shown before and after a match.
pub const CONTEXT_LINES: usize = 2;

/// One line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    pub file: String,
    /// From 1.
    pub line: u64,
    /// Where the first match on the line begins, in characters from 1; always that of the whole line.
    pub column: u64,
    /// The line without its end, cut to [`MAX_TEXT`] characters around the match.
    pub text: String,
    /// Up to [`CONTEXT_LINES`] lines before, oldest first.
    pub before: Vec<String>,
    pub after: Vec<String>,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The first ones, by path ([`by_path`]) and line.
    pub matches: Vec<Match>,
    /// How many lines match, in all files.
    pub total: u64,
    /// How many files were searched, or known not to match.
    pub files: u64,
    /// How many files and folders could not be read.
    pub skipped: u64,
}

/// Somebody who knows the files, and which of them need not be read.
pub trait Narrow: Sync {
    /// The files that count and pass `filter`, as of now, or None if that is not known now.
    fn narrow(&self, plan: &Plan, filter: &dyn Fn(&str) -> bool) -> Option<Narrowed>;
}

/// The files of a project, less those that cannot match.
#[derive(Clone, Debug, Default)]
pub struct Narrowed {
    /// How many files pass the filter, candidates or not.
    pub files: u64,
    /// Those that may match.
    pub candidates: Vec<Arc<str>>,
    /// Folders that could not be read.
    pub unreadable: u64,
}

/// The search was given up because nobody waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the search was cancelled")]
pub struct Cancelled;

/// Searches all files that count, or the candidates that `narrow` names.
pub fn search(
    tree: &Tree,
    query: &Query,
    narrow: Option<&dyn Narrow>,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Found, Cancelled> {
    let filter = |path: &str| query.filter.lets_through(path);
    let narrowed = narrow.and_then(|narrow| narrow.narrow(&query.plan, &filter));
    let tally = Tally::new(query.limit);
    let (files, unreadable) = match narrowed {
        Some(Narrowed { files, candidates, unreadable }) => {
            count_candidates(tree, query, &candidates, &tally, is_cancelled);
            (files, unreadable)
        }
        None => count_all(tree, query, &tally, is_cancelled),
    };
    if is_cancelled() {
        return Err(Cancelled);
    }
    let Counted { first, mut total, skipped } = tally.finish();
    let mut matches = Vec::new();
    for (file, counted) in first {
        let wanted = query.limit - matches.len();
        if wanted == 0 {
            break;
        }
        let again = lines::of_file(tree, query, file.path(), &counted, wanted, is_cancelled);
        if is_cancelled() {
            return Err(Cancelled);
        }
        total = total - counted.matches + again.total;
        matches.extend(again.matches);
    }
    Ok(Found {
        matches,
        total,
        files: files.saturating_sub(skipped),
        skipped: skipped + unreadable,
    })
}

/// As many threads as ripgrep takes.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(12)
}

fn count_candidates(
    tree: &Tree,
    query: &Query,
    candidates: &[Arc<str>],
    tally: &Tally,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) {
    /// A thread costs about as much to start as a few files to search.
    const FILES_FOR_A_THREAD: usize = 8;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut counter = Counter::new(tree, query, tally, is_cancelled);
        while let Some(path) = candidates.get(next.fetch_add(1, Ordering::Relaxed))
            && !is_cancelled()
        {
            counter.count(path);
        }
    };
    let threads = threads().min(candidates.len().div_ceil(FILES_FOR_A_THREAD));
    if threads <= 1 {
        return work();
    }
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}

/// Walks the tree; gives the number of files that pass the filter, and of folders that could not be read.
fn count_all(
    tree: &Tree,
    query: &Query,
    tally: &Tally,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> (u64, u64) {
    let (files, unreadable) = (AtomicU64::new(0), AtomicU64::new(0));
    let (names, root) = (tree.names.clone(), tree.root.clone());
    let filter = move |entry: &ignore::DirEntry| names.let_entry_through(entry, &root);
    let walk = rules::walk(tree.root(), tree.root(), filter).threads(threads()).build_parallel();
    walk.run(|| {
        let mut counter = Counter::new(tree, query, tally, is_cancelled);
        let (files, unreadable) = (&files, &unreadable);
        Box::new(move |entry| {
            if is_cancelled() {
                return ignore::WalkState::Quit;
            }
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    if let Some(path) = tree.relative(entry.path())
                        && query.filter.lets_through(path)
                    {
                        files.fetch_add(1, Ordering::Relaxed);
                        counter.count(path);
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    unreadable
                        .fetch_add(tree.unreadable(&error).iter().len() as u64, Ordering::Relaxed);
                }
            }
            ignore::WalkState::Continue
        })
    });
    (files.into_inner(), unreadable.into_inner())
}

/// A path in the order of answers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place(Box<str>);

impl Place {
    fn path(&self) -> &str {
        &self.0
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        by_path(&self.0, &other.0)
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

//! Grep: ripgrep's engine over the included files, in parallel, with or without an index.
//!
//! A search runs in two passes. The first pass counts matching lines per file, and keeps the files that can still
//! contribute to the first `limit` matches. The second pass reads those files again for the lines and their context.
//! Totals are therefore exact for any limit, and memory does not grow with the number of matches.
//!
//! Matches are those that `rg` prints for a folder with its default options: text is searched line by line, a file ends
//! at its first NUL byte, a byte order mark selects the encoding, and symbolic links are not followed. There is one
//! difference: a line longer than [`MAX_LINE_BYTES`] is not searched, and its file is reported as skipped.
//!
//! `query.rs` holds the compiled query, `filter.rs` the glob, `count.rs` the first pass, `lines.rs` the second pass,
//! `reader.rs` reads files for both, and `excerpt.rs` truncates long lines. Start at [`search_files`].

mod count;
mod excerpt;
mod filter;
mod lines;
mod query;
mod reader;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use self::count::{MatchCounter, MatchCounts, MatchTally};
pub use self::excerpt::MAX_TEXT;
pub use self::filter::{FilterError, MAX_GLOB};
pub use self::query::{GrepPatternError, GrepQuery};
use crate::rules;
use crate::trigram::TrigramPlan;
use crate::{FileTree, compare_paths};

/// Maximum length of a searched line. Each thread would have to hold a longer line in memory as a whole.
pub const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// Number of context lines before and after a match.
pub const CONTEXT_LINES: usize = 2;

/// A matching line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrepMatch {
    pub file: String,
    /// Line number, starting at 1.
    pub line: u64,
    /// Start of the first match in the untruncated line, in characters, starting at 1.
    pub column: u64,
    /// The line without its line ending, truncated to [`MAX_TEXT`] characters around the match.
    pub text: String,
    /// Up to [`CONTEXT_LINES`] lines before the match, in file order.
    pub before: Vec<String>,
    /// Up to [`CONTEXT_LINES`] lines after the match.
    pub after: Vec<String>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrepResults {
    /// The first matches, ordered by path ([`compare_paths`]) and line.
    pub matches: Vec<GrepMatch>,
    /// Number of matching lines in all files.
    pub total: u64,
    /// Number of files that were searched, or ruled out by an index.
    pub files: u64,
    /// Number of files and folders that could not be read.
    pub skipped: u64,
}

/// An index of the project's files that can rule out files without reading them.
pub trait CandidateSource: Sync {
    /// Returns the included files that pass `filter` and may match `plan`, or `None` if the index is not ready.
    fn find_candidates(
        &self,
        plan: &TrigramPlan,
        filter: &dyn Fn(&str) -> bool,
    ) -> Option<GrepCandidates>;
}

/// The files that may contain a match.
#[derive(Clone, Debug, Default)]
pub struct GrepCandidates {
    /// Number of files that pass the filter, including files that cannot match.
    pub files: u64,
    /// Files that may match.
    pub candidates: Vec<Arc<str>>,
    /// Number of folders that could not be read.
    pub unreadable: u64,
}

/// The search was cancelled by its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("search cancelled")]
pub struct SearchCancelled;

/// Searches all included files, or only the candidates that `narrow` returns.
///
/// Returns [`SearchCancelled`] as soon as `is_cancelled` returns true.
pub fn search_files(
    tree: &FileTree,
    query: &GrepQuery,
    narrow: Option<&dyn CandidateSource>,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<GrepResults, SearchCancelled> {
    let filter = |path: &str| query.filter.matches_path(path);
    let narrowed = narrow.and_then(|narrow| narrow.find_candidates(&query.plan, &filter));
    let tally = MatchTally::new(query.limit);
    let (files, unreadable) = match narrowed {
        Some(GrepCandidates { files, candidates, unreadable }) => {
            count_candidates(tree, query, &candidates, &tally, is_cancelled);
            (files, unreadable)
        }
        None => count_in_tree(tree, query, &tally, is_cancelled),
    };
    if is_cancelled() {
        return Err(SearchCancelled);
    }
    let MatchCounts { first, mut total, skipped } = tally.finish();
    let mut matches = Vec::new();
    for (file, counted) in first {
        let wanted = query.limit - matches.len();
        if wanted == 0 {
            break;
        }
        let read =
            lines::read_file_matches(tree, query, file.path(), &counted, wanted, is_cancelled);
        if is_cancelled() {
            return Err(SearchCancelled);
        }
        // The file may have changed between the passes.
        total = total - counted.matches + read.total;
        matches.extend(read.matches);
    }
    Ok(GrepResults {
        matches,
        total,
        files: files.saturating_sub(skipped),
        skipped: skipped + unreadable,
    })
}

/// Returns the number of threads that ripgrep would use.
fn thread_count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(12)
}

fn count_candidates(
    tree: &FileTree,
    query: &GrepQuery,
    candidates: &[Arc<str>],
    tally: &MatchTally,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) {
    /// Starting a thread costs about as much as searching a few files.
    const FILES_PER_THREAD: usize = 8;
    let next = AtomicUsize::new(0);
    let work = || {
        let mut counter = MatchCounter::new(tree, query, tally, is_cancelled);
        while let Some(path) = candidates.get(next.fetch_add(1, Ordering::Relaxed))
            && !is_cancelled()
        {
            counter.count_file(path);
        }
    };
    let threads = thread_count().min(candidates.len().div_ceil(FILES_PER_THREAD));
    if threads <= 1 {
        return work();
    }
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}

/// Counts matches while walking the tree. Returns the number of files that pass the filter, and of unreadable folders.
fn count_in_tree(
    tree: &FileTree,
    query: &GrepQuery,
    tally: &MatchTally,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> (u64, u64) {
    if tree.is_unsafe_start("") {
        return (0, 1);
    }
    let files = AtomicU64::new(0);
    let unreadable = Arc::new(AtomicU64::new(0));
    let (names, root) = (tree.names.clone(), tree.root.clone());
    let refused = Arc::clone(&unreadable);
    let filter = move |entry: &ignore::DirEntry| {
        let is_allowed = names.allows_entry(entry, &root);
        let is_refused = is_allowed && rules::refuses_entry(entry, &root);
        refused.fetch_add(u64::from(is_refused), Ordering::Relaxed);
        !is_refused && is_allowed
    };
    let walk = rules::build_walk(tree.root(), tree.root(), filter)
        .threads(thread_count())
        .build_parallel();
    walk.run(|| {
        let mut counter = MatchCounter::new(tree, query, tally, is_cancelled);
        let (files, unreadable) = (&files, &*unreadable);
        Box::new(move |entry| {
            if is_cancelled() {
                return ignore::WalkState::Quit;
            }
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                    if let Some(path) = tree.relative_path(entry.path())
                        && query.filter.matches_path(path)
                    {
                        files.fetch_add(1, Ordering::Relaxed);
                        counter.count_file(path);
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    unreadable.fetch_add(
                        tree.unreadable_folder(&error).iter().len() as u64,
                        Ordering::Relaxed,
                    );
                }
            }
            ignore::WalkState::Continue
        })
    });
    (files.into_inner(), unreadable.load(Ordering::Relaxed))
}

/// A path that is ordered by [`compare_paths`].
#[derive(Clone, Debug, PartialEq, Eq)]
struct OrderedPath(Box<str>);

impl OrderedPath {
    fn path(&self) -> &str {
        &self.0
    }
}

impl Ord for OrderedPath {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        compare_paths(&self.0, &other.0)
    }
}

impl PartialOrd for OrderedPath {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

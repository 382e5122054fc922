//! Trigrams of the project's files, which let grep skip files that cannot match.
//!
//! A file is added when it is listed, at first without a trigram set. Files without a set are always searched. So
//! results are complete from the start, and grep gets faster with every analyzed file.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{RwLock, RwLockWriteGuard};
use tree::grep::GrepCandidates;
use tree::trigram::{TrigramCollector, TrigramIndex, TrigramPlan, TrigramSet};

/// Trigram index of the files that grep can see.
#[derive(Default)]
pub(crate) struct TrigramFilter {
    index: RwLock<TrigramIndex>,
    /// True if trigram sets are loaded. A process that runs a single `context_search` does not need them.
    wanted: AtomicBool,
}

impl TrigramFilter {
    pub(crate) fn enable_sets(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_sets_enabled(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Adds files, or drops their sets: they exist, and their content is unknown.
    pub(crate) fn mark_unknown<'a>(&self, paths: impl IntoIterator<Item = &'a str>) {
        let mut index = self.lock_for_write();
        for path in paths {
            index.insert(path, None);
        }
    }

    /// Sets the trigrams of a file, unless it `changed` since it was read. `changed` is called under the lock that
    /// [`TrigramFilter::mark_unknown`] takes after a change was queued, so an old set never represents new content.
    pub(crate) fn insert_set(
        &self,
        path: &str,
        set: Option<TrigramSet>,
        changed: impl FnOnce() -> bool,
    ) {
        let mut index = self.lock_for_write();
        // A file that was removed meanwhile is not added again.
        if index.contains(path) {
            index.insert(path, set.filter(|_| !changed()));
        }
    }

    pub(crate) fn remove_files<'a>(&self, paths: impl IntoIterator<Item = &'a str>) {
        let mut index = self.lock_for_write();
        for path in paths {
            index.remove(path);
        }
    }

    /// Returns the files that pass `filter` and may match the plan.
    pub(crate) fn select_candidates(
        &self,
        plan: &TrigramPlan,
        filter: &dyn Fn(&str) -> bool,
    ) -> GrepCandidates {
        let index = self.index.read();
        let files = index.paths().filter(|path| filter(path)).count() as u64;
        let mut candidates = index.find_candidates(plan);
        drop(index);
        candidates.retain(|path| filter(path));
        GrepCandidates { files, candidates, unreadable: 0 }
    }

    fn lock_for_write(&self) -> RwLockWriteGuard<'_, TrigramIndex> {
        self.index.write()
    }
}

/// Returns the trigram set of a file's content; `None` if the file must always be searched.
pub(crate) fn collect_trigrams(content: &[u8]) -> Option<TrigramSet> {
    thread_local! {
        static COLLECTOR: RefCell<TrigramCollector> = RefCell::default();
    }
    COLLECTOR.with_borrow_mut(|collector| collector.collect(content))
}

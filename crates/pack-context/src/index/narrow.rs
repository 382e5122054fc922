//! Which files grep need not read: the trigrams of the project's files, kept current.
//!
//! A file is in it from the moment it is listed, without a set at first: such files are always searched. So the answer
//! is right from the first second, and quicker with every file that was looked at.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{RwLock, RwLockWriteGuard};
use tree::grep::Narrowed;
use tree::trigram::{Collector, Index, Plan, Set};

#[derive(Default)]
pub(crate) struct Trigrams {
    index: RwLock<Index>,
    /// Whether sets are wanted. A single question about meaning does not load them.
    wanted: AtomicBool,
}

impl Trigrams {
    pub(crate) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn are_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// These files are there, and what they hold is not known.
    pub(crate) fn unknown<'a>(&self, paths: impl IntoIterator<Item = &'a str>) {
        let mut index = self.write();
        for path in paths {
            index.insert(path, None);
        }
    }

    /// The file holds these, unless it `changed` since it was read. That is asked under the lock that
    /// [`Trigrams::unknown`] takes after the change was noted, so an old set never stands for a new content.
    pub(crate) fn put(&self, path: &str, set: Option<Set>, changed: impl FnOnce() -> bool) {
        let mut index = self.write();
        // A file that is gone by now stays gone.
        if index.contains(path) {
            index.insert(path, set.filter(|_| !changed()));
        }
    }

    pub(crate) fn remove<'a>(&self, paths: impl IntoIterator<Item = &'a str>) {
        let mut index = self.write();
        for path in paths {
            index.remove(path);
        }
    }

    /// The files that pass `filter`, less those that cannot match.
    pub(crate) fn narrow(&self, plan: &Plan, filter: &dyn Fn(&str) -> bool) -> Narrowed {
        let index = self.index.read();
        let files = index.paths().filter(|path| filter(path)).count() as u64;
        let mut candidates = index.candidates(plan);
        drop(index);
        candidates.retain(|path| filter(path));
        Narrowed { files, candidates, unreadable: 0 }
    }

    fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write()
    }
}

/// The set of a file's content; None if the file must always be searched.
pub(crate) fn set_of(content: &[u8]) -> Option<Set> {
    thread_local! {
        static COLLECTOR: RefCell<Collector> = RefCell::default();
    }
    COLLECTOR.with_borrow_mut(|collector| collector.collect(content))
}

//! Keeps the index in sync with the project's files: the first listing, the watch, and analysis of changed files.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use parking_lot::Mutex;
use tree::{FileChange, FileWatcher, SettleOutcome};

use super::core::IndexCore;
use crate::IndexPhase;

/// Minimum number of waiting files for which helper threads are started.
const MIN_FILES_FOR_HELPERS: usize = 64;

/// Synchronizes the index with the files of the project.
pub(crate) struct FileSynchronizer {
    core: Arc<IndexCore>,
    threads: NonZeroUsize,
    watched: bool,
    watch: OnceLock<FileWatcher>,
    /// Number of folders that the last listing without a watch could not read. Locked while files are listed.
    unreadable: Mutex<usize>,
    /// Locked while the files are listed for the first time.
    starting: Mutex<()>,
    started: AtomicBool,
    ready: AtomicBool,
}

impl FileSynchronizer {
    pub(crate) fn new(core: Arc<IndexCore>, threads: NonZeroUsize, watched: bool) -> Self {
        Self {
            core,
            threads,
            watched,
            watch: OnceLock::new(),
            unreadable: Mutex::default(),
            starting: Mutex::new(()),
            started: AtomicBool::new(false),
            ready: AtomicBool::new(false),
        }
    }

    /// Lists the files and starts to watch them, once. Concurrent callers wait until the first is done.
    pub(crate) fn ensure_started(&self) {
        if self.started.load(Ordering::Acquire) {
            return;
        }
        let _starting = self.starting.lock();
        if self.started.load(Ordering::Acquire) {
            return;
        }
        self.core.load_cached_stamps();
        if self.watched {
            let core: Weak<IndexCore> = Arc::downgrade(&self.core);
            let watch = FileWatcher::start(Arc::clone(&self.core.tree), move |change| {
                if let Some(core) = core.upgrade() {
                    core.apply_change(change);
                }
            });
            self.watch.set(watch).ok();
        } else {
            self.list_files();
        }
        self.started.store(true, Ordering::Release);
    }

    /// Lists all files, one listing at a time: an older listing must not be applied after a newer one.
    fn list_files(&self) {
        let mut unreadable = self.unreadable.lock();
        let listing = self.core.tree.list_files();
        *unreadable = listing.unreadable.len();
        self.core.apply_change(FileChange::FolderListed {
            path: String::new(),
            entries: listing.entries,
        });
    }

    /// Lists the files although they are watched. A write through a memory map, or through a link from outside the
    /// root, causes no watch event and is visible only in the stamp.
    pub(crate) fn relist_files(&self) {
        if let Some(watch) = self.watch.get() {
            watch.recheck();
        }
    }

    /// Ensures that every change made before this call is listed.
    pub(crate) fn settle_changes(&self) {
        if !self.started.load(Ordering::Acquire) {
            return self.ensure_started();
        }
        match self.watch.get() {
            Some(watch) => {
                let _: SettleOutcome = watch.settle();
            }
            None => self.list_files(),
        }
    }

    /// Indexes files on this thread until none waits, or `enough` returns true.
    pub(crate) fn index_waiting_files(&self, enough: &(dyn Fn() -> bool + Sync)) {
        while !enough() {
            let Some(claimed) = self.core.queue.claim_next() else { return };
            self.core.index_file(claimed.id);
        }
    }

    /// Indexes all waiting files, with helper threads if there are many, and flushes the cache.
    pub(crate) fn drain_queue(&self, enough: &(dyn Fn() -> bool + Sync)) {
        let helpers = if self.core.queue.waiting_len() < MIN_FILES_FOR_HELPERS {
            1
        } else {
            self.threads.get()
        };
        thread::scope(|scope| {
            for _ in 1..helpers {
                scope.spawn(|| self.index_waiting_files(enough));
            }
            self.index_waiting_files(enough);
        });
        self.core.flush_cache();
        if self.is_ready() && self.core.drop_cached_stamps() {
            self.core.cache().trim_to_limit();
        }
    }

    /// Indexes changes until the queue is closed.
    pub(crate) fn run_until_closed(&self) {
        self.ensure_started();
        loop {
            self.drain_queue(&|| self.core.queue.is_closed());
            if !self.core.queue.wait_for_work() {
                return;
            }
        }
    }

    /// Returns true once every file was indexed.
    pub(crate) fn is_ready(&self) -> bool {
        if self.ready.load(Ordering::Acquire) {
            return true;
        }
        let ready = self.started.load(Ordering::Acquire) && self.core.queue.len() == 0;
        if ready {
            self.ready.store(true, Ordering::Release);
        }
        ready
    }

    /// Queues all files for a new analysis.
    pub(crate) fn requeue_all_files(&self) {
        self.ready.store(false, Ordering::Release);
        self.core.queue.enqueue_files(self.core.reset_all_files());
    }

    pub(crate) fn phase(&self) -> IndexPhase {
        match (self.started.load(Ordering::Acquire), self.is_ready()) {
            (_, true) => IndexPhase::Ready,
            (true, false) => IndexPhase::Building,
            // Another thread is doing the first listing.
            (false, false) if self.starting.is_locked() => IndexPhase::Building,
            (false, false) => IndexPhase::Idle,
        }
    }

    /// Returns true if the watch reports changes as they happen.
    pub(crate) fn is_watching(&self) -> bool {
        self.watch.get().is_some_and(FileWatcher::is_live)
    }

    /// Returns the number of folders that could not be read.
    pub(crate) fn unreadable_folders(&self) -> usize {
        match self.watch.get() {
            Some(watch) => watch.unreadable(),
            None => *self.unreadable.lock(),
        }
    }
}

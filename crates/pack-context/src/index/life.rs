//! The life of an index: it begins, keeps up with changes, and ends.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use parking_lot::Mutex;
use tree::{Change, Settled, Watch};

use super::core::Core;
use crate::Phase;

/// With more files than this to look at, helpers are worth their start.
const HELP_FROM: usize = 64;

/// Keeps the files of the state those of the project.
pub(crate) struct Keeper {
    core: Arc<Core>,
    threads: NonZeroUsize,
    watched: bool,
    watch: OnceLock<Watch>,
    /// How many folders could not be read, by the last listing without a watch; held while files are listed.
    unwatched: Mutex<usize>,
    /// Held while the files are listed for the first time.
    beginning: Mutex<()>,
    begun: AtomicBool,
    ready: AtomicBool,
}

impl Keeper {
    pub(crate) fn new(core: Arc<Core>, threads: NonZeroUsize, watched: bool) -> Self {
        Self {
            core,
            threads,
            watched,
            watch: OnceLock::new(),
            unwatched: Mutex::default(),
            beginning: Mutex::new(()),
            begun: AtomicBool::new(false),
            ready: AtomicBool::new(false),
        }
    }

    /// Lists the files and begins to watch them; once. Whoever comes meanwhile waits for it.
    pub(crate) fn begin(&self) {
        if self.begun.load(Ordering::Acquire) {
            return;
        }
        let _beginning = self.beginning.lock();
        if self.begun.load(Ordering::Acquire) {
            return;
        }
        self.core.remember();
        if self.watched {
            let core: Weak<Core> = Arc::downgrade(&self.core);
            let watch = Watch::start(Arc::clone(&self.core.tree), move |change| {
                if let Some(core) = core.upgrade() {
                    core.listed(change);
                }
            });
            self.watch.set(watch).ok();
        } else {
            self.list();
        }
        self.begun.store(true, Ordering::Release);
    }

    /// One listing at a time: an older one must not be taken in after a newer one.
    fn list(&self) {
        let mut unreadable = self.unwatched.lock();
        let listing = self.core.tree.list();
        *unreadable = listing.unreadable.len();
        self.core.listed(Change::Folder { path: String::new(), entries: listing.entries });
    }

    /// Lists the files although they are watched: a write through a memory map, or through a link from elsewhere, is
    /// told by nobody and shows only in the stamp.
    pub(crate) fn recheck(&self) {
        if let Some(watch) = self.watch.get() {
            watch.recheck();
        }
    }

    /// Sees to it that every change made before this call is listed.
    pub(crate) fn settle(&self) {
        if !self.begun.load(Ordering::Acquire) {
            return self.begin();
        }
        match self.watch.get() {
            Some(watch) => {
                let _: Settled = watch.settle();
            }
            None => self.list(),
        }
    }

    /// Looks at files until none waits, or `enough` says so.
    pub(crate) fn help(&self, enough: &(dyn Fn() -> bool + Sync)) {
        while !enough() {
            let Some(taken) = self.core.work.take() else { return };
            self.core.look_at(taken.id);
        }
    }

    /// Looks at all files that wait, with helpers where there are many, and tells the cache.
    pub(crate) fn catch_up(&self, enough: &(dyn Fn() -> bool + Sync)) {
        let helpers = if self.core.work.waiting() < HELP_FROM { 1 } else { self.threads.get() };
        thread::scope(|scope| {
            for _ in 1..helpers {
                scope.spawn(|| self.help(enough));
            }
            self.help(enough);
        });
        self.core.write_cache();
        if self.is_ready() && self.core.forget() {
            self.core.cache().trim();
        }
    }

    /// Keeps up with the changes until the work is closed.
    pub(crate) fn keep_up(&self) {
        self.begin();
        loop {
            self.catch_up(&|| self.core.work.is_closed());
            if !self.core.work.wait_for_work() {
                return;
            }
        }
    }

    /// Whether every file was looked at once.
    pub(crate) fn is_ready(&self) -> bool {
        if self.ready.load(Ordering::Acquire) {
            return true;
        }
        let ready = self.begun.load(Ordering::Acquire) && self.core.work.len() == 0;
        if ready {
            self.ready.store(true, Ordering::Release);
        }
        ready
    }

    /// All files are to be looked at anew.
    pub(crate) fn again(&self) {
        self.ready.store(false, Ordering::Release);
        self.core.work.add(self.core.all_files());
    }

    pub(crate) fn phase(&self) -> Phase {
        match (self.begun.load(Ordering::Acquire), self.is_ready()) {
            (_, true) => Phase::Ready,
            (true, false) => Phase::Building,
            // Somebody is at the first listing.
            (false, false) if self.beginning.is_locked() => Phase::Building,
            (false, false) => Phase::Idle,
        }
    }

    /// Whether changes are told as they happen.
    pub(crate) fn is_live(&self) -> bool {
        self.watch.get().is_some_and(Watch::is_live)
    }

    pub(crate) fn unreadable(&self) -> usize {
        match self.watch.get() {
            Some(watch) => watch.unreadable(),
            None => *self.unwatched.lock(),
        }
    }
}

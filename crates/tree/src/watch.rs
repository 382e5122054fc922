//! Watches the project's files and reports changes, with a barrier that guarantees an up-to-date list.
//!
//! The callback receives the whole state first, then changes in order. [`FileWatcher::settle`] is a barrier: when it
//! returns, every change made before the call has been reported. The guarantee depends on the platform:
//!
//! - *Linux*: one inotify watch for each included folder, added before the folder is read. The kernel queues an event
//!   before the system call that caused it returns, so draining the queue is the barrier. No cookie file and no waiting
//!   is needed. Ignored folders are not watched. Opens are not watched, so searching causes no events.
//! - *Otherwise* (another system, a network file system, no inotify watches left, a removed root): the barrier lists
//!   all files again. This is slower, and as exact as stamps are.
//!
//! A write through a memory map causes no event until the file is closed. A write through a hard link outside the
//! project causes none at all. [`FileWatcher::recheck`] finds both by their stamp.
//!
//! `engine.rs` turns events into changes. `inotify.rs` wraps the kernel interface, and `thread.rs` waits for it.
//! `external_rules.rs` tracks ignore files outside the watched folders. `remote.rs` detects file systems whose events
//! are incomplete.

mod engine;
#[cfg_attr(all(target_os = "linux", not(vouch_portable)), path = "watch/inotify.rs")]
#[cfg_attr(not(all(target_os = "linux", not(vouch_portable))), path = "watch/no_events.rs")]
mod events;
mod external_rules;
#[cfg(all(target_os = "linux", not(vouch_portable)))]
mod remote;
#[cfg(all(target_os = "linux", not(vouch_portable)))]
mod thread;

use std::sync::Arc;

use self::engine::WatchEngine;
use crate::{FileEntry, FileTree};
use parking_lot::Mutex;

/// A change to the list of files. Applying all changes in order keeps such a list correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// The file exists. Its content may have changed even if its stamp has not.
    Changed(FileEntry),
    /// No included file exists at this path. The path may never have been reported before.
    Removed(String),
    /// Exactly these files exist below this folder (`""` is the root). Files with an unchanged stamp have unchanged
    /// content, as far as a stamp can show.
    FolderListed { path: String, entries: Vec<FileEntry> },
}

/// The guarantee that a barrier gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleOutcome {
    /// Every change made before the barrier has been reported.
    Exact,
    /// All files were listed again. Every change that is visible in a stamp has been reported.
    Relisted,
}

/// A running watcher. Dropping it stops watching.
pub struct FileWatcher {
    engine: Arc<Mutex<WatchEngine>>,
    /// Reports changes between barriers. `None` if events are unavailable.
    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    thread: Option<thread::WatchThread>,
}

impl FileWatcher {
    /// Starts watching. Before it returns, it reports all files to `on_change` as one [`FileChange::FolderListed`].
    ///
    /// Later changes are reported from the watcher's thread, or from the thread that calls [`FileWatcher::settle`].
    /// `on_change` must not call back into the watcher.
    pub fn start(tree: Arc<FileTree>, on_change: impl FnMut(FileChange) + Send + 'static) -> Self {
        let engine = Arc::new(Mutex::new(WatchEngine::start(tree, Box::new(on_change))));
        #[cfg(all(target_os = "linux", not(vouch_portable)))]
        let thread = thread::WatchThread::start(&engine);
        Self {
            engine,
            #[cfg(all(target_os = "linux", not(vouch_portable)))]
            thread,
        }
    }

    /// Reports all pending changes from this thread, without waiting for events. Returns how exact the result is.
    pub fn settle(&self) -> SettleOutcome {
        self.engine.lock().settle()
    }

    /// Lists all files again, regardless of events.
    pub fn recheck(&self) {
        self.engine.lock().relist_folder("");
    }

    /// Returns the number of folders that could not be read.
    pub fn unreadable(&self) -> usize {
        self.engine.lock().unreadable.len()
    }

    /// Returns true if changes are reported as they happen, rather than found by listing.
    pub fn is_live(&self) -> bool {
        self.engine.lock().is_live()
    }
}

#[cfg(all(target_os = "linux", not(vouch_portable)))]
impl Drop for FileWatcher {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.stop();
        }
    }
}

//! Keeps a list of the project's files current, and knows when it is.
//!
//! Whoever watches is told of the whole state first, then of changes in order. [`Watch::settle`] is a barrier: when it
//! returns, every change that was made before the call has been told. How it can be sure:
//!
//! - *Linux*: one inotify watch for each folder that counts, set before the folder is read. The kernel queues an event
//!   before the call that caused it returns, so emptying the queue is the barrier: no cookie file, no waiting. Ignored
//!   folders are not watched. Only changes are asked for, not opens, so searching makes no events.
//! - *Everything else* (another system, a network file system, no watches left, a lost root): settling lists all files
//!   again. Slower, and as exact as stamps are.
//!
//! A write through a memory map makes no event until the file is closed, and one through a link that lies elsewhere none
//! at all; [`Watch::recheck`] finds them by their stamp.
//!
//! `engine.rs` turns events into changes, `inotify.rs` holds the kernel's side, `thread.rs` waits for it, `outside.rs` the rule files that lie
//! outside the watched folders, `remote.rs` the file systems whose events cannot be trusted.

mod engine;
#[cfg_attr(all(target_os = "linux", not(vouch_portable)), path = "watch/inotify.rs")]
#[cfg_attr(not(all(target_os = "linux", not(vouch_portable))), path = "watch/no_events.rs")]
mod events;
mod outside;
#[cfg(all(target_os = "linux", not(vouch_portable)))]
mod remote;
#[cfg(all(target_os = "linux", not(vouch_portable)))]
mod thread;

use std::sync::Arc;

use self::engine::Engine;
use crate::{Entry, Tree};
use parking_lot::Mutex;

/// What happened. Applied in order, changes keep a list of all files right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file is there, and its content may differ even if its stamp does not.
    Changed(Entry),
    /// No file that counts is there any more. It may be a path that was never told of.
    Removed(String),
    /// Below this folder (`""` is the root) there are exactly these files. The content of those whose stamp is known
    /// has not changed, as far as a stamp can tell.
    Folder { path: String, entries: Vec<Entry> },
}

/// How sure a barrier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Every change that was made before has been told.
    Exact,
    /// All files were listed again; every change that shows in a stamp has been told.
    Listed,
}

/// A running watch; it ends when this is dropped.
pub struct Watch {
    engine: Arc<Mutex<Engine>>,
    /// Hands changes over while nobody asks. None where events are not to be had.
    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    thread: Option<thread::Thread>,
}

impl Watch {
    /// Tells `on_change` of all files (one [`Change::Folder`] of the root) before it returns, then of every change, from
    /// a thread of its own or from the one that calls [`Watch::settle`]. `on_change` must not call back into the watch.
    pub fn start(tree: Arc<Tree>, on_change: impl FnMut(Change) + Send + 'static) -> Self {
        let engine = Arc::new(Mutex::new(Engine::start(tree, Box::new(on_change))));
        #[cfg(all(target_os = "linux", not(vouch_portable)))]
        let thread = thread::Thread::start(&engine);
        Self {
            engine,
            #[cfg(all(target_os = "linux", not(vouch_portable)))]
            thread,
        }
    }

    /// Waits for nothing but the work itself: pending changes are told from this thread.
    pub fn settle(&self) -> Settled {
        self.engine.lock().settle()
    }

    /// Lists all files again, events or not.
    pub fn recheck(&self) {
        self.engine.lock().list_again("");
    }

    /// How many folders could not be read.
    pub fn unreadable(&self) -> usize {
        self.engine.lock().unreadable.len()
    }

    /// Whether changes are told as they happen, rather than found by listing.
    pub fn is_live(&self) -> bool {
        self.engine.lock().is_live()
    }
}

#[cfg(all(target_os = "linux", not(vouch_portable)))]
impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.stop();
        }
    }
}

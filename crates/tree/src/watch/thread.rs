//! Reports changes between barriers, so that a barrier has little work left.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use super::engine::WatchEngine;

/// Changes come in bursts: a save causes several events, a checkout thousands. This delay reports each file only once.
const BURST_DELAY: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// The thread that waits for events.
pub(super) struct WatchThread {
    end: Arc<OwnedFd>,
    handle: JoinHandle<()>,
}

impl WatchThread {
    /// Starts the thread. Returns `None` without an event source, or if it cannot be polled; then only barriers report
    /// changes.
    pub(super) fn start(engine: &Arc<Mutex<WatchEngine>>) -> Option<Self> {
        let queue = engine.lock().source()?.queue();
        let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).ok()?);
        let (ended, engine) = (Arc::clone(&end), Arc::clone(engine));
        let run = move || {
            while !poll_first(&ended, Some(&queue), None)
                && !poll_first(&ended, None, Some(&BURST_DELAY))
            {
                let mut engine = engine.lock();
                engine.process_events();
                if !engine.is_live() {
                    return;
                }
            }
        };
        let handle = std::thread::Builder::new().name("tree-watch".into()).spawn(run).ok()?;
        Some(Self { end, handle })
    }

    pub(super) fn stop(self) {
        // Writing to an eventfd fails only if it is full, and then the thread is already awake.
        let _ = rustix::io::write(&*self.end, &1_u64.to_ne_bytes());
        if self.handle.join().is_err() {
            tracing::error!("file watcher thread panicked");
        }
    }
}

/// Waits until a queue is readable or `limit` expires. Returns true if the first queue is readable, or polling failed.
fn poll_first(first: &OwnedFd, other: Option<&OwnedFd>, limit: Option<&Timespec>) -> bool {
    let mut waiting = vec![PollFd::new(first, PollFlags::IN)];
    waiting.extend(other.map(|other| PollFd::new(other, PollFlags::IN)));
    loop {
        match poll(&mut waiting, limit) {
            Err(Errno::INTR) => {}
            Err(_) => return true,
            Ok(_) => return !waiting[0].revents().is_empty(),
        }
    }
}

//! Hands changes over while nobody asks for a barrier, so that a barrier finds little left to do.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use super::engine::Engine;

/// Changes come in bursts (a save is several events, a checkout thousands): waiting this long tells each file once.
const BURST: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

pub(super) struct Thread {
    end: Arc<OwnedFd>,
    handle: JoinHandle<()>,
}

impl Thread {
    /// None without events, or without the means to wait for them; barriers do all the work then.
    pub(super) fn start(engine: &Arc<Mutex<Engine>>) -> Option<Self> {
        let queue = engine.lock().source()?.queue();
        let end = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).ok()?);
        let (ended, engine) = (Arc::clone(&end), Arc::clone(engine));
        let run = move || {
            while !is_ready(&ended, Some(&queue), None) && !is_ready(&ended, None, Some(&BURST)) {
                let mut engine = engine.lock();
                engine.take_events();
                if !engine.is_live() {
                    return;
                }
            }
        };
        let handle = std::thread::Builder::new().name("tree-watch".into()).spawn(run).ok()?;
        Some(Self { end, handle })
    }

    pub(super) fn stop(self) {
        // Writing to an event counter fails only when it is full, and then the thread is awake already.
        let _ = rustix::io::write(&*self.end, &1_u64.to_ne_bytes());
        if self.handle.join().is_err() {
            tracing::error!("the thread that watches files panicked");
        }
    }
}

/// Waits for either queue; whether it is the first that has something.
fn is_ready(first: &OwnedFd, other: Option<&OwnedFd>, limit: Option<&Timespec>) -> bool {
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

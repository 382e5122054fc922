//! Which files wait to be analysed, and who is at it.
//!
//! Background threads and calls that need a fresh answer take from the same queue, the most useful file first. A file
//! that is being worked on is not given out a second time: it waits, so that the later content is put in later.

use std::collections::{BTreeSet, HashSet};
use std::time::Instant;

use super::state::SourceId;
use parking_lot::{Condvar, Mutex};

/// How urgent a file is; lower goes first.
pub(crate) type Urgency = u8;
pub(crate) const LEAST_URGENT: Urgency = 6;

#[derive(Default)]
pub(crate) struct Work {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: BTreeSet<(Urgency, SourceId)>,
    taken: HashSet<SourceId>,
    closed: bool,
}

/// A file that is being worked on; dropping it says that the work is done.
pub(crate) struct Taken<'a> {
    work: &'a Work,
    pub(crate) id: SourceId,
}

impl Work {
    pub(crate) fn add(&self, files: impl IntoIterator<Item = (Urgency, SourceId)>) {
        self.queue.lock().waiting.extend(files);
        self.changed.notify_all();
    }

    /// How many files are not done.
    pub(crate) fn len(&self) -> usize {
        let queue = self.queue.lock();
        queue.waiting.len() + queue.taken.len()
    }

    /// How many files nobody is at yet.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.lock().waiting.len()
    }

    /// Whether the file is to be looked at again, whoever is at it now.
    pub(crate) fn is_waiting(&self, id: SourceId) -> bool {
        self.queue.lock().is_waiting(id)
    }

    /// Puts these before all others, as far as they wait.
    pub(crate) fn hurry(&self, ids: &[SourceId]) {
        let mut queue = self.queue.lock();
        for &id in ids {
            let waits = |urgency: &Urgency| queue.waiting.contains(&(*urgency, id));
            if let Some(urgency) = (0..=LEAST_URGENT).find(waits) {
                queue.waiting.remove(&(urgency, id));
                queue.waiting.insert((0, id));
            }
        }
    }

    /// Whether none of these waits or is being worked on.
    pub(crate) fn are_done(&self, ids: &[SourceId]) -> bool {
        let queue = self.queue.lock();
        !ids.iter().any(|id| queue.taken.contains(id) || queue.is_waiting(*id))
    }

    /// The most urgent file that nobody is at.
    pub(crate) fn take(&self) -> Option<Taken<'_>> {
        let mut queue = self.queue.lock();
        if queue.closed {
            return None;
        }
        let free = queue.waiting.iter().find(|(_, id)| !queue.taken.contains(id)).copied()?;
        queue.waiting.remove(&free);
        queue.taken.insert(free.1);
        Some(Taken { work: self, id: free.1 })
    }

    /// Waits for something to do; false once there never will be.
    pub(crate) fn wait_for_work(&self) -> bool {
        let mut queue = self.queue.lock();
        self.changed.wait_while(&mut queue, |queue| queue.waiting.is_empty() && !queue.closed);
        !queue.closed
    }

    /// Waits until all is done; false if `until` comes first.
    pub(crate) fn wait_until_done(&self, until: Instant) -> bool {
        let mut queue = self.queue.lock();
        let patience = until.saturating_duration_since(Instant::now());
        let is_busy = |queue: &mut Queue| {
            !(queue.closed || queue.waiting.is_empty() && queue.taken.is_empty())
        };
        self.changed.wait_while_for(&mut queue, is_busy, patience);
        queue.waiting.is_empty() && queue.taken.is_empty()
    }

    /// Nothing is given out any more.
    pub(crate) fn close(&self) {
        self.queue.lock().closed = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.queue.lock().closed
    }
}

impl Queue {
    fn is_waiting(&self, id: SourceId) -> bool {
        (0..=LEAST_URGENT).any(|urgency| self.waiting.contains(&(urgency, id)))
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.work.queue.lock().taken.remove(&self.id);
        self.work.changed.notify_all();
    }
}

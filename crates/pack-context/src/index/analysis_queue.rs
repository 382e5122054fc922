//! Priority queue of the files to analyze.
//!
//! Background threads and calls that need a fresh index claim files from the same queue, the most useful first. A file
//! that is claimed is not handed out a second time. It waits until the claim ends, so that newer content is always
//! indexed after older content.

use std::collections::{BTreeSet, HashSet};
use std::time::Instant;

use super::state::SourceId;
use parking_lot::{Condvar, Mutex};

/// Priority of a file in the queue; lower goes first.
pub(crate) type FilePriority = u8;
pub(crate) const LOWEST_PRIORITY: FilePriority = 6;

/// Files waiting for analysis, and files being analyzed.
#[derive(Default)]
pub(crate) struct AnalysisQueue {
    state: Mutex<AnalysisQueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct AnalysisQueueState {
    waiting: BTreeSet<(FilePriority, SourceId)>,
    taken: HashSet<SourceId>,
    closed: bool,
}

/// A file claimed for analysis; dropping it marks the file as done.
pub(crate) struct ClaimedFile<'a> {
    queue: &'a AnalysisQueue,
    pub(crate) id: SourceId,
}

impl AnalysisQueue {
    pub(crate) fn enqueue_files(&self, files: impl IntoIterator<Item = (FilePriority, SourceId)>) {
        self.state.lock().waiting.extend(files);
        self.changed.notify_all();
    }

    /// Returns the number of waiting and claimed files.
    pub(crate) fn len(&self) -> usize {
        let queue = self.state.lock();
        queue.waiting.len() + queue.taken.len()
    }

    /// Returns the number of files that wait to be claimed.
    pub(crate) fn waiting_len(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Returns true if the file waits for analysis, even if it is also claimed.
    pub(crate) fn is_waiting(&self, id: SourceId) -> bool {
        self.state.lock().is_waiting(id)
    }

    /// Moves those of the files that wait to the front of the queue.
    pub(crate) fn prioritize_files(&self, ids: &[SourceId]) {
        let mut queue = self.state.lock();
        for &id in ids {
            let is_waiting = |urgency: &FilePriority| queue.waiting.contains(&(*urgency, id));
            if let Some(urgency) = (0..=LOWEST_PRIORITY).find(is_waiting) {
                queue.waiting.remove(&(urgency, id));
                queue.waiting.insert((0, id));
            }
        }
    }

    /// Returns true if none of the files is waiting or claimed.
    pub(crate) fn are_done(&self, ids: &[SourceId]) -> bool {
        let queue = self.state.lock();
        !ids.iter().any(|id| queue.taken.contains(id) || queue.is_waiting(*id))
    }

    /// Claims the file with the highest priority that is not claimed. Returns `None` if there is no such file, or the
    /// queue is closed.
    pub(crate) fn claim_next(&self) -> Option<ClaimedFile<'_>> {
        let mut queue = self.state.lock();
        if queue.closed {
            return None;
        }
        let free = queue.waiting.iter().find(|(_, id)| !queue.taken.contains(id)).copied()?;
        queue.waiting.remove(&free);
        queue.taken.insert(free.1);
        Some(ClaimedFile { queue: self, id: free.1 })
    }

    /// Blocks until a file waits; returns false once the queue is closed.
    pub(crate) fn wait_for_work(&self) -> bool {
        let mut queue = self.state.lock();
        self.changed.wait_while(&mut queue, |queue| queue.waiting.is_empty() && !queue.closed);
        !queue.closed
    }

    /// Blocks until no file is waiting or claimed; returns false if the deadline passes first.
    pub(crate) fn wait_until_done(&self, deadline: Instant) -> bool {
        let mut queue = self.state.lock();
        let timeout = deadline.saturating_duration_since(Instant::now());
        let is_busy = |queue: &mut AnalysisQueueState| {
            !(queue.closed || queue.waiting.is_empty() && queue.taken.is_empty())
        };
        self.changed.wait_while_for(&mut queue, is_busy, timeout);
        queue.waiting.is_empty() && queue.taken.is_empty()
    }

    /// Closes the queue: no more files can be claimed.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }
}

impl AnalysisQueueState {
    fn is_waiting(&self, id: SourceId) -> bool {
        (0..=LOWEST_PRIORITY).any(|urgency| self.waiting.contains(&(urgency, id)))
    }
}

impl Drop for ClaimedFile<'_> {
    fn drop(&mut self) {
        self.queue.state.lock().taken.remove(&self.id);
        self.queue.changed.notify_all();
    }
}

//! The sequences that a worker starts from: those that reached new branches, and those that came nearest to one.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;

use crate::call::SequenceCall;
use crate::chain::{BranchEdge, ExecutionProbe};

/// A sequence worth extending, usually because it reached new branches.
#[derive(Clone, Debug)]
pub struct CorpusEntry {
    pub calls: Vec<SequenceCall>,
    /// Branches that this sequence was the first to reach.
    pub edges: Vec<BranchEdge>,
    /// Gas used by each call when the sequence was found.
    pub gas: Vec<u64>,
}

/// Maximum comparisons for which the nearest sequence is kept.
const MAX_NEAR: usize = 512;

/// The sequences of one worker.
#[derive(Clone, Debug, Default)]
pub(super) struct SequencePool {
    entries: Vec<Arc<CorpusEntry>>,
    near: BTreeMap<(u32, u32), Arc<CorpusEntry>>,
    /// Keys of `near`, for random choice.
    near_locations: Vec<(u32, u32)>,
    /// The sequence with the largest number, by test.
    best: Vec<(usize, Arc<CorpusEntry>)>,
}

impl SequencePool {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn add(&mut self, entry: Arc<CorpusEntry>) {
        self.entries.push(entry);
    }

    /// Keeps the sequence that came nearest to flipping these comparisons.
    pub(super) fn keep_nearest(&mut self, locations: &[(u32, u32)], entry: &Arc<CorpusEntry>) {
        for &location in locations {
            if let Some(kept) = self.near.get_mut(&location) {
                *kept = entry.clone();
            } else if self.near.len() < MAX_NEAR {
                self.near.insert(location, entry.clone());
                self.near_locations.push(location);
            }
        }
    }

    pub(super) fn has_best(&self) -> bool {
        !self.best.is_empty()
    }

    /// Keeps the sequence that reached the largest number of a test.
    pub(super) fn keep_best(&mut self, test: usize, entry: Arc<CorpusEntry>) {
        match self.best.iter_mut().find(|(other, _)| *other == test) {
            Some((_, kept)) => *kept = entry,
            None => self.best.push((test, entry)),
        }
    }

    /// Returns the best sequence of a random test.
    pub(super) fn pick_best(&self, rng: &mut Rng) -> Option<(usize, Arc<CorpusEntry>)> {
        rng.choice(self.best.iter().cloned())
    }

    /// Returns an entry to start from. Newer entries are more likely, because they have been explored least.
    pub(super) fn pick_entry(
        &mut self,
        rng: &mut Rng,
        probe: &ExecutionProbe,
    ) -> Option<Arc<CorpusEntry>> {
        if !self.best.is_empty() && rng.u8(0..4) == 0 {
            return self.pick_best(rng).map(|(_, entry)| entry);
        }
        if rng.u8(0..3) == 0
            && let Some(entry) = self.pick_nearest(rng, probe)
        {
            return Some(entry);
        }
        let count = self.entries.len();
        if count == 0 {
            return None;
        }
        let index = if rng.bool() {
            rng.usize(0..count)
        } else {
            count - 1 - rng.usize(0..count.min(1 + count / 8))
        };
        self.entries.get(index).cloned()
    }

    /// Returns a sequence that is near to flipping a comparison. Comparisons that have had both outcomes are removed.
    fn pick_nearest(&mut self, rng: &mut Rng, probe: &ExecutionProbe) -> Option<Arc<CorpusEntry>> {
        while !self.near_locations.is_empty() {
            let index = rng.usize(0..self.near_locations.len());
            let location = self.near_locations[index];
            if probe.is_comparison_open(location) {
                return self.near.get(&location).cloned();
            }
            self.near_locations.swap_remove(index);
            self.near.remove(&location);
        }
        None
    }
}

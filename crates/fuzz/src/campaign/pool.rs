//! The sequences that a worker starts from: those that showed something new, and those that came nearest to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;

use crate::call::Call;
use crate::chain::{Edge, Probe};

/// A sequence that showed something.
#[derive(Clone, Debug)]
pub struct Entry {
    pub calls: Vec<Call>,
    /// The branches that it showed first.
    pub edges: Vec<Edge>,
    /// Gas that each call used when it was found.
    pub gas: Vec<u64>,
}

/// Comparisons of which the nearest sequence is kept.
const MAX_NEAR: usize = 512;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    entries: Vec<Arc<Entry>>,
    near: BTreeMap<(u32, u32), Arc<Entry>>,
    /// The keys of `near`, to choose from.
    near_places: Vec<(u32, u32)>,
    /// Those with the largest number, by test.
    best: Vec<(usize, Arc<Entry>)>,
}

impl Pool {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn add(&mut self, entry: Arc<Entry>) {
        self.entries.push(entry);
    }

    /// Keeps the sequence that brought these comparisons nearest to their other outcome.
    pub(super) fn keep_near(&mut self, places: &[(u32, u32)], entry: &Arc<Entry>) {
        for &place in places {
            if let Some(kept) = self.near.get_mut(&place) {
                *kept = entry.clone();
            } else if self.near.len() < MAX_NEAR {
                self.near.insert(place, entry.clone());
                self.near_places.push(place);
            }
        }
    }

    pub(super) fn has_best(&self) -> bool {
        !self.best.is_empty()
    }

    /// Keeps the sequence that led to the largest number of a test.
    pub(super) fn keep_best(&mut self, test: usize, entry: Arc<Entry>) {
        match self.best.iter_mut().find(|(other, _)| *other == test) {
            Some((_, kept)) => *kept = entry,
            None => self.best.push((test, entry)),
        }
    }

    /// The best sequence of any test.
    pub(super) fn pick_best(&self, rng: &mut Rng) -> Option<(usize, Arc<Entry>)> {
        rng.choice(self.best.iter().cloned())
    }

    /// Something to start from. New entries are chosen more often: what they reached has been tried least.
    pub(super) fn pick(&mut self, rng: &mut Rng, probe: &Probe) -> Option<Arc<Entry>> {
        if !self.best.is_empty() && rng.u8(0..4) == 0 {
            return self.pick_best(rng).map(|(_, entry)| entry);
        }
        if rng.u8(0..3) == 0
            && let Some(entry) = self.pick_near(rng, probe)
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

    /// A sequence that is near to something. Comparisons that have had both outcomes by now are forgotten.
    fn pick_near(&mut self, rng: &mut Rng, probe: &Probe) -> Option<Arc<Entry>> {
        while !self.near_places.is_empty() {
            let index = rng.usize(0..self.near_places.len());
            let place = self.near_places[index];
            if probe.is_open(place) {
                return self.near.get(&place).cloned();
            }
            self.near_places.swap_remove(index);
            self.near.remove(&place);
        }
        None
    }
}

//! Selects the `k` best of many scores with bounded memory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The best scores so far.
pub(super) struct NearestNeighbors {
    k: usize,
    /// The worst neighbor is on top.
    heap: BinaryHeap<ScoredNeighbor>,
    /// Minimum score of a new neighbor.
    floor: f32,
}

impl NearestNeighbors {
    pub(super) fn new(k: usize) -> Self {
        let floor = if k == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
        Self { k, heap: BinaryHeap::new(), floor }
    }

    /// Returns true if the score may be among the best.
    pub(super) fn accepts_score(&self, score: f32) -> bool {
        score >= self.floor
    }

    pub(super) fn add_neighbor(&mut self, id: u32, score: f32) {
        self.heap.push(ScoredNeighbor { id, score });
        if self.heap.len() > self.k {
            self.heap.pop();
        }
        if self.heap.len() == self.k
            && let Some(worst) = self.heap.peek()
        {
            self.floor = worst.score;
        }
    }

    /// Adds the neighbors of another selection.
    pub(super) fn merge_neighbors(&mut self, other: Self) {
        for ScoredNeighbor { id, score } in other.heap {
            self.add_neighbor(id, score);
        }
    }

    /// Returns the neighbors, best first.
    pub(super) fn into_sorted(self) -> Vec<(u32, f32)> {
        self.heap
            .into_sorted_vec()
            .into_iter()
            .map(|ScoredNeighbor { id, score }| (id, score))
            .collect()
    }
}

/// A document and its score. Greater means worse. Equal scores are ordered by id, so that results do not depend on the
/// order of rows.
struct ScoredNeighbor {
    id: u32,
    score: f32,
}

impl Ord for ScoredNeighbor {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for ScoredNeighbor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ScoredNeighbor {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ScoredNeighbor {}

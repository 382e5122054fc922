//! The best of many scores, with a bounded number kept.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

pub(super) struct Nearest {
    k: usize,
    /// The worst that is kept is on top.
    kept: BinaryHeap<Kept>,
    /// What a score must exceed.
    floor: f32,
}

impl Nearest {
    pub(super) fn new(k: usize) -> Self {
        let floor = if k == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
        Self { k, kept: BinaryHeap::new(), floor }
    }

    pub(super) fn wants(&self, score: f32) -> bool {
        score >= self.floor
    }

    pub(super) fn add(&mut self, id: u32, score: f32) {
        self.kept.push(Kept { id, score });
        if self.kept.len() > self.k {
            self.kept.pop();
        }
        if self.kept.len() == self.k
            && let Some(worst) = self.kept.peek()
        {
            self.floor = worst.score;
        }
    }

    /// Takes over what another one kept.
    pub(super) fn extend(&mut self, other: Self) {
        for Kept { id, score } in other.kept {
            self.add(id, score);
        }
    }

    /// Best first.
    pub(super) fn into_sorted(self) -> Vec<(u32, f32)> {
        self.kept.into_sorted_vec().into_iter().map(|Kept { id, score }| (id, score)).collect()
    }
}

/// Greater means worse; of equal scores the later document, so that an answer does not depend on the order of rows.
struct Kept {
    id: u32,
    score: f32,
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.id.cmp(&other.id))
    }
}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Kept {}

//! Which candidates are shown, in which order, and how sure it is that they answer.

use std::collections::HashMap;

use crate::Facts;
use crate::fuse::Candidate;
use crate::rerank::Marks;

/// What each further document of a file is worth: an answer of ten should not be one file.
const FURTHER: f32 = 0.5;

/// The share of its best possible score that a document reaches which holds every word of a query once or twice.
const WORDS_SUFFICE: f32 = 0.6;

/// Cosines of texts that have nothing to do with each other, and of texts that say the same.
const MEANING_BEGINS: f32 = 0.2;
const MEANING_SUFFICES: f32 = 0.8;

pub(super) struct Shown {
    /// Of the candidate.
    pub(super) index: usize,
    /// Its score as a share of the best one's.
    pub(super) share: f32,
    /// How many candidates more say the same.
    pub(super) copies: usize,
}

/// The best in order, each content once, further documents of a file held back.
pub(super) fn shown(
    candidates: &[Candidate],
    facts: &[Facts<'_>],
    marks: &[Marks],
    limit: usize,
) -> Vec<Shown> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    let id = |index: usize| candidates[index].id;
    order.sort_unstable_by(|&a, &b| {
        marks[b].score.total_cmp(&marks[a].score).then(id(a).cmp(&id(b)))
    });
    let mut seen: HashMap<u64, usize> = HashMap::new();
    let mut files: HashMap<u32, i32> = HashMap::new();
    let mut all: Vec<Shown> = Vec::new();
    for index in order {
        let known = *seen.entry(facts[index].content).or_insert(all.len());
        if let Some(first) = all.get_mut(known) {
            first.copies += 1;
            continue;
        }
        let mut share = marks[index].score;
        if let Some(file) = facts[index].file {
            let before = files.entry(file).or_insert(0);
            share *= FURTHER.powi(*before);
            *before += 1;
        }
        all.push(Shown { index, share, copies: 0 });
    }
    // Stable: equals stay in the order of their ids.
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all.truncate(limit);
    let best = all.first().map_or(0.0, |first| first.share).max(f32::MIN_POSITIVE);
    for shown in &mut all {
        shown.share /= best;
    }
    all
}

/// From 0 to 1: how sure it is that a document answers, by its words or by its meaning.
pub(super) fn sureness(candidate: &Candidate) -> f32 {
    let words = (candidate.words / WORDS_SUFFICE).clamp(0.0, 1.0);
    let cosine = candidate.meaning.unwrap_or(MEANING_BEGINS);
    let meaning = ((cosine - MEANING_BEGINS) / (MEANING_SUFFICES - MEANING_BEGINS)).clamp(0.0, 1.0);
    1.0 - (1.0 - words) * (1.0 - meaning)
}

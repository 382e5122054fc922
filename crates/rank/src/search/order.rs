//! Orders the candidates, merges duplicates, and estimates the confidence of the best one.

use std::collections::HashMap;

use crate::DocumentFacts;
use crate::fuse::SearchCandidate;
use crate::rerank::RerankResult;

/// Score factor of each further document of a file, so that one file does not fill the result.
const SAME_FILE_FACTOR: f32 = 0.5;

/// Normalized BM25 score that gives full confidence: a document that contains every term once or twice reaches it.
const FULL_LEXICAL_SCORE: f32 = 0.6;

/// Typical cosine of unrelated texts.
const UNRELATED_COSINE: f32 = 0.2;
/// Typical cosine of equivalent texts.
const EQUIVALENT_COSINE: f32 = 0.8;

/// A candidate in the result.
pub(super) struct RankedCandidate {
    /// Index of the candidate.
    pub(super) index: usize,
    /// Its score relative to the best score.
    pub(super) share: f32,
    /// Number of further candidates with the same content.
    pub(super) copies: usize,
}

/// Returns the best candidates in order. Each content appears once, and further documents of a file are demoted.
pub(super) fn rank_candidates(
    candidates: &[SearchCandidate],
    facts: &[DocumentFacts<'_>],
    marks: &[RerankResult],
    limit: usize,
) -> Vec<RankedCandidate> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    let id = |index: usize| candidates[index].id;
    order.sort_unstable_by(|&a, &b| {
        marks[b].score.total_cmp(&marks[a].score).then(id(a).cmp(&id(b)))
    });
    let mut seen: HashMap<u64, usize> = HashMap::new();
    let mut files: HashMap<u32, i32> = HashMap::new();
    let mut all: Vec<RankedCandidate> = Vec::new();
    for index in order {
        let known = *seen.entry(facts[index].content).or_insert(all.len());
        if let Some(first) = all.get_mut(known) {
            first.copies += 1;
            continue;
        }
        let mut share = marks[index].score;
        if let Some(file) = facts[index].file {
            let before = files.entry(file).or_insert(0);
            share *= SAME_FILE_FACTOR.powi(*before);
            *before += 1;
        }
        all.push(RankedCandidate { index, share, copies: 0 });
    }
    // A stable sort keeps equal scores in the order of their ids.
    all.sort_by(|a, b| b.share.total_cmp(&a.share));
    all.truncate(limit);
    let best = all.first().map_or(0.0, |first| first.share).max(f32::MIN_POSITIVE);
    for shown in &mut all {
        shown.share /= best;
    }
    all
}

/// Returns the confidence, from 0 to 1, that a document answers the query by its terms or by its meaning.
pub(super) fn estimate_confidence(candidate: &SearchCandidate) -> f32 {
    let lexical = (candidate.lexical / FULL_LEXICAL_SCORE).clamp(0.0, 1.0);
    let cosine = candidate.cosine.unwrap_or(UNRELATED_COSINE);
    let semantic =
        ((cosine - UNRELATED_COSINE) / (EQUIVALENT_COSINE - UNRELATED_COSINE)).clamp(0.0, 1.0);
    1.0 - (1.0 - lexical) * (1.0 - semantic)
}

//! One score out of two: what the words say and what the meaning says.
//!
//! Both are measured against what they could be at best, not against the other documents: then a query that no document
//! answers gets low scores, and a word that is nowhere holds the words back as a whole. A document without a vector (not
//! yet embedded) is given the meaning that documents with as many of the words have on average, so that it neither
//! sinks nor rises for being new.

use crate::{Kind, Query};

/// A document that may be shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) id: u32,
    /// BM25 as a share of what a document with every word of the query would have. A definition can lift it above 1.
    pub(crate) words: f32,
    /// Cosine; `None` where there is no vector.
    pub(crate) meaning: Option<f32>,
}

/// How much the meaning counts against the words: names are meant literally.
fn weight_of_meaning(query: &Query) -> f32 {
    match query.kind() {
        Kind::Symbol | Kind::Path => 0.3,
        Kind::Question | Kind::Words => 0.5,
    }
}

/// Small cosines say little, and large ones much.
fn evidence(cosine: f32) -> f32 {
    cosine.max(0.0).powf(1.5)
}

/// A score for each candidate.
pub(crate) fn fuse(query: &Query, candidates: &[Candidate]) -> Vec<f32> {
    let known = || {
        candidates
            .iter()
            .filter_map(|candidate| Some((candidate.words, evidence(candidate.meaning?))))
    };
    let Some(usual) = Usual::of(known()) else {
        return candidates.iter().map(|candidate| candidate.words).collect();
    };
    let weight = weight_of_meaning(query);
    candidates
        .iter()
        .map(|candidate| {
            let meaning =
                candidate.meaning.map_or_else(|| usual.meaning(candidate.words), evidence);
            (1.0 - weight) * candidate.words + weight * meaning
        })
        .collect()
}

/// Which meaning goes with which words: a line through the documents that have both.
struct Usual {
    at_zero: f32,
    slope: f32,
}

impl Usual {
    /// `None` where no document has both.
    fn of(pairs: impl Iterator<Item = (f32, f32)> + Clone) -> Option<Self> {
        let count = pairs.clone().count();
        let mean =
            |value: fn((f32, f32)) -> f32| pairs.clone().map(value).sum::<f32>() / count as f32;
        let (words, meaning) = (mean(|pair| pair.0), mean(|pair| pair.1));
        let spread: f32 = pairs.clone().map(|pair| (pair.0 - words).powi(2)).sum();
        let together: f32 = pairs.map(|pair| (pair.0 - words) * (pair.1 - meaning)).sum();
        // A flat line until some documents bear out a slope; more words never make the meaning worse.
        let slope = (together / (spread + 0.1)).max(0.0);
        (count > 0).then_some(Self { at_zero: meaning - slope * words, slope })
    }

    fn meaning(&self, words: f32) -> f32 {
        (self.at_zero + self.slope * words).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(candidates: &[(f32, Option<f32>)]) -> Vec<f32> {
        let candidate = |(id, &(words, meaning)): (usize, &(f32, Option<f32>))| Candidate {
            id: id as u32,
            words,
            meaning,
        };
        let candidates: Vec<Candidate> = candidates.iter().enumerate().map(candidate).collect();
        fuse(&Query::new("retry a failed request"), &candidates)
    }

    #[test]
    fn both_count() {
        let fused = check(&[(0.5, Some(0.5)), (0.6, Some(0.5)), (0.5, Some(0.6))]);
        assert!(fused[0] < fused[1] && fused[0] < fused[2], "{fused:?}");
    }

    #[test]
    fn words_decide_alone_where_nothing_is_embedded() {
        assert_eq!(check(&[(0.2, None), (0.4, None)]), [0.2, 0.4]);
    }

    #[test]
    fn a_document_without_a_vector_takes_its_place_among_its_like() {
        let fused = check(&[
            (0.1, Some(0.2)),
            (0.3, Some(0.4)),
            (0.5, Some(0.6)),
            (0.7, Some(0.8)),
            (0.4, None),
        ]);
        assert!(fused[1] < fused[4] && fused[4] < fused[2], "{fused:?}");
    }

    #[test]
    fn nothing_to_fuse_is_nothing() {
        assert_eq!(check(&[]), []);
    }
}

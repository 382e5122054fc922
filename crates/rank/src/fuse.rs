//! One score out of two: what the words say and what the meaning says.
//!
//! Both are brought to the same scale for the query at hand, then combined by weight. A document without a vector (not
//! yet embedded) is given the meaning that documents with as many of the words have on average, so that it neither
//! sinks nor rises for being new.

use crate::{Kind, Query};

/// A document that may be shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) id: u32,
    /// BM25.
    pub(crate) words: f32,
    /// Cosine; `None` where there is no vector.
    pub(crate) meaning: Option<f32>,
}

/// How much the meaning counts against the words.
fn weight_of_meaning(query: &Query) -> f32 {
    match query.kind() {
        Kind::Symbol | Kind::Path => 0.3,
        Kind::Question | Kind::Words => 0.5,
    }
}

/// A score for each candidate; the best possible is 1.
pub(crate) fn fuse(query: &Query, candidates: &[Candidate]) -> Vec<f32> {
    let words = Scale::from_zero(candidates.iter().map(|candidate| candidate.words));
    let meanings = || candidates.iter().filter_map(|candidate| candidate.meaning);
    let Some(meaning) = Scale::between(meanings()) else {
        return candidates.iter().map(|candidate| words.of(candidate.words)).collect();
    };
    let weight = weight_of_meaning(query);
    let usual =
        Usual::of(candidates.iter().filter_map(|candidate| {
            Some((words.of(candidate.words), meaning.of(candidate.meaning?)))
        }));
    candidates
        .iter()
        .map(|candidate| {
            let words = words.of(candidate.words);
            let meaning =
                candidate.meaning.map_or_else(|| usual.meaning(words), |cosine| meaning.of(cosine));
            (1.0 - weight) * words + weight * meaning
        })
        .collect()
}

/// Maps a range to 0..=1.
#[derive(Clone, Copy)]
struct Scale {
    low: f32,
    width: f32,
}

impl Scale {
    fn from_zero(values: impl Iterator<Item = f32>) -> Self {
        Self { low: 0.0, width: values.fold(0.0, f32::max) }
    }

    fn between(values: impl Iterator<Item = f32> + Clone) -> Option<Self> {
        let low = values.clone().reduce(f32::min)?;
        let high = values.fold(low, f32::max);
        Some(Self { low, width: high - low })
    }

    fn of(self, value: f32) -> f32 {
        if self.width > 0.0 { ((value - self.low) / self.width).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Which meaning goes with which words: a line through the documents that have both.
struct Usual {
    at_zero: f32,
    slope: f32,
}

impl Usual {
    fn of(pairs: impl Iterator<Item = (f32, f32)> + Clone) -> Self {
        let count = pairs.clone().count() as f32;
        let mean = |value: fn((f32, f32)) -> f32| pairs.clone().map(value).sum::<f32>() / count;
        let (words, meaning) = (mean(|pair| pair.0), mean(|pair| pair.1));
        let spread: f32 = pairs.clone().map(|pair| (pair.0 - words).powi(2)).sum();
        let together: f32 = pairs.map(|pair| (pair.0 - words) * (pair.1 - meaning)).sum();
        // A flat line until some documents bear out a slope; more words never make the meaning worse.
        let slope = (together / (spread + 0.1)).max(0.0);
        Self { at_zero: meaning - slope * words, slope }
    }

    fn meaning(&self, words: f32) -> f32 {
        (self.at_zero + self.slope * words).clamp(0.0, 1.0)
    }
}

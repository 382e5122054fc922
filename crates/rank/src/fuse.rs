//! Score fusion: combines the lexical and the semantic score of each candidate.
//!
//! Both scores are normalized by their possible maximum, not by the other documents. A query without a good answer
//! therefore gets low scores, and an unknown term lowers all lexical scores. A document without a vector (not yet
//! embedded) gets the average semantic score of documents with a similar lexical score, so that being new does not
//! change its rank.

use crate::{QueryKind, SearchQuery};

/// A document that may be returned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SearchCandidate {
    pub(crate) id: u32,
    /// BM25 score relative to that of a document with every term of the query. A definition can lift it above 1.
    pub(crate) lexical: f32,
    /// Cosine of the query and the document; `None` without a vector.
    pub(crate) cosine: Option<f32>,
}

/// Returns the weight of the semantic score. It is lower for names and paths, which are meant literally.
fn semantic_weight(query: &SearchQuery) -> f32 {
    match query.kind() {
        QueryKind::Symbol | QueryKind::Path => 0.3,
        QueryKind::Question | QueryKind::Words => 0.5,
    }
}

/// Converts a cosine to a score. The exponent reduces the influence of small cosines.
fn cosine_to_score(cosine: f32) -> f32 {
    cosine.max(0.0).powf(1.5)
}

/// Returns a fused score for each candidate.
pub(crate) fn fuse_scores(query: &SearchQuery, candidates: &[SearchCandidate]) -> Vec<f32> {
    let known = || {
        candidates
            .iter()
            .filter_map(|candidate| Some((candidate.lexical, cosine_to_score(candidate.cosine?))))
    };
    let Some(regression) = ScoreRegression::fit_pairs(known()) else {
        return candidates.iter().map(|candidate| candidate.lexical).collect();
    };
    let weight = semantic_weight(query);
    candidates
        .iter()
        .map(|candidate| {
            let semantic = candidate
                .cosine
                .map_or_else(|| regression.predict_semantic(candidate.lexical), cosine_to_score);
            (1.0 - weight) * candidate.lexical + weight * semantic
        })
        .collect()
}

/// Linear regression of the semantic score on the lexical score, over the documents that have both.
struct ScoreRegression {
    intercept: f32,
    slope: f32,
}

impl ScoreRegression {
    /// Fits the regression to pairs of lexical and semantic scores. Returns `None` without pairs.
    fn fit_pairs(pairs: impl Iterator<Item = (f32, f32)> + Clone) -> Option<Self> {
        let count = pairs.clone().count();
        let mean =
            |value: fn((f32, f32)) -> f32| pairs.clone().map(value).sum::<f32>() / count as f32;
        let (lexical, semantic) = (mean(|pair| pair.0), mean(|pair| pair.1));
        let variance: f32 = pairs.clone().map(|pair| (pair.0 - lexical).powi(2)).sum();
        let covariance: f32 = pairs.map(|pair| (pair.0 - lexical) * (pair.1 - semantic)).sum();
        // Regularized: the slope stays near zero with few documents, and is never negative.
        let slope = (covariance / (variance + 0.1)).max(0.0);
        (count > 0).then_some(Self { intercept: semantic - slope * lexical, slope })
    }

    /// Returns the expected semantic score of a document with this lexical score.
    fn predict_semantic(&self, lexical: f32) -> f32 {
        (self.intercept + self.slope * lexical).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(candidates: &[(f32, Option<f32>)]) -> Vec<f32> {
        let candidate = |(id, &(lexical, cosine)): (usize, &(f32, Option<f32>))| SearchCandidate {
            id: id as u32,
            lexical,
            cosine,
        };
        let candidates: Vec<SearchCandidate> =
            candidates.iter().enumerate().map(candidate).collect();
        fuse_scores(&SearchQuery::new("retry a failed request"), &candidates)
    }

    #[test]
    fn both_scores_raise_the_result() {
        let fused = check(&[(0.5, Some(0.5)), (0.6, Some(0.5)), (0.5, Some(0.6))]);
        assert!(fused[0] < fused[1] && fused[0] < fused[2], "{fused:?}");
    }

    #[test]
    fn uses_lexical_scores_without_vectors() {
        assert_eq!(check(&[(0.2, None), (0.4, None)]), [0.2, 0.4]);
    }

    #[test]
    fn document_without_vector_ranks_among_similar_documents() {
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
    fn no_candidates_give_no_scores() {
        assert_eq!(check(&[]), []);
    }
}

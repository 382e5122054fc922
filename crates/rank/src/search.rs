//! The search pipeline: lexical and semantic candidates, score fusion, reranking, deduplication and reasons.

mod order;

use std::collections::{HashMap, HashSet};

use crate::fuse::{SearchCandidate, fuse_scores};
use crate::postings::LexicalResults;
use crate::query::QueryTermKind;
use crate::rerank::{RerankQuery, RerankResult};
use crate::{DocumentCorpus, DocumentFacts, HitReason, PostingIndex, SearchQuery};

/// Number of candidates from the lexical and from the semantic search. Reranking can lift a document from far down.
const CANDIDATES: usize = 150;

/// Number of nearest neighbors that are examined to count the documents found only by meaning.
const COUNTED_NEIGHBORS: usize = 500;

/// Minimum cosine of a document that is found by meaning.
const MIN_COSINE: f32 = 0.35;

/// Compares the vector of one query with the vectors of the documents.
pub trait SemanticScorer {
    /// Returns the `k` nearest allowed documents with their cosines, nearest first.
    fn nearest(&self, allowed: &(dyn Fn(u32) -> bool + Sync), k: usize) -> Vec<(u32, f32)>;
    /// Returns the cosine of a document, or `None` if it has no vector.
    fn similarity(&self, id: u32) -> Option<f32>;
}

/// A search that combines BM25, vectors and facts about source code.
#[derive(Clone, Copy)]
pub struct HybridSearch<'a, C> {
    pub postings: &'a PostingIndex,
    /// `None` if nothing is embedded; the ranking is then lexical only.
    pub meaning: Option<&'a dyn SemanticScorer>,
    pub corpus: &'a C,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SearchRanking {
    /// Best first.
    pub hits: Vec<RankedHit>,
    /// Number of documents that contain a term of the query or are semantically similar to it.
    pub total: usize,
}

/// One document in the result.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedHit {
    pub id: u32,
    /// From 0 to 1, comparable between hits and between queries.
    pub score: f32,
    pub why: Vec<HitReason>,
}

impl<C: DocumentCorpus> HybridSearch<'_, C> {
    /// Returns the `limit` best allowed documents.
    pub fn run(
        &self,
        query: &SearchQuery,
        allowed: &(dyn Fn(u32) -> bool + Sync),
        limit: usize,
    ) -> SearchRanking {
        let lexical = self.postings.search(query, allowed, CANDIDATES);
        let near = self
            .meaning
            .map(|meaning| meaning.nearest(allowed, COUNTED_NEIGHBORS))
            .unwrap_or_default();
        let total = lexical.total + self.count_semantic_only(query, &near);

        let candidates =
            self.collect_candidates(query, &lexical, &near[..near.len().min(CANDIDATES)]);
        let facts: Vec<DocumentFacts<'_>> =
            candidates.iter().map(|candidate| self.corpus.document_facts(candidate.id)).collect();
        let fused = fuse_scores(query, &candidates);
        let marks = RerankQuery::new(query, &self.postings.inverse_document_frequencies(query))
            .rerank_candidates(&facts, &fused);
        let confidence = candidates.iter().map(order::estimate_confidence).fold(0.0, f32::max);
        let hits = order::rank_candidates(&candidates, &facts, &marks, limit)
            .into_iter()
            .map(|shown| {
                let (candidate, facts) = (&candidates[shown.index], &facts[shown.index]);
                let why =
                    self.explain_hit(query, candidate, facts, &marks[shown.index], shown.copies);
                RankedHit { id: candidate.id, score: shown.share * confidence, why }
            })
            .collect();
        SearchRanking { hits, total }
    }

    /// Returns the number of similar documents that contain no term of the query.
    fn count_semantic_only(&self, query: &SearchQuery, near: &[(u32, f32)]) -> usize {
        let similar = near.iter().take_while(|(_, cosine)| *cosine >= MIN_COSINE);
        similar.filter(|(id, _)| self.postings.matched_terms(query, *id).is_empty()).count()
    }

    /// Returns the union of both lists. Each candidate has both scores.
    fn collect_candidates(
        &self,
        query: &SearchQuery,
        lexical: &LexicalResults,
        near: &[(u32, f32)],
    ) -> Vec<SearchCandidate> {
        let ceiling = lexical.ceiling.max(f32::MIN_POSITIVE);
        let cosines: HashMap<u32, f32> = near.iter().copied().collect();
        let similarity = |id| {
            let known = cosines.get(&id).copied();
            known.or_else(|| self.meaning.and_then(|meaning| meaning.similarity(id)))
        };
        let lexical_ids: HashSet<u32> = lexical.hits.iter().map(|&(id, _)| id).collect();
        let found = lexical.hits.iter().map(|&(id, score)| (id, score, similarity(id)));
        let similar = near
            .iter()
            .filter(|(id, _)| !lexical_ids.contains(id))
            .map(|&(id, cosine)| (id, self.postings.score_document(query, id), Some(cosine)));
        found
            .chain(similar)
            .map(|(id, score, cosine)| SearchCandidate { id, lexical: score / ceiling, cosine })
            .collect()
    }

    /// Returns the reasons for a hit, strongest first.
    fn explain_hit(
        &self,
        query: &SearchQuery,
        candidate: &SearchCandidate,
        facts: &DocumentFacts<'_>,
        marks: &RerankResult,
        copies: usize,
    ) -> Vec<HitReason> {
        let mut why: Vec<HitReason> =
            marks.defines.iter().cloned().map(HitReason::Defines).collect();
        if marks.file_name
            && let Some(path) = facts.path
        {
            why.push(HitReason::FileName(path.rsplit('/').next().unwrap_or(path).to_owned()));
        }
        let matched = self.postings.matched_terms(query, candidate.id);
        let matched = matched.iter().map(|&(index, _)| &query.terms()[index]);
        let words: Vec<String> = matched
            .filter(|term| term.part == QueryTermKind::Word)
            .map(|term| term.text.clone())
            .collect();
        if !words.is_empty() {
            why.push(HitReason::Words(words));
        }
        if let Some(cosine) = candidate.cosine.filter(|&cosine| cosine >= MIN_COSINE) {
            why.push(HitReason::Meaning(cosine));
        }
        if facts.recency > 0.0 {
            why.push(HitReason::Recency);
        }
        if copies > 0 {
            why.push(HitReason::Copies(copies));
        }
        why
    }
}

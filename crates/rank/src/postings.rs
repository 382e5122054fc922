//! An inverted index with BM25 scoring: in memory, incremental and exact.
//!
//! `tantivy` is not used, because its changes become visible only after a commit; here they are visible at once.
//!
//! New documents are added to a small open segment. Full segments are sealed and merged by size, so that each posting
//! is moved only a few times. A removed document remains as a deleted row until its segment is rewritten. Document
//! frequencies count live documents only, so results do not depend on removed documents.

mod segment;

use std::collections::HashMap;

use segment::{OpenSegment, SealedSegment};

use crate::query::QueryTermKind;
use crate::{SearchQuery, TermBag};

/// BM25 term frequency saturation.
const K1: f32 = 1.2;
/// BM25 length normalization.
const B: f32 = 0.75;

/// Number of documents at which the open segment is sealed.
const OPEN_DOCUMENTS: usize = 2_048;

/// Sealed segments are merged until each is at least this many times as large as the next.
const MERGE_RATIO: usize = 3;

/// Posting lists of all documents.
#[derive(Debug, Default)]
pub struct PostingIndex {
    /// Largest first.
    sealed: Vec<SealedSegment>,
    open: OpenSegment,
    /// Location of each live document: its segment number (`sealed.len()` for the open segment) and its row.
    locations: HashMap<u32, (u32, u32)>,
    /// Sum of the lengths of live documents.
    length: u64,
}

/// The result of a lexical search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LexicalResults {
    /// The best documents, best first; equal scores are ordered by id.
    pub hits: Vec<(u32, f32)>,
    /// Number of documents that contain a term of the query.
    pub total: usize,
    /// Upper bound of the score: that of a document in which every term of the query is frequent.
    pub ceiling: f32,
}

impl PostingIndex {
    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }

    /// Adds or replaces a document.
    pub fn insert(&mut self, id: u32, bag: &TermBag) {
        self.remove(id);
        let row = self.open.push_document(id, bag);
        self.locations.insert(id, (self.sealed.len() as u32, row));
        self.length += u64::from(bag.length);
        if self.open.row_count() == OPEN_DOCUMENTS {
            self.seal_open_segment();
        }
    }

    /// Removes a document; no-op if absent.
    pub fn remove(&mut self, id: u32) {
        let Some((number, row)) = self.locations.remove(&id) else {
            return;
        };
        let length = match self.sealed.get_mut(number as usize) {
            None => self.open.mark_removed(row),
            Some(segment) => {
                let length = segment.mark_removed(row);
                if segment.is_mostly_removed() {
                    *segment = SealedSegment::merge_segments(&[&*segment]);
                    self.update_locations(number as usize);
                }
                length
            }
        };
        self.length -= u64::from(length);
    }

    /// Returns the approximate memory usage in bytes.
    pub fn memory_bytes(&self) -> usize {
        let sealed: usize = self.sealed.iter().map(SealedSegment::memory_bytes).sum();
        sealed + self.open.memory_bytes() + self.locations.capacity() * size_of::<(u32, u32, u32)>()
    }

    /// Returns the `k` best allowed documents by BM25.
    pub fn search(
        &self,
        query: &SearchQuery,
        allowed: &dyn Fn(u32) -> bool,
        k: usize,
    ) -> LexicalResults {
        let weights = self.term_weights(query);
        let mut found =
            LexicalResults { ceiling: score_ceiling(query, &weights), ..LexicalResults::default() };
        let norm = self.length_norm();
        let mut scores = Vec::new();
        for segment in self.segments() {
            scores.clear();
            scores.resize(segment.row_count(), 0.0);
            for &(hash, weight) in &weights {
                segment.add_scores(hash, weight, norm, &mut scores);
            }
            for (row, &score) in scores.iter().enumerate() {
                if score > 0.0
                    && let Some(id) = segment.live_document(row as u32)
                    && allowed(id)
                {
                    found.total += 1;
                    found.hits.push((id, score));
                }
            }
            keep_best(&mut found.hits, k);
        }
        found.hits.sort_unstable_by(compare_hits);
        found
    }

    /// Returns the BM25 score of one document, or 0 if it is absent.
    pub fn score_document(&self, query: &SearchQuery, id: u32) -> f32 {
        let matched = self.matched_terms(query, id);
        let norm = self.length_norm();
        let Some(&(number, row)) = self.locations.get(&id) else { return 0.0 };
        let length = self.segment(number).document_length(row);
        let weights = self.term_weights(query);
        matched
            .into_iter()
            .map(|(index, frequency)| score_term(weights[index].1, frequency, length, norm))
            .sum()
    }

    /// Returns the terms of the query that a document contains: their index in the query, and their frequency.
    pub fn matched_terms(&self, query: &SearchQuery, id: u32) -> Vec<(usize, u8)> {
        let Some(&(number, row)) = self.locations.get(&id) else {
            return Vec::new();
        };
        let segment = self.segment(number);
        let frequency = |hash| segment.term_frequency(hash, row);
        query
            .terms()
            .iter()
            .enumerate()
            .filter_map(|(index, term)| Some((index, frequency(term.hash)?)))
            .collect()
    }

    /// Returns the number of documents that contain each term of the query.
    pub(crate) fn document_frequencies(&self, query: &SearchQuery) -> Vec<usize> {
        let count = |hash| self.segments().map(|segment| segment.document_frequency(hash)).sum();
        query.terms().iter().map(|term| count(term.hash)).collect()
    }

    /// Returns the BM25 inverse document frequency of each term of the query.
    pub(crate) fn inverse_document_frequencies(&self, query: &SearchQuery) -> Vec<f32> {
        let documents = self.len() as f32;
        let idf = |count: f32| ((documents - count + 0.5) / (count + 0.5)).ln_1p();
        self.document_frequencies(query).into_iter().map(|count| idf(count as f32)).collect()
    }

    /// Returns each term's hash and maximum score: its inverse document frequency times its weight in the query.
    fn term_weights(&self, query: &SearchQuery) -> Vec<(u32, f32)> {
        let terms = query.terms().iter().zip(self.inverse_document_frequencies(query));
        terms.map(|(term, rarity)| (term.hash, rarity * term.weight * (K1 + 1.0))).collect()
    }

    /// Returns the coefficients of the length norm: the constant part, and the part per unit of document length.
    fn length_norm(&self) -> (f32, f32) {
        let mean = self.length as f32 / self.len().max(1) as f32;
        (K1 * (1.0 - B), K1 * B / mean.max(1.0))
    }

    fn segments(&self) -> impl Iterator<Item = &dyn PostingSegment> {
        let sealed = self.sealed.iter().map(|segment| segment as &dyn PostingSegment);
        sealed.chain(std::iter::once(&self.open as &dyn PostingSegment))
    }

    fn segment(&self, number: u32) -> &dyn PostingSegment {
        match self.sealed.get(number as usize) {
            Some(segment) => segment,
            None => &self.open,
        }
    }

    /// Seals the open segment, and merges segments of similar size.
    fn seal_open_segment(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.sealed.push(open.seal());
        let mut first = self.sealed.len() - 1;
        let mut rows = self.sealed[first].row_count();
        while first > 0 && self.sealed[first - 1].row_count() < MERGE_RATIO * rows {
            first -= 1;
            rows += self.sealed[first].row_count();
        }
        let merged: Vec<SealedSegment> = self.sealed.drain(first..).collect();
        self.sealed.push(SealedSegment::merge_segments(&merged.iter().collect::<Vec<_>>()));
        self.update_locations(first);
    }

    fn update_locations(&mut self, number: usize) {
        for (row, id) in self.sealed[number].live_ids() {
            self.locations.insert(id, (number as u32, row));
        }
    }
}

/// Read access to a segment, open or sealed.
trait PostingSegment {
    fn row_count(&self) -> usize;
    /// Returns the document of a row, or `None` if it was removed.
    fn live_document(&self, row: u32) -> Option<u32>;
    fn document_length(&self, row: u32) -> u32;
    /// Returns the number of live documents that contain a term.
    fn document_frequency(&self, hash: u32) -> usize;
    fn term_frequency(&self, hash: u32, row: u32) -> Option<u8>;
    fn add_scores(&self, hash: u32, weight: f32, norm: (f32, f32), scores: &mut [f32]);
}

/// Returns the maximum score. Definition terms are excluded, because not every name in a query has a definition.
fn score_ceiling(query: &SearchQuery, weights: &[(u32, f32)]) -> f32 {
    let terms = query
        .terms()
        .iter()
        .zip(weights)
        .filter(|(term, _)| term.part != QueryTermKind::Definition);
    terms.map(|(_, &(_, weight))| weight).sum()
}

/// Returns the BM25 score of one term in one document.
fn score_term(weight: f32, frequency: u8, length: u32, norm: (f32, f32)) -> f32 {
    let frequency = f32::from(frequency);
    weight * frequency / (frequency + norm.0 + norm.1 * length as f32)
}

/// Orders hits by descending score, then by ascending id.
pub(crate) fn compare_hits(a: &(u32, f32), b: &(u32, f32)) -> std::cmp::Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

fn keep_best(hits: &mut Vec<(u32, f32)>, k: usize) {
    if hits.len() > k {
        if k > 0 {
            hits.select_nth_unstable_by(k - 1, compare_hits);
        }
        hits.truncate(k);
    }
}

#[cfg(test)]
mod tests;

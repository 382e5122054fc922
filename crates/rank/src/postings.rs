//! Which documents hold which words, and BM25 over them. In memory, incremental, exact.
//!
//! It is our own rather than `tantivy`, whose changes are seen after a commit only: here a change counts at once.
//!
//! New documents gather in a small open segment; full segments are sealed and merged by size, so that each posting is
//! moved a few times only. A removed document stays as a dead row until its segment is rewritten. Frequencies count
//! live documents only, so an answer never depends on what was there before.

mod segment;

use std::collections::HashMap;

use segment::{Open, Sealed};

use crate::query::Part;
use crate::{Bag, Query};

/// BM25: how soon further occurrences stop to count, and how much a long document is held back.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Documents that the open segment takes before it is sealed.
const OPEN_DOCUMENTS: usize = 2_048;

/// Sealed segments are merged until each is at least this many times as large as the next.
const GROWTH: usize = 3;

/// Words of many documents.
#[derive(Debug, Default)]
pub struct Postings {
    /// Largest first.
    sealed: Vec<Sealed>,
    open: Open,
    /// Where each live document is: the number of its segment (that of the open one is `sealed.len()`) and its row.
    places: HashMap<u32, (u32, u32)>,
    /// Sum of the lengths of live documents.
    length: u64,
}

/// What the words alone say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lexical {
    /// The best, best first; equal scores in the order of ids.
    pub hits: Vec<(u32, f32)>,
    /// How many documents hold a word of the query.
    pub total: usize,
    /// What a document would score that holds every word of the query over and over.
    pub ceiling: f32,
}

impl Postings {
    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds a document, or replaces it.
    pub fn insert(&mut self, id: u32, bag: &Bag) {
        self.remove(id);
        let row = self.open.push(id, bag);
        self.places.insert(id, (self.sealed.len() as u32, row));
        self.length += u64::from(bag.length);
        if self.open.rows() == OPEN_DOCUMENTS {
            self.seal();
        }
    }

    /// Takes a document out; one that is not there is none the less gone.
    pub fn remove(&mut self, id: u32) {
        let Some((number, row)) = self.places.remove(&id) else {
            return;
        };
        let length = match self.sealed.get_mut(number as usize) {
            None => self.open.kill(row),
            Some(segment) => {
                let length = segment.kill(row);
                if segment.mostly_dead() {
                    *segment = Sealed::merge(&[&*segment]);
                    self.note_places(number as usize);
                }
                length
            }
        };
        self.length -= u64::from(length);
    }

    /// Bytes that the postings hold, roughly.
    pub fn bytes(&self) -> usize {
        let sealed: usize = self.sealed.iter().map(Sealed::bytes).sum();
        sealed + self.open.bytes() + self.places.capacity() * size_of::<(u32, u32, u32)>()
    }

    /// The `k` best of the allowed documents by BM25.
    pub fn search(&self, query: &Query, allowed: &dyn Fn(u32) -> bool, k: usize) -> Lexical {
        let weights = self.weights(query);
        let mut found = Lexical { ceiling: ceiling(query, &weights), ..Lexical::default() };
        let norm = self.norm();
        let mut scores = Vec::new();
        for segment in self.segments() {
            scores.clear();
            scores.resize(segment.rows(), 0.0);
            for &(hash, weight) in &weights {
                segment.add_scores(hash, weight, norm, &mut scores);
            }
            for (row, &score) in scores.iter().enumerate() {
                if score > 0.0
                    && let Some(id) = segment.live(row as u32)
                    && allowed(id)
                {
                    found.total += 1;
                    found.hits.push((id, score));
                }
            }
            keep_best(&mut found.hits, k);
        }
        found.hits.sort_unstable_by(better);
        found
    }

    /// BM25 of one document.
    pub fn score(&self, query: &Query, id: u32) -> f32 {
        let matched = self.matched(query, id);
        let norm = self.norm();
        let Some(&(number, row)) = self.places.get(&id) else { return 0.0 };
        let length = self.segment(number).length(row);
        let weights = self.weights(query);
        matched
            .into_iter()
            .map(|(index, frequency)| saturated(weights[index].1, frequency, length, norm))
            .sum()
    }

    /// Which terms of the query (by their index) a document holds, and how often.
    pub fn matched(&self, query: &Query, id: u32) -> Vec<(usize, u8)> {
        let Some(&(number, row)) = self.places.get(&id) else {
            return Vec::new();
        };
        let segment = self.segment(number);
        let frequency = |hash| segment.frequency(hash, row);
        query
            .terms()
            .iter()
            .enumerate()
            .filter_map(|(index, term)| Some((index, frequency(term.hash)?)))
            .collect()
    }

    /// How many documents hold each term of the query.
    pub(crate) fn frequencies(&self, query: &Query) -> Vec<usize> {
        let count = |hash| self.segments().map(|segment| segment.count(hash)).sum();
        query.terms().iter().map(|term| count(term.hash)).collect()
    }

    /// How rare each term of the query is: the inverse document frequency of BM25.
    pub(crate) fn rarities(&self, query: &Query) -> Vec<f32> {
        let documents = self.len() as f32;
        let rarity = |holders: f32| ((documents - holders + 0.5) / (holders + 0.5)).ln_1p();
        self.frequencies(query).into_iter().map(|holders| rarity(holders as f32)).collect()
    }

    /// Each term's number with what it adds at most: its rarity times its weight in the query.
    fn weights(&self, query: &Query) -> Vec<(u32, f32)> {
        let terms = query.terms().iter().zip(self.rarities(query));
        terms.map(|(term, rarity)| (term.hash, rarity * term.weight * (K1 + 1.0))).collect()
    }

    /// The part of the length norm that all documents share: constant, and per unit of length.
    fn norm(&self) -> (f32, f32) {
        let mean = self.length as f32 / self.len().max(1) as f32;
        (K1 * (1.0 - B), K1 * B / mean.max(1.0))
    }

    fn segments(&self) -> impl Iterator<Item = &dyn Segment> {
        let sealed = self.sealed.iter().map(|segment| segment as &dyn Segment);
        sealed.chain(std::iter::once(&self.open as &dyn Segment))
    }

    fn segment(&self, number: u32) -> &dyn Segment {
        match self.sealed.get(number as usize) {
            Some(segment) => segment,
            None => &self.open,
        }
    }

    fn seal(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.sealed.push(open.seal());
        let mut first = self.sealed.len() - 1;
        let mut rows = self.sealed[first].rows();
        while first > 0 && self.sealed[first - 1].rows() < GROWTH * rows {
            first -= 1;
            rows += self.sealed[first].rows();
        }
        let merged: Vec<Sealed> = self.sealed.drain(first..).collect();
        self.sealed.push(Sealed::merge(&merged.iter().collect::<Vec<_>>()));
        self.note_places(first);
    }

    fn note_places(&mut self, number: usize) {
        for (row, id) in self.sealed[number].ids() {
            self.places.insert(id, (number as u32, row));
        }
    }
}

/// What a search asks of a segment, open or sealed.
trait Segment {
    fn rows(&self) -> usize;
    /// The document of a row, unless it is dead.
    fn live(&self, row: u32) -> Option<u32>;
    fn length(&self, row: u32) -> u32;
    /// How many live documents hold a term.
    fn count(&self, hash: u32) -> usize;
    fn frequency(&self, hash: u32, row: u32) -> Option<u8>;
    fn add_scores(&self, hash: u32, weight: f32, norm: (f32, f32), scores: &mut [f32]);
}

/// Definitions are left out: not every name that is asked for is defined here.
fn ceiling(query: &Query, weights: &[(u32, f32)]) -> f32 {
    let asked = query.terms().iter().zip(weights).filter(|(term, _)| term.part != Part::Definition);
    asked.map(|(_, &(_, weight))| weight).sum()
}

fn saturated(weight: f32, frequency: u8, length: u32, norm: (f32, f32)) -> f32 {
    let frequency = f32::from(frequency);
    weight * frequency / (frequency + norm.0 + norm.1 * length as f32)
}

/// Higher scores first, then lower ids.
pub(crate) fn better(a: &(u32, f32), b: &(u32, f32)) -> std::cmp::Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

fn keep_best(hits: &mut Vec<(u32, f32)>, k: usize) {
    if hits.len() > k {
        if k > 0 {
            hits.select_nth_unstable_by(k - 1, better);
        }
        hits.truncate(k);
    }
}

#[cfg(test)]
mod tests;

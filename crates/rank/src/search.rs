//! A search from the query to the hits: candidates by word and by meaning, fused, reranked, folded, explained.

use std::collections::{HashMap, HashSet};

use crate::fuse::{Candidate, fuse};
use crate::rerank::{Asked, FURTHER, Marks};
use crate::{Corpus, Facts, Postings, Query, Reason};

/// How many the words and the meaning each put forward. Reranking can lift a document from far down.
const CANDIDATES: usize = 150;

/// Below this cosine a document does not count as found by its meaning.
const MEANING_FLOOR: f32 = 0.35;

/// The query's vector beside those of the documents.
pub trait Meaning {
    /// The nearest of the allowed documents with their cosines, nearest first.
    fn nearest(&self, allowed: &dyn Fn(u32) -> bool, k: usize) -> Vec<(u32, f32)>;
    /// The cosine of one document, if it has a vector.
    fn similarity(&self, id: u32) -> Option<f32>;
}

/// Where to search.
#[derive(Clone, Copy)]
pub struct Search<'a, C> {
    pub postings: &'a Postings,
    /// `None` where nothing is embedded: then the words decide alone.
    pub meaning: Option<&'a dyn Meaning>,
    pub corpus: &'a C,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranking {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How many documents hold a word of the query or mean something like it.
    pub total: usize,
}

/// One document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub id: u32,
    /// From 0 to 1, comparable between the hits of one query and of different ones.
    pub score: f32,
    pub why: Vec<Reason>,
}

impl<C: Corpus> Search<'_, C> {
    /// The `limit` best of the allowed documents.
    pub fn run(&self, query: &Query, allowed: &dyn Fn(u32) -> bool, limit: usize) -> Ranking {
        let lexical = self.postings.search(query, allowed, CANDIDATES);
        let near =
            self.meaning.map(|meaning| meaning.nearest(allowed, CANDIDATES)).unwrap_or_default();
        let candidates = self.candidates(query, &lexical.hits, &near);
        let by_meaning_only = near
            .iter()
            .filter(|&&(id, cosine)| {
                cosine >= MEANING_FLOOR && self.postings.matched(query, id).is_empty()
            })
            .count();

        let facts: Vec<Facts<'_>> =
            candidates.iter().map(|candidate| self.corpus.facts(candidate.id)).collect();
        let fused = fuse(query, &candidates);
        let marks = Asked::new(query, &self.postings.rarities(query)).mark(&facts, &fused);
        let sure = confidence(&candidates, lexical.ceiling);
        let hits = shown(&candidates, &facts, &marks, limit)
            .into_iter()
            .map(|shown| Hit {
                id: candidates[shown.index].id,
                score: (shown.score * sure).clamp(0.0, 1.0),
                why: self.why(
                    query,
                    &candidates[shown.index],
                    &facts[shown.index],
                    &marks[shown.index],
                    shown.copies,
                ),
            })
            .collect();
        Ranking { hits, total: lexical.total + by_meaning_only }
    }

    /// The union of both lists; each candidate with both scores.
    fn candidates(
        &self,
        query: &Query,
        words: &[(u32, f32)],
        near: &[(u32, f32)],
    ) -> Vec<Candidate> {
        let cosines: HashMap<u32, f32> = near.iter().copied().collect();
        let similarity = |id| {
            let known = cosines.get(&id).copied();
            known.or_else(|| self.meaning.and_then(|meaning| meaning.similarity(id)))
        };
        let by_word: HashSet<u32> = words.iter().map(|&(id, _)| id).collect();
        let mut all: Vec<Candidate> = words
            .iter()
            .map(|&(id, words)| Candidate { id, words, meaning: similarity(id) })
            .collect();
        all.extend(near.iter().filter(|(id, _)| !by_word.contains(id)).map(|&(id, cosine)| {
            Candidate { id, words: self.postings.score(query, id), meaning: Some(cosine) }
        }));
        all
    }

    fn why(
        &self,
        query: &Query,
        candidate: &Candidate,
        facts: &Facts<'_>,
        marks: &Marks,
        copies: usize,
    ) -> Vec<Reason> {
        let mut why: Vec<Reason> = marks.defines.iter().cloned().map(Reason::Defines).collect();
        if marks.file_name
            && let Some(path) = facts.path
        {
            let name = path.rsplit('/').next().unwrap_or(path);
            why.push(Reason::FileName(name.to_owned()));
        }
        let matched = self.postings.matched(query, candidate.id);
        if !matched.is_empty() {
            let words = matched.iter().map(|&(index, _)| query.terms()[index].text.clone());
            why.push(Reason::Words(words.collect()));
        }
        if let Some(cosine) = candidate.meaning.filter(|&cosine| cosine >= MEANING_FLOOR) {
            why.push(Reason::Meaning(cosine));
        }
        if facts.attention > 0.0 {
            why.push(Reason::Attention);
        }
        if copies > 0 {
            why.push(Reason::Copies(copies));
        }
        why
    }
}

struct Shown {
    index: usize,
    score: f32,
    copies: usize,
}

/// The best in order, each content once, further documents of a file held back. The best has the score 1.
fn shown(
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
        let known = seen.entry(facts[index].content).or_insert(all.len());
        if *known < all.len() {
            all[*known].copies += 1;
            continue;
        }
        let mut score = marks[index].score;
        if let Some(file) = facts[index].file {
            let before = files.entry(file).or_insert(0);
            score *= FURTHER.powi(*before);
            *before += 1;
        }
        all.push(Shown { index, score, copies: 0 });
    }
    all.sort_by(|a, b| b.score.total_cmp(&a.score));
    all.truncate(limit);
    let best = all.first().map_or(0.0, |first| first.score).max(f32::MIN_POSITIVE);
    for shown in &mut all {
        shown.score /= best;
    }
    all
}

/// How sure the best is to be an answer: the share of the query's weight that its words carry, or its meaning.
fn confidence(candidates: &[Candidate], ceiling: f32) -> f32 {
    let words = candidates.iter().map(|candidate| candidate.words).fold(0.0, f32::max);
    let meaning = candidates.iter().filter_map(|candidate| candidate.meaning).fold(0.0, f32::max);
    (words / ceiling.max(f32::MIN_POSITIVE)).max(meaning)
}

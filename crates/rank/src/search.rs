//! A search from the query to the hits: candidates by word and by meaning, fused, reranked, folded, explained.

mod order;

use std::collections::{HashMap, HashSet};

use crate::fuse::{Candidate, fuse};
use crate::postings::Lexical;
use crate::query::Part;
use crate::rerank::{Asked, Marks};
use crate::{Corpus, Facts, Postings, Query, Reason};

/// How many the words and the meaning each put forward. Reranking can lift a document from far down.
const CANDIDATES: usize = 150;

/// How many are looked at to count what is found by its meaning alone.
const COUNTED: usize = 500;

/// Below this cosine a document does not count as found by its meaning.
const MEANING_FLOOR: f32 = 0.35;

/// The query's vector beside those of the documents.
pub trait Meaning {
    /// The nearest of the allowed documents with their cosines, nearest first.
    fn nearest(&self, allowed: &(dyn Fn(u32) -> bool + Sync), k: usize) -> Vec<(u32, f32)>;
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
    pub fn run(
        &self,
        query: &Query,
        allowed: &(dyn Fn(u32) -> bool + Sync),
        limit: usize,
    ) -> Ranking {
        let lexical = self.postings.search(query, allowed, CANDIDATES);
        let near =
            self.meaning.map(|meaning| meaning.nearest(allowed, COUNTED)).unwrap_or_default();
        let total = lexical.total + self.found_by_meaning_alone(query, &near);

        let candidates = self.candidates(query, &lexical, &near[..near.len().min(CANDIDATES)]);
        let facts: Vec<Facts<'_>> =
            candidates.iter().map(|candidate| self.corpus.facts(candidate.id)).collect();
        let fused = fuse(query, &candidates);
        let marks = Asked::new(query, &self.postings.rarities(query)).mark(&facts, &fused);
        let sure = candidates.iter().map(order::sureness).fold(0.0, f32::max);
        let hits = order::shown(&candidates, &facts, &marks, limit)
            .into_iter()
            .map(|shown| {
                let (candidate, facts) = (&candidates[shown.index], &facts[shown.index]);
                let why = self.why(query, candidate, facts, &marks[shown.index], shown.copies);
                Hit { id: candidate.id, score: shown.share * sure, why }
            })
            .collect();
        Ranking { hits, total }
    }

    fn found_by_meaning_alone(&self, query: &Query, near: &[(u32, f32)]) -> usize {
        let meant = near.iter().take_while(|(_, cosine)| *cosine >= MEANING_FLOOR);
        meant.filter(|(id, _)| self.postings.matched(query, *id).is_empty()).count()
    }

    /// The union of both lists; each candidate with both scores.
    fn candidates(&self, query: &Query, lexical: &Lexical, near: &[(u32, f32)]) -> Vec<Candidate> {
        let ceiling = lexical.ceiling.max(f32::MIN_POSITIVE);
        let cosines: HashMap<u32, f32> = near.iter().copied().collect();
        let similarity = |id| {
            let known = cosines.get(&id).copied();
            known.or_else(|| self.meaning.and_then(|meaning| meaning.similarity(id)))
        };
        let by_word: HashSet<u32> = lexical.hits.iter().map(|&(id, _)| id).collect();
        let found = lexical.hits.iter().map(|&(id, score)| (id, score, similarity(id)));
        let meant = near
            .iter()
            .filter(|(id, _)| !by_word.contains(id))
            .map(|&(id, cosine)| (id, self.postings.score(query, id), Some(cosine)));
        found
            .chain(meant)
            .map(|(id, score, meaning)| Candidate { id, words: score / ceiling, meaning })
            .collect()
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
            why.push(Reason::FileName(path.rsplit('/').next().unwrap_or(path).to_owned()));
        }
        let matched = self.postings.matched(query, candidate.id);
        let matched = matched.iter().map(|&(index, _)| &query.terms()[index]);
        let words: Vec<String> =
            matched.filter(|term| term.part == Part::Word).map(|term| term.text.clone()).collect();
        if !words.is_empty() {
            why.push(Reason::Words(words));
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

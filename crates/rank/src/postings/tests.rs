//! Compares the index, after any sequence of edits, with a scorer that reads every document.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::RankDocument;
use crate::query::QueryTerm;

fn bag(text: &str) -> TermBag {
    TermBag::from_document(&RankDocument { text, ..RankDocument::default() })
}

/// A direct implementation of the BM25 formula.
fn score_naively(bags: &BTreeMap<u32, TermBag>, query: &SearchQuery) -> Vec<(u32, f32)> {
    let documents = bags.len() as f32;
    let mean = bags.values().map(|bag| bag.length as f32).sum::<f32>() / documents.max(1.0);
    let frequency =
        |bag: &TermBag, hash| bag.terms.iter().find(|term| term.0 == hash).map(|term| term.1);
    let idf = |term: &QueryTerm| {
        let count = bags.values().filter(|bag| frequency(bag, term.hash).is_some()).count() as f32;
        (1.0 + (documents - count + 0.5) / (count + 0.5)).ln()
    };
    let idfs: Vec<f32> = query.terms().iter().map(idf).collect();
    let mut hits = Vec::new();
    for (&id, bag) in bags {
        let mut score = 0.0;
        for (term, idf) in query.terms().iter().zip(&idfs) {
            if let Some(times) = frequency(bag, term.hash).map(f32::from) {
                let norm = K1 * (1.0 - B + B * bag.length as f32 / mean.max(1.0));
                score += term.weight * idf * times * (K1 + 1.0) / (times + norm);
            }
        }
        if score > 0.0 {
            hits.push((id, score));
        }
    }
    hits
}

fn check(postings: &PostingIndex, bags: &BTreeMap<u32, TermBag>, text: &str) {
    let query = SearchQuery::new(text);
    let expected = score_naively(bags, &query);
    let found = postings.search(&query, &|_| true, usize::MAX);
    assert_eq!(found.total, expected.len(), "{text}");
    assert!(found.hits.is_sorted_by(|a, b| compare_hits(a, b).is_le()));
    let scores: BTreeMap<u32, f32> = found.hits.iter().copied().collect();
    for (id, score) in expected {
        let got = scores[&id];
        assert!((got - score).abs() <= 1e-4 * score.abs().max(1.0), "{text}: {id} {got} {score}");
        assert!((postings.score_document(&query, id) - got).abs() <= 1e-4 * got);
        assert!(got <= found.ceiling);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u32, String),
    Remove(u32),
}

fn step() -> impl Strategy<Value = Step> {
    let text = proptest::collection::vec("[a-e]{1,2}", 0..12).prop_map(|words| words.join(" "));
    prop_oneof![
        3 => (0..40_u32, text).prop_map(|(id, text)| Step::Insert(id, text)),
        1 => (0..40_u32).prop_map(Step::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn equals_the_naive_scorer(steps in proptest::collection::vec(step(), 0..120), seals in 0..4_usize) {
        let mut postings = PostingIndex::default();
        let mut bags = BTreeMap::new();
        for (index, step) in steps.iter().enumerate() {
            match step {
                Step::Insert(id, text) => {
                    postings.insert(*id, &bag(text));
                    bags.insert(*id, bag(text));
                }
                Step::Remove(id) => {
                    postings.remove(*id);
                    bags.remove(id);
                }
            }
            // Early sealing creates segments that would otherwise need thousands of documents.
            if seals > 0 && index % (17 * seals) == 16 {
                postings.seal_open_segment();
            }
        }
        prop_assert_eq!(postings.len(), bags.len());
        for text in ["aa", "a bb cc", "dd dd e", "zz"] {
            check(&postings, &bags, text);
        }
    }
}

#[test]
fn several_segments_score_like_one() {
    let mut postings = PostingIndex::default();
    let mut bags = BTreeMap::new();
    for id in 0..3 * OPEN_DOCUMENTS as u32 + 7 {
        let bag = bag(&format!(
            "common word{} group{} {}",
            id,
            id % 7,
            "filler ".repeat(id as usize % 5)
        ));
        postings.insert(id, &bag);
        bags.insert(id, bag);
    }
    for id in (0..OPEN_DOCUMENTS as u32).step_by(2) {
        postings.remove(id);
        bags.remove(&id);
    }
    for text in ["word4097", "group3 filler", "absent"] {
        check(&postings, &bags, text);
    }
}

#[test]
fn returns_the_best_allowed_documents() {
    let mut postings = PostingIndex::default();
    for id in 0..50 {
        postings.insert(id, &bag(&"needle ".repeat(id as usize + 1)));
    }
    let found = postings.search(&SearchQuery::new("needle"), &|id| id % 2 == 0, 3);
    assert_eq!(found.total, 25);
    assert_eq!(found.hits.len(), 3);
    assert!(found.hits.iter().all(|(id, _)| id % 2 == 0));
    assert!(postings.search(&SearchQuery::new("needle"), &|_| true, 0).hits.is_empty());
}

#[test]
fn returns_the_terms_that_a_document_contains() {
    let mut postings = PostingIndex::default();
    postings.insert(7, &bag("parse the request, parse it"));
    let query = SearchQuery::new("request parser timeout");
    assert_eq!(postings.matched_terms(&query, 7), [(0, 1)]);
    assert_eq!(postings.matched_terms(&query, 8), []);
    assert_eq!(postings.document_frequencies(&query), [1, 0, 0]);
}

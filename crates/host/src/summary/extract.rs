//! A summary without a model: the most telling sentences and figures of an output, quoted.
//!
//! Sentences that share words with the query come first, then those near the top of the output. A claim only says what
//! is quoted and from where, so nothing can be wrong about it.

use std::collections::{BTreeSet, HashSet};

use async_trait::async_trait;
use rank::Query;
use serde_json::{Value, json};

use super::ground::{MAX_QUOTE, MIN_QUOTE, locate};
use super::{SummarizeError, Summarizer};
use crate::json::shortened;
use crate::typed::Validated;

const BULLETS: usize = 5;
/// Candidates that are looked at; an output of megabytes has its beginning summarised.
const MAX_CANDIDATES: usize = 2_000;
/// A longer sentence is quoted up to a word's end before this.
const QUOTE: usize = 240;

/// The extractive summariser.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

#[async_trait]
impl Summarizer for Extractive {
    async fn summarize(&self, query: &str, output: &Validated) -> Result<String, SummarizeError> {
        let bullets = bullets(query, output.value());
        if bullets.is_empty() {
            return Err(SummarizeError::NothingToQuote);
        }
        Ok(json!({"type": "summary", "bullets": bullets}).to_string())
    }
}

struct Candidate<'a> {
    steps: Vec<&'a str>,
    index: usize,
    quote: String,
    part: Part,
}

enum Part {
    Scalar,
    WholeText,
    Sentence,
}

fn bullets(query: &str, output: &Value) -> Vec<Value> {
    let mut candidates = Vec::new();
    collect(output, &mut Vec::new(), &mut candidates);
    let asked: HashSet<u32> = Query::new(query).terms().iter().map(|term| term.hash).collect();
    let mut scored: Vec<(usize, usize)> = candidates
        .iter()
        .enumerate()
        .map(|(index, candidate)| (score(candidate, &asked), index))
        .collect();
    scored.sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
    let mut quoted: HashSet<&str> = HashSet::new();
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    for (_, index) in scored {
        let candidate = &candidates[index];
        if chosen.len() < BULLETS
            && locate(&candidate.quote, output).is_ok()
            && quoted.insert(&candidate.quote)
        {
            chosen.insert(index);
        }
    }
    chosen.into_iter().map(|index| bullet(&candidates[index])).collect()
}

fn collect<'a>(value: &'a Value, steps: &mut Vec<&'a str>, found: &mut Vec<Candidate<'a>>) {
    if found.len() >= MAX_CANDIDATES {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                steps.push(name);
                collect(value, steps, found);
                steps.pop();
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, steps, found)),
        Value::String(text) => {
            for (index, sentence) in sentences(text).enumerate().take(MAX_CANDIDATES) {
                let quote = cut(sentence).to_owned();
                let part = if quote == *text { Part::WholeText } else { Part::Sentence };
                found.push(Candidate { steps: steps.clone(), index, quote, part });
            }
        }
        Value::Bool(_) | Value::Number(_) => {
            let quote = value.to_string();
            let part = Part::Scalar;
            found.push(Candidate { steps: steps.clone(), index: 0, quote, part });
        }
        Value::Null => {}
    }
}

/// The sentences and lines of a text that have something to say.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n')
        .flat_map(|line| {
            let mut rest = line;
            std::iter::from_fn(move || {
                let (sentence, later) = rest.split_at(sentence_end(rest)?);
                rest = later;
                Some(sentence)
            })
        })
        .map(str::trim)
        .filter(|part| part.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_QUOTE)
}

/// Where the first sentence ends: behind its point, if that is no part of a name or number.
fn sentence_end(text: &str) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let before_blank = characters.peek().is_none_or(|(_, next)| next.is_whitespace());
        if c == '。' || (matches!(c, '.' | '!' | '?') && before_blank) {
            return Some(at + c.len_utf8());
        }
    }
    Some(text.len())
}

/// At most [`QUOTE`] characters, up to the end of a word if there is one.
fn cut(sentence: &str) -> &str {
    let Some((end, _)) = sentence.char_indices().nth(QUOTE.min(MAX_QUOTE)) else { return sentence };
    let head = &sentence[..end];
    head.rfind(char::is_whitespace).map_or(head, |end| head[..end].trim_end())
}

/// Words of the query count most, then sentences over figures and names, then what stands near the top.
fn score(candidate: &Candidate<'_>, asked: &HashSet<u32>) -> usize {
    let mut words: HashSet<u32> = HashSet::new();
    for text in candidate.steps.iter().copied().chain([candidate.quote.as_str()]) {
        rank::terms::each(text, |term| {
            words.insert(term.hash);
        });
    }
    let shared = words.intersection(asked).count();
    let first = usize::from(candidate.index == 0);
    let flat = 3_usize.saturating_sub(candidate.steps.len());
    let long = usize::from(candidate.quote.chars().count() >= 20) * 4;
    shared * 10 + first + flat + long
}

fn bullet(candidate: &Candidate<'_>) -> Value {
    let label = match candidate.steps.as_slice() {
        [] => "The answer".to_owned(),
        [name] => format!("`{}`", plain(name)),
        [.., parent, name] => format!("`{}` of `{}`", plain(name), plain(parent)),
    };
    let claim = match (&candidate.part, candidate.index) {
        (Part::Scalar, _) => format!("{label} is {}", candidate.quote),
        (Part::WholeText, _) => format!("{label} is as quoted"),
        (Part::Sentence, 0) => format!("{label} begins as quoted"),
        (Part::Sentence, _) => format!("{label} goes on to say what is quoted"),
    };
    json!({"claim": claim, "evidence": candidate.quote})
}

/// A name of the output inside a claim: what cannot be seen is shown.
fn plain(name: &str) -> String {
    shortened(name, 20)
}

//! Summaries without a model: the most relevant sentences and values of an output, quoted.
//!
//! Sentences that share words with the query rank first, then those near the top of the output. A claim states only the
//! origin of its quote, so it cannot be wrong.

use std::collections::{BTreeSet, HashSet};

use async_trait::async_trait;
use rank::SearchQuery;
use serde_json::{Value, json};

use super::ground::{MAX_QUOTE, MIN_QUOTE, locate_evidence};
use super::{SummarizeError, Summarizer};
use crate::json::shorten_text;
use crate::typed::ValidatedOutput;

/// Maximum bullets of a summary.
const MAX_EXTRACTED_BULLETS: usize = 5;
/// Maximum candidates; only the beginning of a very large output is summarized.
const MAX_CANDIDATES: usize = 2_000;
/// Maximum characters of a quote; a longer sentence is cut at the end of a word.
const MAX_QUOTE_CHARS: usize = 240;

/// A summarizer that only quotes, and needs no model.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExtractiveSummarizer;

#[async_trait]
impl Summarizer for ExtractiveSummarizer {
    async fn summarize(
        &self,
        query: &str,
        output: &ValidatedOutput,
    ) -> Result<String, SummarizeError> {
        let bullets = extract_bullets(query, output.value());
        if bullets.is_empty() {
            return Err(SummarizeError::NothingToQuote);
        }
        Ok(json!({"type": "summary", "bullets": bullets}).to_string())
    }
}

/// A possible quote.
struct QuoteCandidate<'a> {
    /// Property names on the path to the value.
    steps: Vec<&'a str>,
    /// Number of the sentence in its string.
    index: usize,
    quote: String,
    part: QuoteKind,
}

/// The part of a value that a candidate quotes.
enum QuoteKind {
    Scalar,
    WholeText,
    Sentence,
}

fn extract_bullets(query: &str, output: &Value) -> Vec<Value> {
    let mut candidates = Vec::new();
    collect_candidates(output, &mut Vec::new(), &mut candidates);
    let asked: HashSet<u32> =
        SearchQuery::new(query).terms().iter().map(|term| term.hash).collect();
    let mut scored: Vec<(usize, usize)> = candidates
        .iter()
        .enumerate()
        .map(|(index, candidate)| (score_candidate(candidate, &asked), index))
        .collect();
    scored.sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
    let mut quoted: HashSet<&str> = HashSet::new();
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    for (_, index) in scored {
        let candidate = &candidates[index];
        if chosen.len() < MAX_EXTRACTED_BULLETS
            && locate_evidence(&candidate.quote, output).is_ok()
            && quoted.insert(&candidate.quote)
        {
            chosen.insert(index);
        }
    }
    chosen.into_iter().map(|index| format_bullet(&candidates[index])).collect()
}

fn collect_candidates<'a>(
    value: &'a Value,
    steps: &mut Vec<&'a str>,
    found: &mut Vec<QuoteCandidate<'a>>,
) {
    if found.len() >= MAX_CANDIDATES {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                steps.push(name);
                collect_candidates(value, steps, found);
                steps.pop();
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_candidates(item, steps, found)),
        Value::String(text) => {
            for (index, sentence) in split_sentences(text).enumerate().take(MAX_CANDIDATES) {
                let quote = truncate_quote(sentence).to_owned();
                let part = if quote == *text { QuoteKind::WholeText } else { QuoteKind::Sentence };
                found.push(QuoteCandidate { steps: steps.clone(), index, quote, part });
            }
        }
        Value::Bool(_) | Value::Number(_) => {
            let quote = value.to_string();
            let part = QuoteKind::Scalar;
            found.push(QuoteCandidate { steps: steps.clone(), index: 0, quote, part });
        }
        Value::Null => {}
    }
}

/// Returns the sentences and lines of a text that are long enough to quote.
fn split_sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n')
        .flat_map(|line| {
            let mut rest = line;
            std::iter::from_fn(move || {
                let (sentence, later) = rest.split_at(find_sentence_end(rest)?);
                rest = later;
                Some(sentence)
            })
        })
        .map(str::trim)
        .filter(|part| part.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_QUOTE)
}

/// Returns the end of the first sentence: after a period that is not part of a name or number.
fn find_sentence_end(text: &str) -> Option<usize> {
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

/// Cuts a sentence to at most [`MAX_QUOTE_CHARS`] characters, at the end of a word if possible.
fn truncate_quote(sentence: &str) -> &str {
    let Some((end, _)) = sentence.char_indices().nth(MAX_QUOTE_CHARS.min(MAX_QUOTE)) else {
        return sentence;
    };
    let head = &sentence[..end];
    head.rfind(char::is_whitespace).map_or(head, |end| head[..end].trim_end())
}

/// Scores a candidate: words of the query count most, then length (sentences over numbers and names), then depth.
fn score_candidate(candidate: &QuoteCandidate<'_>, asked: &HashSet<u32>) -> usize {
    let mut words: HashSet<u32> = HashSet::new();
    for text in candidate.steps.iter().copied().chain([candidate.quote.as_str()]) {
        rank::terms::for_each_term(text, |term| {
            words.insert(term.hash);
        });
    }
    let shared = words.intersection(asked).count();
    let first = usize::from(candidate.index == 0);
    let flat = 3_usize.saturating_sub(candidate.steps.len());
    let long = usize::from(candidate.quote.chars().count() >= 20) * 4;
    shared * 10 + first + flat + long
}

fn format_bullet(candidate: &QuoteCandidate<'_>) -> Value {
    let label = match candidate.steps.as_slice() {
        [] => "The answer".to_owned(),
        [name] => format!("`{}`", format_name(name)),
        [.., parent, name] => format!("`{}` of `{}`", format_name(name), format_name(parent)),
    };
    let claim = match (&candidate.part, candidate.index) {
        (QuoteKind::Scalar, _) => format!("{label} is {}", candidate.quote),
        (QuoteKind::WholeText, _) => format!("{label} is the quoted text"),
        (QuoteKind::Sentence, 0) => format!("{label} begins with the quoted text"),
        (QuoteKind::Sentence, _) => format!("{label} contains the quoted text"),
    };
    json!({"claim": claim, "evidence": candidate.quote})
}

/// Formats a property name for a claim: bounded, with hidden characters escaped.
fn format_name(name: &str) -> String {
    shorten_text(name, 20)
}

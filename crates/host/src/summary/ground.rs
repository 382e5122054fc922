//! Location of a quote in an output.
//!
//! A quote is a verbatim substring of one string: same case, same white space, no omissions, and not joined from two
//! parts. It begins and ends at word boundaries, because `legal` is not a quote from `illegal`. Numbers and booleans are
//! quoted whole, as written in JSON.

use serde::Serialize;
use serde_json::Value;

use crate::json::escape_pointer_token;

/// Minimum characters of a quote; a shorter one occurs everywhere and proves nothing.
pub(super) const MIN_QUOTE: usize = 3;
/// Maximum characters of a quote.
pub(super) const MAX_QUOTE: usize = 2_000;

/// The location of a quote in an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvidenceLocation {
    /// JSON pointer to the text or scalar.
    pub pointer: String,
    /// Byte span within the text, or within the JSON text of a scalar.
    pub start: usize,
    pub end: usize,
}

/// The reason why a quote is not valid evidence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroundingError {
    #[error(
        "the evidence has fewer than {MIN_QUOTE} characters and is not a whole value of the output"
    )]
    TooShort,
    #[error("the evidence is longer than {MAX_QUOTE} characters")]
    TooLong,
    #[error("the evidence begins or ends inside a word of the output")]
    InsideWord,
    #[error("the evidence does not occur in the output")]
    NotFound,
}

/// Returns the first location of the evidence in the output.
pub(super) fn locate_evidence(
    evidence: &str,
    output: &Value,
) -> Result<EvidenceLocation, GroundingError> {
    if evidence.chars().count() > MAX_QUOTE {
        return Err(GroundingError::TooLong);
    }
    if evidence.trim().is_empty() {
        return Err(GroundingError::TooShort);
    }
    let is_short = evidence.chars().filter(|c| !c.is_whitespace()).count() < MIN_QUOTE;
    let mut search = EvidenceSearch { evidence, whole_only: is_short, cut: false };
    if let Some(place) = search.search_value(output, &mut String::new()) {
        return Ok(place);
    }
    Err(match (is_short, search.cut) {
        (true, _) => GroundingError::TooShort,
        (false, true) => GroundingError::InsideWord,
        (false, false) => GroundingError::NotFound,
    })
}

/// A search for evidence.
struct EvidenceSearch<'a> {
    evidence: &'a str,
    whole_only: bool,
    /// The evidence was found, but it begins or ends inside a word.
    cut: bool,
}

impl EvidenceSearch<'_> {
    fn search_value(&mut self, value: &Value, path: &mut String) -> Option<EvidenceLocation> {
        let length = path.len();
        match value {
            Value::Object(map) => map.iter().find_map(|(name, value)| {
                path.push('/');
                path.push_str(&escape_pointer_token(name));
                let found = self.search_value(value, path);
                path.truncate(length);
                found
            }),
            Value::Array(items) => items.iter().enumerate().find_map(|(index, value)| {
                path.push('/');
                path.push_str(&index.to_string());
                let found = self.search_value(value, path);
                path.truncate(length);
                found
            }),
            Value::String(text) => {
                let start = self.search_text(text)?;
                let end = start + self.evidence.len();
                Some(EvidenceLocation { pointer: path.clone(), start, end })
            }
            Value::Bool(_) | Value::Number(_) => {
                let text = value.to_string();
                let end = text.len();
                (text == self.evidence).then(|| EvidenceLocation {
                    pointer: path.clone(),
                    start: 0,
                    end,
                })
            }
            Value::Null => None,
        }
    }

    fn search_text(&mut self, text: &str) -> Option<usize> {
        if self.whole_only {
            return (text == self.evidence).then_some(0);
        }
        for (start, quote) in text.match_indices(self.evidence) {
            if !splits_word(text, start) && !splits_word(text, start + quote.len()) {
                return Some(start);
            }
            self.cut = true;
        }
        None
    }
}

/// Returns true if the offset is inside a word. Scripts without spaces between words have no such offsets.
fn splits_word(text: &str, at: usize) -> bool {
    let is_letter = |c: char| c.is_lowercase() || c.is_uppercase() || c.is_numeric();
    let (before, after) = text.split_at(at);
    before.chars().next_back().is_some_and(is_letter) && after.chars().next().is_some_and(is_letter)
}

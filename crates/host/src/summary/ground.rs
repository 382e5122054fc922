//! Where a quote stands in an output.
//!
//! A quote is a piece of one text, letter for letter: no other case, no other white space, nothing left out in the
//! middle, nothing put together from two places. It begins and ends where a word does, because `legal` is no quote from
//! `illegal`. Numbers and truth values are quoted whole, as JSON writes them.

use serde::Serialize;
use serde_json::Value;

use crate::json::token;

/// A shorter piece stands everywhere and shows nothing.
pub(super) const MIN_QUOTE: usize = 3;
pub(super) const MAX_QUOTE: usize = 2_000;

/// A place in an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// JSON pointer to the text or scalar.
    pub pointer: String,
    /// Byte span within the text, or within the JSON text of a scalar.
    pub start: usize,
    pub end: usize,
}

/// Why a quote is no evidence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ungrounded {
    #[error(
        "the evidence has fewer than {MIN_QUOTE} characters and is no whole value of the output"
    )]
    TooShort,
    #[error("the evidence is longer than {MAX_QUOTE} characters")]
    TooLong,
    #[error("the evidence cuts a word of the output")]
    CutsAWord,
    #[error("the evidence does not stand in the output")]
    NotThere,
}

/// The first place where the evidence stands.
pub(super) fn locate(evidence: &str, output: &Value) -> Result<Place, Ungrounded> {
    if evidence.chars().count() > MAX_QUOTE {
        return Err(Ungrounded::TooLong);
    }
    if evidence.trim().is_empty() {
        return Err(Ungrounded::TooShort);
    }
    let is_short = evidence.chars().filter(|c| !c.is_whitespace()).count() < MIN_QUOTE;
    let mut search = Search { evidence, whole_only: is_short, cut: false };
    if let Some(place) = search.within(output, &mut String::new()) {
        return Ok(place);
    }
    Err(match (is_short, search.cut) {
        (true, _) => Ungrounded::TooShort,
        (false, true) => Ungrounded::CutsAWord,
        (false, false) => Ungrounded::NotThere,
    })
}

struct Search<'a> {
    evidence: &'a str,
    whole_only: bool,
    /// It was found, but inside a word.
    cut: bool,
}

impl Search<'_> {
    fn within(&mut self, value: &Value, path: &mut String) -> Option<Place> {
        let length = path.len();
        match value {
            Value::Object(map) => map.iter().find_map(|(name, value)| {
                path.push('/');
                path.push_str(&token(name));
                let found = self.within(value, path);
                path.truncate(length);
                found
            }),
            Value::Array(items) => items.iter().enumerate().find_map(|(index, value)| {
                path.push('/');
                path.push_str(&index.to_string());
                let found = self.within(value, path);
                path.truncate(length);
                found
            }),
            Value::String(text) => {
                let start = self.in_text(text)?;
                let end = start + self.evidence.len();
                Some(Place { pointer: path.clone(), start, end })
            }
            Value::Bool(_) | Value::Number(_) => {
                let text = value.to_string();
                let end = text.len();
                (text == self.evidence).then(|| Place { pointer: path.clone(), start: 0, end })
            }
            Value::Null => None,
        }
    }

    fn in_text(&mut self, text: &str) -> Option<usize> {
        if self.whole_only {
            return (text == self.evidence).then_some(0);
        }
        for (start, piece) in text.match_indices(self.evidence) {
            if !cuts(text, start) && !cuts(text, start + piece.len()) {
                return Some(start);
            }
            self.cut = true;
        }
        None
    }
}

/// Whether a word goes on across this place. Scripts that put no space between words have no such place.
fn cuts(text: &str, at: usize) -> bool {
    let is_letter = |c: char| c.is_lowercase() || c.is_uppercase() || c.is_numeric();
    let (before, after) = text.split_at(at);
    before.chars().next_back().is_some_and(is_letter) && after.chars().next().is_some_and(is_letter)
}

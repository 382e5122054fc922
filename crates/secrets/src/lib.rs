//! Recognizes secrets in text, so that none is written to a file that is shared and kept, and none leaves a tool.
//!
//! `rules.rs` has the table of secret rules, `heuristics.rs` separates secrets from placeholders, `scan.rs` searches,
//! `candidates.rs` finds the few places where a rule can match, `preceding.rs` judges what precedes them, `escapes.rs` decodes escapes, because a token inside a JSON string may be spelled `\u0067hp_…`, `key_block.rs` finds the
//! end of a private key, `redact.rs` replaces what was found, and `plain_source.rs` recognizes source code. Results name
//! the rule and never contain the secret. Only recognizable secrets are found.

mod candidates;
mod escapes;
mod heuristics;
mod key_block;
mod plain_source;
mod preceding;
mod redact;
mod rules;
mod scan;

use std::ops::Range;

pub use self::plain_source::is_plain_source;
pub use self::redact::SecretRedactor;
pub use self::rules::RULES;
use self::scan::SCANNER;

/// A secret rule: the pattern of one kind of secret.
pub struct SecretRule {
    /// Stable identifier for messages, metrics and tests.
    pub id: &'static str,
    /// Description with its article: "a GitHub token".
    pub description: &'static str,
    /// Texts at which a match can begin, in any case. The pattern is tried only there.
    pub starts: &'static [&'static str],
    /// The surroundings that every match has, by which its start is found.
    pub place: StartPlace,
    /// The condition on the characters before a match.
    pub condition: StartCondition,
    /// Regular expression, matched from its start. If it has a group `v`, the group is the candidate; otherwise the whole
    /// match is.
    pub pattern: &'static str,
    /// Returns true if a candidate in a text that is to be kept is a secret and not a placeholder.
    pub accept: fn(&str) -> bool,
    /// Like `accept`, for text that leaves a tool. It is mostly code, where a wrong hit destroys an answer.
    pub accept_in_output: fn(&str) -> bool,
    /// Returns the end of the secret in a text that begins with a match, if it is longer than the match.
    pub extend: Option<fn(&str) -> usize>,
    /// The rule is about a name and its value, which JSON keeps in different strings.
    pub is_assignment: bool,
}

impl std::fmt::Debug for SecretRule {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.id)
    }
}

/// The surroundings of a start that has a match. They are found by reading a fraction of the text, so a rule must not
/// match anywhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPlace {
    /// At the beginning of a word, in the spelling of the table, and within at least 15 characters of tokens.
    Token,
    /// Anywhere, in the spelling of the table.
    Marker,
    /// In a name that is followed by `:` or `=`.
    BeforeAssignment,
    /// A name before a value of at least 16 characters of tokens, with white space between them.
    HeaderName,
    /// The end of a URL scheme, before a colon in the host part.
    UrlScheme,
}

/// The condition on the character before a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartCondition {
    Anywhere,
    /// No letter, digit or underscore, or one that ends a colour code or a percent code.
    WordStart,
    /// The end of a URL scheme.
    AfterScheme,
}

/// What a text is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanPurpose {
    /// The text is to be kept: in doubt it has a secret.
    Keep,
    /// The text leaves a tool: in doubt it is code.
    Output,
}

/// A secret in a text.
#[derive(Clone, Debug)]
pub struct SecretSpan {
    pub rule: &'static SecretRule,
    pub range: Range<usize>,
    /// The range of everything by which the secret is recognized, such as its name and quotes.
    context: Range<usize>,
    /// The secret, with escapes decoded.
    value: String,
}

impl SecretSpan {
    /// Returns true if the secret is a private key, which has several lines.
    pub fn is_key_block(&self) -> bool {
        self.rule.extend.is_some()
    }
}

/// Returns the first rule of the table that matches a secret in a text that is to be kept.
pub fn find_secret(text: &str) -> Option<&'static SecretRule> {
    let spans = SCANNER.find_spans(text, ScanPurpose::Keep);
    spans.into_iter().map(|(index, _)| index).min().map(|index| &RULES[index])
}

/// Returns the secrets in a text, in order and without overlaps.
pub fn find_spans(text: &str, purpose: ScanPurpose) -> Vec<SecretSpan> {
    let mut spans = SCANNER.find_spans(text, purpose);
    if spans.is_empty() {
        return Vec::new();
    }
    spans.sort_by_key(|(index, span)| (span.range.start, *index));
    let mut merged: Vec<(usize, SecretSpan)> = Vec::new();
    for (index, span) in spans {
        match merged.last_mut() {
            Some((last_index, last)) if span.range.start < last.range.end => {
                last.range.end = last.range.end.max(span.range.end);
                last.context.start = last.context.start.min(span.context.start);
                last.context.end = last.context.end.max(span.context.end);
                if index < *last_index {
                    (*last_index, last.rule) = (index, span.rule);
                }
            }
            _ => merged.push((index, span)),
        }
    }
    merged.into_iter().map(|(_, span)| span).collect()
}

/// Number of bytes around a cut in which a secret is searched.
const CUT_WINDOW: usize = 4096;

/// Returns the range of the secret that a cut at byte `at` would split, with everything by which it is recognized: its name,
/// its quotes. Its parts would not be recognized, so a text must be cut before or after this range.
pub fn find_split_secret(text: &str, at: usize) -> Option<Range<usize>> {
    let start = text.floor_char_boundary(at.saturating_sub(CUT_WINDOW));
    let end = text.ceil_char_boundary(text.len().min(at + CUT_WINDOW));
    find_spans(&text[start..end], ScanPurpose::Output)
        .into_iter()
        .map(|span| span.context.start + start..span.context.end + start)
        .find(|range| range.start < at && at < range.end)
}

/// Returns the position at or before byte `at` where a text can be cut without leaving a part of a secret.
pub fn cut_before_secret(text: &str, at: usize) -> usize {
    find_split_secret(text, at).map_or(at, |secret| secret.start)
}

#[cfg(test)]
mod tests;

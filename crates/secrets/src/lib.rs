//! Recognizes secrets in text, so that none is written to a file that is shared and kept.
//!
//! This module searches; the table of secret rules is in `rules.rs`, the heuristics are in `heuristics.rs`. A text is
//! searched as it is and with its backslash escapes decoded, because a token inside a JSON string may be spelled
//! `\u0067hp_…`. The result names the rule and never contains the secret. Only recognizable secrets are found.

mod heuristics;
mod rules;

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

pub use self::rules::RULES;

/// Maximum rounds of unescaping: JSON in a JSON string in a JSON string. Deeper nesting does not occur in practice.
const MAX_UNESCAPES: usize = 3;

/// A secret rule: the pattern of one kind of secret.
pub struct SecretRule {
    /// Stable identifier for messages and tests.
    pub id: &'static str,
    /// Description with its article: "a GitHub token".
    pub description: &'static str,
    /// Regular expression. If it has a group `v`, the group is the candidate; otherwise the whole match is.
    pub pattern: &'static str,
    /// Returns true if a candidate is a secret and not a placeholder.
    pub accept: fn(&str) -> bool,
}

static COMPILED_RULES: LazyLock<Vec<(Regex, &'static SecretRule)>> = LazyLock::new(|| {
    RULES
        .iter()
        .map(|rule| (Regex::new(rule.pattern).expect("a test compiles every pattern"), rule))
        .collect()
});

/// Returns the first rule of the table that matches a secret in the text.
pub fn find_secret(text: &str) -> Option<&'static SecretRule> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..=MAX_UNESCAPES {
        if let Some(rule) = find_literally(&text) {
            return Some(rule);
        }
        match unescape_backslashes(&text) {
            Some(next) => text = Cow::Owned(next),
            None => break,
        }
    }
    None
}

fn find_literally(text: &str) -> Option<&'static SecretRule> {
    COMPILED_RULES.iter().find_map(|(regex, rule)| {
        regex
            .captures_iter(text)
            .filter_map(|found| found.name("v").or_else(|| found.get(0)))
            .any(|candidate| (rule.accept)(candidate.as_str()))
            .then_some(*rule)
    })
}

/// Returns the text with its backslash escapes decoded, or `None` if it contains no backslash.
fn unescape_backslashes(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let mut characters = after.chars();
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => match parse_hex_escape(characters.as_str()) {
                // Half of a surrogate pair encodes a character that no token contains.
                Some((code, after)) => {
                    out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    characters = after.chars();
                }
                None => out.push('u'),
            },
            Some(other) => out.push(other),
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    Some(out)
}

/// Parses four hex digits. Returns the code point and the rest of the text.
fn parse_hex_escape(text: &str) -> Option<(u32, &str)> {
    let (digits, after) = text.split_at_checked(4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, after))
}

#[cfg(test)]
mod tests;

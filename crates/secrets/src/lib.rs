//! Recognises secrets in text, so that none ends up in a file that is shared and kept.
//!
//! Owns the search; the table of what counts is in `rules.rs`, what looks random in `guess.rs`. A text is searched as
//! it is and with its backslash escapes undone, because a token inside a JSON string may be spelt `\u0067hp_…`. The
//! answer names the rule and never the secret. It finds what is recognisable, not everything that is secret.

mod guess;
mod rules;

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

pub use self::rules::RULES;

/// JSON in a JSON string in a JSON string: deeper has not been seen in earnest.
const MAX_UNESCAPES: usize = 3;

/// One kind of secret.
pub struct Rule {
    /// Stable, for messages and tests.
    pub id: &'static str,
    /// What was found, with its article: "a GitHub token".
    pub what: &'static str,
    /// Where the pattern has a group `v`, that part is the candidate; otherwise the whole match is.
    pub pattern: &'static str,
    /// Tells a secret from a placeholder, where the pattern alone cannot.
    pub accept: fn(&str) -> bool,
}

static COMPILED: LazyLock<Vec<(Regex, &'static Rule)>> = LazyLock::new(|| {
    RULES
        .iter()
        .map(|rule| (Regex::new(rule.pattern).expect("a test compiles every pattern"), rule))
        .collect()
});

/// The first rule of the table that the text breaks.
pub fn find(text: &str) -> Option<&'static Rule> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..=MAX_UNESCAPES {
        if let Some(rule) = find_literally(&text) {
            return Some(rule);
        }
        match unescape(&text) {
            Some(next) => text = Cow::Owned(next),
            None => break,
        }
    }
    None
}

fn find_literally(text: &str) -> Option<&'static Rule> {
    COMPILED.iter().find_map(|(regex, rule)| {
        regex
            .captures_iter(text)
            .filter_map(|found| found.name("v").or_else(|| found.get(0)))
            .any(|candidate| (rule.accept)(candidate.as_str()))
            .then_some(*rule)
    })
}

/// The text with its backslash escapes undone, wherever they stand; None where there are none.
fn unescape(text: &str) -> Option<String> {
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
            Some('u') => match hexadecimal(characters.as_str()) {
                // Half of a surrogate pair stands for a character that no token holds.
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

fn hexadecimal(text: &str) -> Option<(u32, &str)> {
    let (digits, after) = text.split_at_checked(4)?;
    Some((u32::from_str_radix(digits, 16).ok()?, after))
}

#[cfg(test)]
mod tests;

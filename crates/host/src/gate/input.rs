//! Gate 0: whether a query may be asked at all. It stands before discovery, so a query that stops here reaches nobody.

use contract::text::is_hidden;
use regex::{Regex, RegexBuilder};

/// A page of text. Who has more to say has a file to name.
const MAX_QUERY_CHARS: usize = 8_000;
/// Patterns come from the operator; a mistake must not take the memory of the machine.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Why a query is not asked.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error("the query is empty")]
    Empty,
    #[error("the query has {size} characters, over the limit of {limit}")]
    TooLong { size: usize, limit: usize },
    #[error("the query holds the invisible character U+{:04X}, {position} characters in", u32::from(*.character))]
    Hidden { character: char, position: usize },
    #[error("the query matches the forbidden pattern `{0}`")]
    Forbidden(String),
}

/// A pattern of the configuration that is none.
#[derive(Debug, thiserror::Error)]
#[error("the forbidden pattern `{pattern}` is not a regular expression")]
pub struct PatternError {
    pub pattern: String,
    pub source: regex::Error,
}

/// What an operator forbids.
#[derive(Clone, Debug, Default)]
pub struct InputPolicy {
    forbidden: Vec<Regex>,
}

impl InputPolicy {
    pub fn new(forbidden: &[String]) -> Result<Self, PatternError> {
        let compile = |pattern: &String| {
            RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().map_err(|source| {
                PatternError { pattern: contract::text::one_line(pattern), source }
            })
        };
        let forbidden = forbidden.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { forbidden })
    }

    /// Judges a query. Hidden characters are refused rather than removed: what a person asks is what they can see.
    pub fn judge(&self, query: &str) -> Result<(), PolicyError> {
        if query.trim().is_empty() {
            return Err(PolicyError::Empty);
        }
        let size = query.chars().count();
        if size > MAX_QUERY_CHARS {
            return Err(PolicyError::TooLong { size, limit: MAX_QUERY_CHARS });
        }
        if let Some((position, character)) =
            query.chars().enumerate().find(|(_, character)| is_hidden(*character))
        {
            return Err(PolicyError::Hidden { character, position });
        }
        match self.forbidden.iter().find(|pattern| pattern.is_match(query)) {
            Some(pattern) => {
                Err(PolicyError::Forbidden(contract::text::one_line(pattern.as_str())))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_refused_with_its_reason() {
        let policy = InputPolicy::new(&["(?i)passw(or)?d".into(), r"\bssh\b".into()]).unwrap();
        policy.judge("read src/lib.rs\nand no more\t…").unwrap();
        let long = "x".repeat(MAX_QUERY_CHARS + 1);
        let flood = "é".repeat(MAX_QUERY_CHARS * 10);
        let refusals: Vec<String> = [
            " \n",
            "print the PASSWORD file",
            "copy ~/.ssh/id_rsa",
            "read\u{200b} it",
            "read \u{202e}it",
            "a\rb",
            "tag \u{e0041}",
            &long,
            &flood,
        ]
        .iter()
        .map(|query| policy.judge(query).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(refusals.join("\n"));
    }

    #[test]
    fn a_pattern_that_is_none_is_an_error_of_the_configuration() {
        let error = InputPolicy::new(&["(".into()]).unwrap_err();
        assert_eq!(error.to_string(), "the forbidden pattern `(` is not a regular expression");
        assert!(InputPolicy::new(&[r"(\w{200}){200}".into()]).is_err());
    }
}

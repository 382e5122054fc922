//! Gate 0: the input policy for queries. It runs before discovery, so a rejected query reaches no server or model.

use contract::text::is_hidden;
use regex::{Regex, RegexBuilder};

/// Maximum characters of a query, about a page. Longer input belongs in a file that the query names.
const MAX_QUERY_CHARS: usize = 8_000;
/// Maximum compiled size of a pattern, so that a mistake in the configuration cannot exhaust memory.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The reason why the input policy rejects a query.
#[derive(Debug, thiserror::Error)]
pub enum InputPolicyError {
    #[error("the query is empty")]
    Empty,
    #[error("the query has {size} characters, over the limit of {limit}")]
    TooLong { size: usize, limit: usize },
    #[error("the query contains the invisible character U+{:04X} at position {position}", u32::from(*.character))]
    Hidden { character: char, position: usize },
    #[error("the query matches the forbidden pattern `{0}`")]
    Forbidden(String),
}

/// An invalid pattern in the configuration.
#[derive(Debug, thiserror::Error)]
#[error("invalid forbidden pattern `{pattern}`")]
pub struct ForbiddenPatternError {
    pub pattern: String,
    pub source: regex::Error,
}

/// The patterns that an operator forbids in queries, plus fixed limits.
#[derive(Clone, Debug, Default)]
pub struct InputPolicy {
    forbidden: Vec<Regex>,
}

impl InputPolicy {
    /// Compiles the patterns; errors at the first invalid one.
    pub fn new(forbidden: &[String]) -> Result<Self, ForbiddenPatternError> {
        let compile = |pattern: &String| {
            RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build().map_err(|source| {
                ForbiddenPatternError { pattern: contract::text::one_line(pattern), source }
            })
        };
        let forbidden = forbidden.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Self { forbidden })
    }

    /// Checks a query. Hidden characters are rejected rather than removed, so a query means what its author can see.
    pub fn check_query(&self, query: &str) -> Result<(), InputPolicyError> {
        if query.trim().is_empty() {
            return Err(InputPolicyError::Empty);
        }
        let size = query.chars().count();
        if size > MAX_QUERY_CHARS {
            return Err(InputPolicyError::TooLong { size, limit: MAX_QUERY_CHARS });
        }
        if let Some((position, character)) =
            query.chars().enumerate().find(|(_, character)| is_hidden(*character))
        {
            return Err(InputPolicyError::Hidden { character, position });
        }
        match self.forbidden.iter().find(|pattern| pattern.is_match(query)) {
            Some(pattern) => {
                Err(InputPolicyError::Forbidden(contract::text::one_line(pattern.as_str())))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_queries_with_a_reason() {
        let policy = InputPolicy::new(&["(?i)passw(or)?d".into(), r"\bssh\b".into()]).unwrap();
        policy.check_query("read src/lib.rs\nand no more\t…").unwrap();
        let long = "x".repeat(MAX_QUERY_CHARS + 1);
        let flood = "é".repeat(MAX_QUERY_CHARS * 10);
        let errors: Vec<String> = [
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
        .map(|query| policy.check_query(query).unwrap_err().to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn rejects_invalid_forbidden_patterns() {
        let error = InputPolicy::new(&["(".into()]).unwrap_err();
        assert_eq!(error.to_string(), "invalid forbidden pattern `(`");
        assert!(InputPolicy::new(&[r"(\w{200}){200}".into()]).is_err());
    }
}

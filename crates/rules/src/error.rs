//! Errors in rule definitions.

use cel::ParseErrors;
use contract::text::one_line;

/// An error in a rule definition. Every variant names the rule, so that it can be found in its file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    #[error("duplicate rule name `{rule}`")]
    Duplicate { rule: String },
    #[error("rule `{rule}`: invalid glob `{glob}`")]
    Glob { rule: String, glob: String, source: globset::Error },
    #[error("rule `{rule}`: the expression has {bytes} bytes, over the limit of {max}", max = crate::MAX_EXPRESSION_BYTES)]
    TooLong { rule: String, bytes: usize },
    #[error("rule `{rule}`: the expression nests {depth} brackets, over the limit of {max}", max = crate::MAX_EXPRESSION_DEPTH)]
    TooDeep { rule: String, depth: usize },
    #[error("rule `{rule}`: failed to start a thread to parse the expression")]
    NoThread { rule: String },
    #[error("rule `{rule}`: invalid expression at {line}:{column}: {message}")]
    Syntax { rule: String, line: isize, column: isize, message: String },
    #[error("rule `{rule}`: unknown name `{name}`; rules on {on} can use {known}")]
    UnknownName { rule: String, name: String, on: &'static str, known: String },
    #[error("rule `{rule}`: unknown function `{function}`, or called with the wrong arguments")]
    UnknownFunction { rule: String, function: String },
    #[error("rule `{rule}`: unknown field `{field}` of `{of}`; known fields are {known}")]
    UnknownField { rule: String, of: &'static str, field: String, known: String },
    #[error("rule `{rule}`: `{path}` does not exist, because `{of}` has no fields")]
    NoFields { rule: String, path: String, of: String },
    #[error("rule `{rule}`: expected a boolean condition, found {what}")]
    NotACondition { rule: String, what: String },
    #[error("rule `{rule}`: invalid pattern in `matches`")]
    Pattern { rule: String, source: Box<regex::Error> },
    #[error("rule `{rule}` reads `{path}`, which none of its tools declares ({tools})")]
    NoSuchField { rule: String, path: String, tools: String },
    #[error("rule `{rule}`: no tool matches {globs}")]
    NoTool { rule: String, globs: String },
}

impl RuleError {
    /// Returns the name of the rule.
    pub fn rule(&self) -> &str {
        match self {
            Self::Duplicate { rule }
            | Self::Glob { rule, .. }
            | Self::TooLong { rule, .. }
            | Self::TooDeep { rule, .. }
            | Self::NoThread { rule }
            | Self::Syntax { rule, .. }
            | Self::UnknownName { rule, .. }
            | Self::UnknownFunction { rule, .. }
            | Self::UnknownField { rule, .. }
            | Self::NoFields { rule, .. }
            | Self::NotACondition { rule, .. }
            | Self::Pattern { rule, .. }
            | Self::NoSuchField { rule, .. }
            | Self::NoTool { rule, .. } => rule,
        }
    }

    /// Returns true if the rule may still be correct: a tool that matches its globs may be added later.
    pub fn is_warning(&self) -> bool {
        matches!(self, Self::NoTool { .. })
    }

    /// Creates a syntax error from the first error of the CEL parser.
    pub(crate) fn from_parse_errors(rule: &str, errors: &ParseErrors) -> Self {
        let first = errors.errors.first();
        let (line, column) = first.map_or((1, 1), |error| error.pos);
        let message = first.map(|error| error.msg.as_str()).unwrap_or("cannot be parsed");
        // The list of expected tokens is dropped; for most errors it fills a page.
        let message = message.split(" expecting ").next().unwrap_or(message);
        let message = one_line(message.trim_start_matches("Syntax error: "));
        Self::Syntax { rule: rule.into(), line, column, message }
    }
}

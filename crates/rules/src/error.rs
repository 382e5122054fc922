//! Why a rule is no rule.

use cel::ParseErrors;
use contract::text::one_line;

/// What is wrong with a rule. Each names the rule, so that its place in a file can be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    #[error("there are two rules with the name `{rule}`")]
    Duplicate { rule: String },
    #[error("rule `{rule}`: `{glob}` is not a glob")]
    Glob { rule: String, glob: String, source: globset::Error },
    #[error("rule `{rule}`: the expression has {bytes} bytes, over the limit of {max}", max = crate::MAX_EXPRESSION)]
    TooLong { rule: String, bytes: usize },
    #[error("rule `{rule}`: no expression, at {line}:{column}: {message}")]
    Syntax { rule: String, line: isize, column: isize, message: String },
    #[error("rule `{rule}`: there is no `{name}`; a rule on {on} sees {known}")]
    UnknownName { rule: String, name: String, on: &'static str, known: String },
    #[error("rule `{rule}`: there is no function `{function}` that is called like this")]
    UnknownFunction { rule: String, function: String },
    #[error("rule `{rule}`: `{of}` has no `{field}`; it has {known}")]
    UnknownField { rule: String, of: &'static str, field: String, known: String },
    #[error("rule `{rule}`: there is no `{path}`, because `{of}` has no fields")]
    NoFields { rule: String, path: String, of: String },
    #[error("rule `{rule}`: {what} is not a condition, which is true or false")]
    NotACondition { rule: String, what: String },
    #[error("rule `{rule}`: `matches` is given a pattern that is none")]
    Pattern { rule: String, source: Box<regex::Error> },
    #[error("rule `{rule}` reads `{path}`, which none of its tools has ({tools})")]
    NoSuchField { rule: String, path: String, tools: String },
    #[error("rule `{rule}` is for {globs}, and there is no such tool")]
    NoTool { rule: String, globs: String },
}

impl RuleError {
    /// The name of the rule.
    pub fn rule(&self) -> &str {
        match self {
            Self::Duplicate { rule }
            | Self::Glob { rule, .. }
            | Self::TooLong { rule, .. }
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

    /// True where nothing is known to be wrong: the tools that the rule is for may come later.
    pub fn is_warning(&self) -> bool {
        matches!(self, Self::NoTool { .. })
    }

    pub(crate) fn syntax(rule: &str, errors: &ParseErrors) -> Self {
        let first = errors.errors.first();
        let (line, column) = first.map_or((1, 1), |error| error.pos);
        let message = first.map(|error| error.msg.as_str()).unwrap_or("it cannot be read");
        // The parser lists what it would have liked, which is a page for most mistakes.
        let message = message.split(" expecting ").next().unwrap_or(message);
        let message = one_line(message.trim_start_matches("Syntax error: "));
        Self::Syntax { rule: rule.into(), line, column, message }
    }
}

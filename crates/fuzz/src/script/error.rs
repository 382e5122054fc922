//! Errors of parsing a call. Each message is one line that names the call.

use std::fmt;

use super::fit::{TypeMismatch, quote_text};
use super::term::ScriptSyntaxError;

/// Error of parsing a call or resolving its function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("call has {length} bytes; the limit is {limit}")]
    TooLong { length: usize, limit: usize },
    #[error("{call}: expected {expected} at character {at}")]
    Syntax { call: String, at: usize, expected: String },
    #[error("{call}: unknown contract {contract}; known contracts: {}", format_names(.known))]
    UnknownContract { call: String, contract: String, known: Vec<String> },
    #[error("{call}: unknown function {name}{}", format_nearest(.nearest))]
    UnknownFunction { call: String, name: String, nearest: Vec<String> },
    #[error("{call}: got {}; expected {}", format_argument_count(*.given), format_signatures(.signatures))]
    Arity { call: String, given: usize, signatures: Vec<String> },
    #[error("{call}: {wrong}")]
    Argument { call: String, wrong: ArgumentMismatch },
    #[error("{call}: no matching overload: {}", format_mismatches(.wrong))]
    NoOverload { call: String, wrong: Vec<(String, ArgumentMismatch)> },
    #[error("{call}: ambiguous, could be {}; prefix values with their types, such as `uint8 1`", format_names(.signatures))]
    Ambiguous { call: String, signatures: Vec<String> },
}

/// An argument that does not match its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentMismatch {
    /// Counted from 1.
    pub argument: usize,
    /// Path inside the argument: elements and fields, counted from 1.
    pub path: Vec<usize>,
    /// The type, and the syntax of its values.
    pub expected: String,
    pub found: String,
}

impl ArgumentMismatch {
    pub(super) fn from_type_mismatch(misfit: TypeMismatch) -> Self {
        let TypeMismatch { path, expected, found } = misfit;
        let (argument, path) =
            path.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        Self { argument, path: path.to_vec(), expected, found }
    }
}

impl fmt::Display for ArgumentMismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for inner in self.path.iter().rev() {
            write!(out, "value {inner} of ")?;
        }
        write!(out, "argument {}", self.argument)?;
        write!(out, " must be {}; found {}", self.expected, self.found)
    }
}

impl ScriptError {
    pub(super) fn syntax(text: &str, misread: &ScriptSyntaxError) -> Self {
        let before = text.char_indices().filter(|(at, _)| *at < misread.at).count();
        Self::Syntax {
            call: quote_text(text),
            at: before + 1,
            expected: misread.expected.to_owned(),
        }
    }
}

fn format_names(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn format_signatures(signatures: &[String]) -> String {
    let any = if signatures.len() > 1 { "one of " } else { "" };
    format!("{any}{}", format_names(signatures))
}

fn format_nearest(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        several => format!("; did you mean {}?", format_signatures(several)),
    }
}

fn format_argument_count(count: usize) -> String {
    if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") }
}

fn format_mismatches(wrong: &[(String, ArgumentMismatch)]) -> String {
    let all = wrong.iter().map(|(signature, wrong)| format!("`{signature}`: {wrong}"));
    all.collect::<Vec<_>>().join("; ")
}

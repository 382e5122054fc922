//! Why a text is no call. Each message is one line that names the call.

use std::fmt;

use super::fit::{Misfit, quoted};
use super::term::Misread;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("a call of {length} bytes is too long; at most {limit} are read")]
    TooLong { length: usize, limit: usize },
    #[error("{call}: expected {expected} at character {at}")]
    Syntax { call: String, at: usize, expected: String },
    #[error("{call}: there is no contract {contract}; there are {}", listed(.known))]
    UnknownContract { call: String, contract: String, known: Vec<String> },
    #[error("{call}: there is no function {name}{}", nearest_in_words(.nearest))]
    UnknownFunction { call: String, name: String, nearest: Vec<String> },
    #[error("{call}: {} given, but there is only {}", arguments_in_words(*.given), listed(.signatures))]
    Arity { call: String, given: usize, signatures: Vec<String> },
    #[error("{call}: {wrong}")]
    Argument { call: String, wrong: Wrong },
    #[error("{call}: no overload fits: {}", all_wrong(.wrong))]
    NoOverload { call: String, wrong: Vec<(String, Wrong)> },
    #[error("{call}: could be {}; put types in front of values, such as `uint8 1`", listed(.signatures))]
    Ambiguous { call: String, signatures: Vec<String> },
}

/// An argument that is no value of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Counted from 1.
    pub argument: usize,
    /// Where inside the argument: elements and fields, counted from 1.
    pub path: Vec<usize>,
    /// The type, and how its values are written.
    pub expected: String,
    pub found: String,
}

impl Wrong {
    pub(super) fn of(misfit: Misfit) -> Self {
        let Misfit { path, expected, found } = misfit;
        let (argument, path) =
            path.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        Self { argument, path: path.to_vec(), expected, found }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for inner in self.path.iter().rev() {
            write!(out, "value {inner} of ")?;
        }
        write!(out, "argument {}", self.argument)?;
        write!(out, " must be {}; found {}", self.expected, self.found)
    }
}

impl ScriptError {
    pub(super) fn syntax(text: &str, misread: &Misread) -> Self {
        let before = text.char_indices().filter(|(at, _)| *at < misread.at).count();
        Self::Syntax { call: quoted(text), at: before + 1, expected: misread.expected.to_owned() }
    }
}

fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn nearest_in_words(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [only] => format!("; the nearest is `{only}`"),
        several => format!("; the nearest are {}", listed(several)),
    }
}

fn arguments_in_words(count: usize) -> String {
    if count == 1 { "1 argument is".to_owned() } else { format!("{count} arguments are") }
}

fn all_wrong(wrong: &[(String, Wrong)]) -> String {
    let told = wrong.iter().map(|(signature, wrong)| format!("`{signature}`: {wrong}"));
    told.collect::<Vec<_>>().join("; ")
}

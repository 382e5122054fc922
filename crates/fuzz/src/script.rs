//! Parses calls written by hand: `transfer(0x…, 1.5 ether)`.
//!
//! [`parse_call`] finds the function among those of the deployed contracts and converts the arguments; `?` leaves a value
//! to the fuzzer. The output of [`crate::reproducer::solidity`] and of [`ScriptStep::to_text`] parses to the same call.
//! Constructor arguments are parsed here, too.
//!
//! `term` parses text to terms, `resolve` finds the function, and `fit` converts the terms to values of its types.

mod error;
mod fit;
mod integer;
mod resolve;
mod term;
mod write;

pub use error::{ArgumentMismatch, ScriptError};

use crate::abi::{AbiType, AbiValue};
use crate::call::{CallPayload, SequenceCall};
use crate::target::{FunctionId, FuzzTarget};
use fit::ArgumentSource;

/// Maximum length of a call in bytes, more than any hand-written call needs.
pub const MAX_TEXT: usize = 64 * 1024;

/// Minimum similarity of names to be suggested; 1 means equal.
const MIN_LIKENESS: f64 = 0.65;

/// Maximum suggested signatures for an unknown function.
const MAX_NEAREST: usize = 3;

/// Maximum characters of a name that are compared; the comparison takes quadratic time.
const MAX_COMPARED: usize = 200;

/// A parsed call, without sender, value and delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStep {
    pub function: FunctionId,
    pub args: Vec<ArgumentPattern>,
}

/// An argument: a value, or a pattern for the fuzzer to fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentPattern {
    /// A complete value.
    Value(AbiValue),
    /// Any value.
    Any,
    /// Elements of an array with at least one hole.
    Array(Vec<ArgumentPattern>),
    /// Fields of a tuple with at least one hole.
    Tuple(Vec<ArgumentPattern>),
}

/// Parses a call.
pub fn parse_call(text: &str, target: &FuzzTarget) -> Result<ScriptStep, ScriptError> {
    if text.len() > MAX_TEXT {
        return Err(ScriptError::TooLong { length: text.len(), limit: MAX_TEXT });
    }
    let written =
        term::parse_call_syntax(text).map_err(|misread| ScriptError::syntax(text, &misread))?;
    resolve::resolve_call(text, &written, target)
}

/// Returns the known signatures with the most similar names, best first.
pub fn find_nearest_signatures(signature: &str, target: &FuzzTarget) -> Vec<String> {
    let wanted: String = signature.chars().take(MAX_COMPARED).collect::<String>().to_lowercase();
    let wanted_name = signature_name(&wanted);
    let likeness = |known: &str| {
        let known = known.to_lowercase();
        let name = strsim::jaro_winkler(wanted_name, signature_name(&known));
        // The name has more weight, because types are similar everywhere.
        (name > MIN_LIKENESS).then(|| 2.0 * name + strsim::jaro_winkler(&wanted, &known))
    };
    let mut known: Vec<_> = target.functions.iter().map(|it| it.signature.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let mut alike: Vec<_> = known.into_iter().filter_map(|it| Some((likeness(it)?, it))).collect();
    alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    alike.into_iter().take(MAX_NEAREST).map(|(_, signature)| signature.to_owned()).collect()
}

fn signature_name(signature: &str) -> &str {
    signature.split('(').next().unwrap_or_default()
}

/// Parses a constructor argument from a configuration. Returns a message with the expected form on error.
pub(crate) fn parse_argument(text: &str, ty: &AbiType) -> Result<AbiValue, String> {
    let text = text.trim();
    // A string needs no quotes in a configuration, and may contain any characters.
    if *ty == AbiType::String && !text.starts_with(['"', '\'']) {
        return Ok(AbiValue::Bytes(text.into()));
    }
    let term = term::parse_value(text).map_err(|misread| {
        let before = text.char_indices().filter(|(at, _)| *at < misread.at).count();
        format!("expected {} at character {}", misread.expected, before + 1)
    })?;
    match fit::fit_term(&term, ty, ArgumentSource::Configuration) {
        Ok(ArgumentPattern::Value(value)) => Ok(value),
        Ok(_) => Err("`?` is not allowed here".to_owned()),
        Err(misfit) => Err(format!("expected {}; found {}", misfit.expected, misfit.found)),
    }
}

impl ScriptStep {
    /// Returns the function and arguments of a call; None if it calls no function.
    pub fn from_call(call: &SequenceCall) -> Option<Self> {
        let CallPayload::Function { function, args } = &call.payload else { return None };
        let args = args.iter().cloned().map(ArgumentPattern::Value).collect();
        Some(Self { function: *function, args })
    }

    /// Formats the step so that it parses to an equal step, with `?` for holes.
    pub fn to_text(&self, target: &FuzzTarget) -> String {
        write::format_step(self, target)
    }
}

//! Calls that people write: `transfer(0x…, 1.5 ether)`.
//!
//! [`read`] finds the function among those of the deployed contracts and makes values of the arguments; `?` leaves a value
//! to the fuzzer. What [`crate::reproducer::solidity`] writes is read back as the same call, and so is [`Step::text`].
//! Arguments of constructors are read here, too: there is one reader of values.
//!
//! A text becomes terms (`term`), the function is found (`resolve`), and the terms become values of its types (`fit`).

mod error;
mod fit;
mod integer;
mod resolve;
mod term;
mod write;

pub use error::{ScriptError, Wrong};

use crate::abi::{Type, Value};
use crate::call::{Call, What};
use crate::target::{FunctionId, Target};
use fit::Manner;

/// The longest text that is read, in bytes: more than any call needs that a person or a program writes by hand.
pub const MAX_TEXT: usize = 64 * 1024;

/// Names that have less in common are not alike; 1 is the same name.
const MIN_LIKENESS: f64 = 0.65;

/// How many signatures are named instead of one that there is not.
const MAX_NEAREST: usize = 3;

/// Characters of a name that count when others are compared with it, which takes the square of that.
const MAX_COMPARED: usize = 200;

/// A call that somebody wrote. Who makes it, and what goes with it, is told apart from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub function: FunctionId,
    pub args: Vec<Pattern>,
}

/// A value, or what the fuzzer is to fill in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Whole, with everything that is inside.
    Value(Value),
    /// Any value.
    Any,
    /// The elements of an array, some of which are to be filled in.
    Array(Vec<Pattern>),
    /// The fields of a tuple, some of which are to be filled in.
    Tuple(Vec<Pattern>),
}

/// Reads a call.
pub fn read(text: &str, target: &Target) -> Result<Step, ScriptError> {
    if text.len() > MAX_TEXT {
        return Err(ScriptError::TooLong { length: text.len(), limit: MAX_TEXT });
    }
    let written = term::call(text).map_err(|misread| ScriptError::syntax(text, &misread))?;
    resolve::resolve(text, &written, target)
}

/// The known signatures whose names are like that of this one, the best first.
pub fn nearest(signature: &str, target: &Target) -> Vec<String> {
    let wanted: String = signature.chars().take(MAX_COMPARED).collect::<String>().to_lowercase();
    let wanted_name = name_of(&wanted);
    let likeness = |known: &str| {
        let known = known.to_lowercase();
        let name = strsim::jaro_winkler(wanted_name, name_of(&known));
        // The name counts more: types are alike everywhere.
        (name > MIN_LIKENESS).then(|| 2.0 * name + strsim::jaro_winkler(&wanted, &known))
    };
    let mut known: Vec<_> = target.functions.iter().map(|it| it.signature.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let mut alike: Vec<_> = known.into_iter().filter_map(|it| Some((likeness(it)?, it))).collect();
    alike.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    alike.into_iter().take(MAX_NEAREST).map(|(_, signature)| signature.to_owned()).collect()
}

fn name_of(signature: &str) -> &str {
    signature.split('(').next().unwrap_or_default()
}

/// Reads an argument of a constructor, as configurations have it; the error says what it must be.
pub(crate) fn argument(text: &str, ty: &Type) -> Result<Value, String> {
    let text = text.trim();
    // A string needs no quotes there, and may have any characters.
    if *ty == Type::String && !text.starts_with(['"', '\'']) {
        return Ok(Value::Bytes(text.into()));
    }
    let term = term::value(text).map_err(|misread| {
        let before = text.char_indices().filter(|(at, _)| *at < misread.at).count();
        format!("expected {} at character {}", misread.expected, before + 1)
    })?;
    match fit::fit(&term, ty, Manner::Configuration) {
        Ok(Pattern::Value(value)) => Ok(value),
        Ok(_) => Err("nothing is filled in here".to_owned()),
        Err(misfit) => Err(format!("it must be {}; found {}", misfit.expected, misfit.found)),
    }
}

impl Step {
    /// The function and the arguments of a call; None if it calls no function.
    pub fn of(call: &Call) -> Option<Self> {
        let What::Function { function, args } = &call.what else { return None };
        let args = args.iter().cloned().map(Pattern::Value).collect();
        Some(Self { function: *function, args })
    }

    /// A text that is read back as the same step, with `?` where something is to be filled in.
    pub fn text(&self, target: &Target) -> String {
        write::step(self, target)
    }
}

//! Values for types: what somebody wrote becomes a value of the type that stands in its place, or is refused.
//!
//! Booleans, bytes, functions and whole addresses are read by `DynSolType::coerce_str` of `alloy-dyn-abi`. The rest is
//! ours, because that grammar is another one. It has no units of time, underscores, `type(T).max`, casts, escapes in
//! strings, `{…}` for structs or `?` for values to fill in. It takes binary and octal numbers, `+1`, hex without `0x`
//! and strings without quotes, which are refused in a call, and it does not say which element of a list is wrong.

use alloy_dyn_abi::{DynSolType, DynSolValue};
use alloy_primitives::U256;

use super::Pattern;
use super::integer::{self, Integer};
use super::term::{Kind, Term};
use crate::abi::{Type, Value};
use crate::config::number;

/// Characters of a text, and of a type, that an error shows.
const MAX_FOUND: usize = 60;
const MAX_TYPE: usize = 120;

/// Who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Somebody who wants a call: exact, and with holes.
    Call,
    /// Somebody who configures: addresses may be short, `0x` and the quotes of a string may be missing.
    Configuration,
}

/// Why a value is none of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// Where inside the argument, counted from 1.
    pub(super) path: Vec<usize>,
    pub(super) expected: String,
    pub(super) found: String,
}

/// Makes a value of the type.
pub(super) fn fit(term: &Term<'_>, ty: &Type, manner: Manner) -> Result<Pattern, Misfit> {
    let none = || misfit(ty, quoted(term.text));
    match (&term.kind, ty) {
        (Kind::Hole, _) if manner == Manner::Call => Ok(Pattern::Any),
        (Kind::Plain | Kind::Typed(..) | Kind::Hole, Type::String)
            if manner == Manner::Configuration =>
        {
            Ok(Pattern::Value(Value::Bytes(term.text.trim_end().into())))
        }
        (Kind::Typed(name, value), _) if names(name, ty) => fit_typed(value, ty, manner),
        (Kind::Square(terms), Type::Array(element)) => {
            let types = std::iter::repeat_n(&**element, terms.len());
            Ok(list(fit_all(terms, types, manner)?, Pattern::Array))
        }
        (Kind::Square(terms), Type::FixedArray(element, length)) => {
            check_count(terms, *length, ty)?;
            let types = std::iter::repeat_n(&**element, *length);
            Ok(list(fit_all(terms, types, manner)?, Pattern::Array))
        }
        (Kind::Square(terms) | Kind::Round(terms), Type::Tuple(fields)) => {
            check_count(terms, fields.len(), ty)?;
            Ok(list(fit_all(terms, fields.iter(), manner)?, Pattern::Tuple))
        }
        (Kind::Text(bytes), Type::String) | (Kind::Hex(bytes), Type::Bytes) => {
            Ok(Pattern::Value(Value::Bytes(bytes.clone())))
        }
        (Kind::Hex(bytes), _) => upper(bytes, ty).map(word).ok_or_else(none),
        (Kind::Plain, _) => plain(term.text, ty, manner).map(Pattern::Value).ok_or_else(none),
        _ => Err(none()),
    }
}

/// Makes values of the types; the path of an error begins with the number of the value.
pub(super) fn fit_all<'a>(
    terms: &[Term<'_>],
    types: impl Iterator<Item = &'a Type>,
    manner: Manner,
) -> Result<Vec<Pattern>, Misfit> {
    let fit_one = |(index, (term, ty))| {
        fit(term, ty, manner).map_err(|mut misfit| {
            misfit.path.insert(0, index + 1);
            misfit
        })
    };
    terms.iter().zip(types).enumerate().map(fit_one).collect()
}

/// True for what Solidity takes for an address and nothing else: `0x` and 40 digits.
pub(super) fn is_address(term: &Term<'_>) -> bool {
    matches!(term.kind, Kind::Plain) && is_whole_address(term.text)
}

/// What is written with its type: `uint8 1`, or `uint8(1)` as in a cast.
fn fit_typed(term: &Term<'_>, ty: &Type, manner: Manner) -> Result<Pattern, Misfit> {
    match (&term.kind, ty) {
        (Kind::Round(terms), _) if terms.len() == 1 && !matches!(ty, Type::Tuple(_)) => {
            fit_typed(&terms[0], ty, manner)
        }
        (Kind::Plain, Type::Address) if term.text == "0" => Ok(word(U256::ZERO)),
        _ => fit(term, ty, manner),
    }
}

fn names(name: &str, ty: &Type) -> bool {
    match (name, ty) {
        ("uint", Type::Uint(256)) | ("int", Type::Int(256)) | ("payable", Type::Address) => true,
        _ => ty.to_string() == name,
    }
}

/// What has neither quotes nor brackets.
fn plain(text: &str, ty: &Type, manner: Manner) -> Option<Value> {
    let is_exact = manner == Manner::Call;
    let has_prefix = text.starts_with("0x");
    match ty {
        Type::Bool => coerce(text, &DynSolType::Bool),
        Type::Address if is_whole_address(text) || !is_exact && has_prefix => {
            number::parse_address(text).map(Value::address)
        }
        Type::Uint(_) | Type::Int(_) => Some(Value::Word(Integer::read(text).ok()?.word(ty)?)),
        // The library takes hex digits without `0x`, which may be a number in a call.
        _ if is_exact && !has_prefix => None,
        Type::Address => coerce(text, &DynSolType::Address),
        Type::FixedBytes(length) => coerce(text, &DynSolType::FixedBytes(usize::from(*length))),
        Type::Function => coerce(text, &DynSolType::Function),
        Type::Bytes => coerce(text, &DynSolType::Bytes),
        _ => None,
    }
}

/// Reads a value that `alloy-dyn-abi` and we write alike.
fn coerce(text: &str, ty: &DynSolType) -> Option<Value> {
    match ty.coerce_str(text).ok()? {
        DynSolValue::Bytes(bytes) => Some(Value::Bytes(bytes)),
        value => Some(Value::Word(value.as_word()?.into())),
    }
}

fn is_whole_address(text: &str) -> bool {
    text.len() == 42 && number::parse_address(text).is_some()
}

/// Bytes at the upper end of a word, if they are as many as the type has.
fn upper(bytes: &[u8], ty: &Type) -> Option<U256> {
    let length = match ty {
        Type::FixedBytes(length) => usize::from(*length),
        Type::Function => 24,
        _ => return None,
    };
    let mut word = [0; 32];
    (bytes.len() == length).then(|| {
        word[..length].copy_from_slice(bytes);
        U256::from_be_bytes(word)
    })
}

fn word(word: U256) -> Pattern {
    Pattern::Value(Value::Word(word))
}

/// A list that has no holes is a value.
fn list(patterns: Vec<Pattern>, with_holes: fn(Vec<Pattern>) -> Pattern) -> Pattern {
    let values: Option<Vec<Value>> = patterns
        .iter()
        .map(|pattern| match pattern {
            Pattern::Value(value) => Some(value.clone()),
            _ => None,
        })
        .collect();
    values.map_or_else(|| with_holes(patterns), |values| Pattern::Value(Value::List(values)))
}

fn check_count(terms: &[Term<'_>], wanted: usize, ty: &Type) -> Result<(), Misfit> {
    match terms.len() {
        count if count == wanted => Ok(()),
        count => Err(misfit(ty, in_words(count))),
    }
}

fn misfit(ty: &Type, found: String) -> Misfit {
    Misfit { path: Vec::new(), expected: expected(ty), found }
}

/// A type, and how its values are written.
fn expected(ty: &Type) -> String {
    let name = clip(&ty.to_string(), MAX_TYPE);
    match ty {
        Type::Bool => format!("{name}, true or false"),
        Type::Address => format!("{name}, 0x and 40 hex digits"),
        Type::Uint(_) | Type::Int(_) => {
            let range = integer::range(ty).unwrap_or_default();
            format!("{name}, a whole number from {range}")
        }
        Type::FixedBytes(length) => format!("{name}, 0x and {} hex digits", 2 * length),
        Type::Function => format!("{name}, 0x and 48 hex digits"),
        Type::Bytes => format!("{name}, 0x and an even number of hex digits"),
        Type::String => format!("{name}, a text in quotes"),
        Type::Array(_) => format!("{name}, values in [ ]"),
        Type::FixedArray(_, length) => format!("{name}, {} in [ ]", in_words(*length)),
        Type::Tuple(fields) => format!("{name}, {} in {{ }}", in_words(fields.len())),
    }
}

fn in_words(count: usize) -> String {
    if count == 1 { "1 value".to_owned() } else { format!("{count} values") }
}

/// A text, short enough for an error and of printable characters.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", clip(text, MAX_FOUND))
}

fn clip(text: &str, most: usize) -> String {
    let mut characters = text.chars();
    let short: String = characters.by_ref().take(most).collect();
    let more = if characters.next().is_some() { "…" } else { "" };
    // Only what would disturb a line is escaped: quotes are part of what was written.
    let told = short
        .chars()
        .map(|it| if it.is_control() { it.escape_debug().to_string() } else { it.into() });
    format!("{}{more}", told.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::term;
    use super::*;

    fn is_read(text: &str, ty: &str, manner: Manner) -> bool {
        let ty = Type::parse(ty).unwrap();
        term::value(text).is_ok_and(|term| fit(&term, &ty, manner).is_ok())
    }

    fn is_coerced(text: &str, ty: &str) -> bool {
        DynSolType::parse(ty).unwrap().coerce_str(text).is_ok()
    }

    #[test]
    fn calls_refuse_values_that_only_the_library_reads() {
        for (text, ty) in [
            ("0b101", "uint8"),
            ("0o17", "uint8"),
            ("+1", "int8"),
            ("deadbeef", "bytes4"),
            ("de", "bytes"),
            ("a b", "string"),
        ] {
            assert!(is_coerced(text, ty), "{text}");
            assert!(!is_read(text, ty, Manner::Call), "{text}");
        }
        assert!(is_read("deadbeef", "bytes4", Manner::Configuration));
    }

    #[test]
    fn calls_take_values_that_the_library_refuses() {
        for (text, ty) in [
            ("2 hours", "uint16"),
            ("1.50e1", "uint8"),
            ("type(uint8).max", "uint8"),
            ("uint8(7)", "uint8"),
            ("{1, 2}", "(uint8,uint8)"),
            ("hex\"00ff\"", "bytes"),
            ("0X00000000000000000000000000000000000000aa", "address"),
            ("?", "uint8"),
        ] {
            assert!(!is_coerced(text, ty), "{text}");
            assert!(is_read(text, ty, Manner::Call), "{text}");
        }
    }

    #[test]
    fn prefix_of_hex_stands_once() {
        for ty in ["bytes", "bytes1"] {
            assert!(is_read("0xab", ty, Manner::Call));
            assert!(!is_read("0x0xab", ty, Manner::Call));
        }
    }
}

//! Converts parsed terms to values of ABI types.
//!
//! Booleans, bytes, functions and whole addresses are read by `DynSolType::coerce_str` of `alloy-dyn-abi`. The rest is
//! ours, because that grammar is another one. It has no units of time, underscores, `type(T).max`, casts, escapes in
//! strings, `{…}` for structs or `?` for values to fill in. It takes binary and octal numbers, `+1`, hex without `0x`
//! and strings without quotes, which are refused in a call, and it does not say which element of a list is wrong.

use alloy_dyn_abi::{DynSolType, DynSolValue};
use alloy_primitives::U256;

use super::ArgumentPattern;
use super::integer::{self, SignedInteger};
use super::term::{ScriptTerm, TermKind};
use crate::abi::{AbiType, AbiValue};
use crate::config::number;

/// Maximum characters of a text, and of a type, in an error.
const MAX_FOUND: usize = 60;
const MAX_TYPE: usize = 120;

/// Origin of an argument; determines how strictly it is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArgumentSource {
    /// A call: strict, and holes are allowed.
    Call,
    /// A configuration: addresses may be short, `0x` and the quotes of a string are optional.
    Configuration,
}

/// Reason for which a term does not match its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeMismatch {
    /// Path inside the argument, counted from 1.
    pub(super) path: Vec<usize>,
    pub(super) expected: String,
    pub(super) found: String,
}

/// Converts a term to a value of the type.
pub(super) fn fit_term(
    term: &ScriptTerm<'_>,
    ty: &AbiType,
    manner: ArgumentSource,
) -> Result<ArgumentPattern, TypeMismatch> {
    let none = || type_mismatch(ty, quote_text(term.text));
    match (&term.kind, ty) {
        (TermKind::Hole, _) if manner == ArgumentSource::Call => Ok(ArgumentPattern::Any),
        (TermKind::Plain | TermKind::Typed(..) | TermKind::Hole, AbiType::String)
            if manner == ArgumentSource::Configuration =>
        {
            Ok(ArgumentPattern::Value(AbiValue::Bytes(term.text.trim_end().into())))
        }
        (TermKind::Typed(name, value), _) if names_type(name, ty) => fit_typed(value, ty, manner),
        (TermKind::Square(terms), AbiType::Array(element)) => {
            let types = std::iter::repeat_n(&**element, terms.len());
            Ok(list_pattern(fit_terms(terms, types, manner)?, ArgumentPattern::Array))
        }
        (TermKind::Square(terms), AbiType::FixedArray(element, length)) => {
            check_count(terms, *length, ty)?;
            let types = std::iter::repeat_n(&**element, *length);
            Ok(list_pattern(fit_terms(terms, types, manner)?, ArgumentPattern::Array))
        }
        (TermKind::Square(terms) | TermKind::Round(terms), AbiType::Tuple(fields)) => {
            check_count(terms, fields.len(), ty)?;
            Ok(list_pattern(fit_terms(terms, fields.iter(), manner)?, ArgumentPattern::Tuple))
        }
        (TermKind::Text(bytes), AbiType::String) | (TermKind::Hex(bytes), AbiType::Bytes) => {
            Ok(ArgumentPattern::Value(AbiValue::Bytes(bytes.clone())))
        }
        (TermKind::Hex(bytes), _) => left_align(bytes, ty).map(word_pattern).ok_or_else(none),
        (TermKind::Plain, _) => {
            parse_plain(term.text, ty, manner).map(ArgumentPattern::Value).ok_or_else(none)
        }
        _ => Err(none()),
    }
}

/// Converts terms to values of the types; the path of an error begins with the number of the value.
pub(super) fn fit_terms<'a>(
    terms: &[ScriptTerm<'_>],
    types: impl Iterator<Item = &'a AbiType>,
    manner: ArgumentSource,
) -> Result<Vec<ArgumentPattern>, TypeMismatch> {
    let fit_one = |(index, (term, ty))| {
        fit_term(term, ty, manner).map_err(|mut misfit| {
            misfit.path.insert(0, index + 1);
            misfit
        })
    };
    terms.iter().zip(types).enumerate().map(fit_one).collect()
}

/// Returns true for a full address: `0x` and 40 digits.
pub(super) fn is_address(term: &ScriptTerm<'_>) -> bool {
    matches!(term.kind, TermKind::Plain) && is_whole_address(term.text)
}

/// Converts a value with an explicit type: `uint8 1`, or `uint8(1)` as in a cast.
fn fit_typed(
    term: &ScriptTerm<'_>,
    ty: &AbiType,
    manner: ArgumentSource,
) -> Result<ArgumentPattern, TypeMismatch> {
    match (&term.kind, ty) {
        (TermKind::Round(terms), _) if terms.len() == 1 && !matches!(ty, AbiType::Tuple(_)) => {
            fit_typed(&terms[0], ty, manner)
        }
        (TermKind::Plain, AbiType::Address) if term.text == "0" => Ok(word_pattern(U256::ZERO)),
        _ => fit_term(term, ty, manner),
    }
}

fn names_type(name: &str, ty: &AbiType) -> bool {
    match (name, ty) {
        ("uint", AbiType::Uint(256))
        | ("int", AbiType::Int(256))
        | ("payable", AbiType::Address) => true,
        _ => ty.to_string() == name,
    }
}

/// Parses a value without quotes and brackets.
fn parse_plain(text: &str, ty: &AbiType, manner: ArgumentSource) -> Option<AbiValue> {
    let is_exact = manner == ArgumentSource::Call;
    let has_prefix = text.starts_with("0x");
    match ty {
        AbiType::Bool => coerce(text, &DynSolType::Bool),
        AbiType::Address if is_whole_address(text) || !is_exact && has_prefix => {
            number::parse_address(text).map(AbiValue::from_address)
        }
        AbiType::Uint(_) | AbiType::Int(_) => {
            Some(AbiValue::Word(SignedInteger::parse_integer(text).ok()?.to_word(ty)?))
        }
        // The library takes hex digits without `0x`, which may be a number in a call.
        _ if is_exact && !has_prefix => None,
        AbiType::Address => coerce(text, &DynSolType::Address),
        AbiType::FixedBytes(length) => coerce(text, &DynSolType::FixedBytes(usize::from(*length))),
        AbiType::Function => coerce(text, &DynSolType::Function),
        AbiType::Bytes => coerce(text, &DynSolType::Bytes),
        _ => None,
    }
}

/// Reads a value that `alloy-dyn-abi` and we write alike.
fn coerce(text: &str, ty: &DynSolType) -> Option<AbiValue> {
    match ty.coerce_str(text).ok()? {
        DynSolValue::Bytes(bytes) => Some(AbiValue::Bytes(bytes)),
        value => Some(AbiValue::Word(value.as_word()?.into())),
    }
}

fn is_whole_address(text: &str) -> bool {
    text.len() == 42 && number::parse_address(text).is_some()
}

/// Left-aligns bytes in a word, if their number matches the type.
fn left_align(bytes: &[u8], ty: &AbiType) -> Option<U256> {
    let length = match ty {
        AbiType::FixedBytes(length) => usize::from(*length),
        AbiType::Function => 24,
        _ => return None,
    };
    let mut word = [0; 32];
    (bytes.len() == length).then(|| {
        word[..length].copy_from_slice(bytes);
        U256::from_be_bytes(word)
    })
}

fn word_pattern(word: U256) -> ArgumentPattern {
    ArgumentPattern::Value(AbiValue::Word(word))
}

/// Builds a list pattern; one without holes becomes a value.
fn list_pattern(
    patterns: Vec<ArgumentPattern>,
    with_holes: fn(Vec<ArgumentPattern>) -> ArgumentPattern,
) -> ArgumentPattern {
    let values: Option<Vec<AbiValue>> = patterns
        .iter()
        .map(|pattern| match pattern {
            ArgumentPattern::Value(value) => Some(value.clone()),
            _ => None,
        })
        .collect();
    values.map_or_else(
        || with_holes(patterns),
        |values| ArgumentPattern::Value(AbiValue::List(values)),
    )
}

fn check_count(terms: &[ScriptTerm<'_>], wanted: usize, ty: &AbiType) -> Result<(), TypeMismatch> {
    match terms.len() {
        count if count == wanted => Ok(()),
        count => Err(type_mismatch(ty, format_value_count(count))),
    }
}

fn type_mismatch(ty: &AbiType, found: String) -> TypeMismatch {
    TypeMismatch { path: Vec::new(), expected: describe_expected(ty), found }
}

/// Describes a type and the syntax of its values.
fn describe_expected(ty: &AbiType) -> String {
    let name = truncate_text(&ty.to_string(), MAX_TYPE);
    match ty {
        AbiType::Bool => format!("{name}, true or false"),
        AbiType::Address => format!("{name}, 0x and 40 hex digits"),
        AbiType::Uint(_) | AbiType::Int(_) => {
            let range = integer::describe_range(ty).unwrap_or_default();
            format!("{name}, a whole number from {range}")
        }
        AbiType::FixedBytes(length) => format!("{name}, 0x and {} hex digits", 2 * length),
        AbiType::Function => format!("{name}, 0x and 48 hex digits"),
        AbiType::Bytes => format!("{name}, 0x and an even number of hex digits"),
        AbiType::String => format!("{name}, a quoted string"),
        AbiType::Array(_) => format!("{name}, values in [ ]"),
        AbiType::FixedArray(_, length) => format!("{name}, {} in [ ]", format_value_count(*length)),
        AbiType::Tuple(fields) => format!("{name}, {} in {{ }}", format_value_count(fields.len())),
    }
}

fn format_value_count(count: usize) -> String {
    if count == 1 { "1 value".to_owned() } else { format!("{count} values") }
}

/// Quotes a text for an error, truncated and with control characters escaped.
pub(super) fn quote_text(text: &str) -> String {
    format!("`{}`", truncate_text(text, MAX_FOUND))
}

fn truncate_text(text: &str, most: usize) -> String {
    let mut characters = text.chars();
    let short: String = characters.by_ref().take(most).collect();
    let more = if characters.next().is_some() { "…" } else { "" };
    // Only control characters are escaped: quotes are part of the input.
    let escaped = short
        .chars()
        .map(|it| if it.is_control() { it.escape_debug().to_string() } else { it.into() });
    format!("{}{more}", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::term;
    use super::*;

    fn is_read(text: &str, ty: &str, manner: ArgumentSource) -> bool {
        let ty = AbiType::parse(ty).unwrap();
        term::parse_value(text).is_ok_and(|term| fit_term(&term, &ty, manner).is_ok())
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
            assert!(!is_read(text, ty, ArgumentSource::Call), "{text}");
        }
        assert!(is_read("deadbeef", "bytes4", ArgumentSource::Configuration));
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
            assert!(is_read(text, ty, ArgumentSource::Call), "{text}");
        }
    }

    #[test]
    fn prefix_of_hex_stands_once() {
        for ty in ["bytes", "bytes1"] {
            assert!(is_read("0xab", ty, ArgumentSource::Call));
            assert!(!is_read("0x0xab", ty, ArgumentSource::Call));
        }
    }
}

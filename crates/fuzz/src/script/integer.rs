//! Parses whole numbers with signs and units: `-5`, `1.5 ether`, `2 weeks`, `type(uint8).max`.

use alloy_primitives::U256;

use crate::abi::AbiType;
use crate::config::number::{self, ParseNumberError};

/// Units in wei and in seconds.
const UNITS: [(&str, u64); 8] = [
    ("wei", 1),
    ("gwei", 1_000_000_000),
    ("ether", 1_000_000_000_000_000_000),
    ("seconds", 1),
    ("minutes", 60),
    ("hours", 3_600),
    ("days", 86_400),
    ("weeks", 604_800),
];

/// Larger numbers are described as powers of two.
const MAX_BITS_IN_DIGITS: u16 = 64;

/// A number of either sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignedInteger {
    is_negative: bool,
    size: U256,
}

impl SignedInteger {
    /// Parses a number.
    pub(super) fn parse_integer(text: &str) -> Result<Self, ParseNumberError> {
        if let Some(bound) = parse_bound(text) {
            return Ok(bound);
        }
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (digits, unit) = match text.split_once(char::is_whitespace) {
            Some((digits, name)) => {
                (digits, find_unit(name.trim()).ok_or(ParseNumberError::Malformed)?)
            }
            None => (text, U256::ONE),
        };
        Ok(Self { is_negative, size: number::parse_number_of_unit(digits, unit)? })
    }

    /// Returns the word that encodes it as the type; None if it is out of range.
    pub(super) fn to_word(self, ty: &AbiType) -> Option<U256> {
        let Self { is_negative, size } = self;
        let is_in_range = match ty {
            AbiType::Uint(bits) => {
                size.bit_len() <= usize::from(*bits) && (!is_negative || size.is_zero())
            }
            AbiType::Int(bits) if is_negative => size <= half_range(*bits),
            AbiType::Int(bits) => size < half_range(*bits),
            _ => false,
        };
        is_in_range.then(|| if is_negative { size.wrapping_neg() } else { size })
    }
}

/// Describes the range of an integer type.
pub(super) fn describe_range(ty: &AbiType) -> Option<String> {
    let max_text = |bits: u16| match bits {
        0..=MAX_BITS_IN_DIGITS => ((1_u128 << bits) - 1).to_string(),
        _ => format!("2^{bits} - 1"),
    };
    match ty {
        AbiType::Uint(bits) => Some(format!("0 to {}", max_text(*bits))),
        AbiType::Int(bits) => {
            let bits = bits.saturating_sub(1);
            let least = match bits {
                0..=MAX_BITS_IN_DIGITS => (1_u128 << bits).to_string(),
                _ => format!("2^{bits}"),
            };
            Some(format!("-{least} to {}", max_text(bits)))
        }
        _ => None,
    }
}

fn find_unit(name: &str) -> Option<U256> {
    UNITS.iter().find(|(known, _)| *known == name).map(|(_, size)| U256::from(*size))
}

/// Parses `type(T).max` or `type(T).min`.
fn parse_bound(text: &str) -> Option<SignedInteger> {
    let (name, end) = text.strip_prefix("type(")?.split_once(").")?;
    let name = name.trim();
    // Integer types only, including `uint` and `int`: other type names have unbounded length and depth.
    if !name.trim_start_matches('u').trim_start_matches("int").bytes().all(|it| it.is_ascii_digit())
    {
        return None;
    }
    let (bits, is_signed) = match AbiType::parse(name).ok()? {
        AbiType::Uint(bits) => (bits, false),
        AbiType::Int(bits) => (bits, true),
        _ => return None,
    };
    let max = U256::MAX >> (256 - usize::from(bits));
    let (is_negative, size) = match (end, is_signed) {
        ("max", false) => (false, max),
        ("max", true) => (false, max >> 1_usize),
        ("min", false) => (false, U256::ZERO),
        ("min", true) => (true, half_range(bits)),
        _ => return None,
    };
    Some(SignedInteger { is_negative, size })
}

fn half_range(bits: u16) -> U256 {
    U256::ONE << (usize::from(bits.max(1)) - 1)
}

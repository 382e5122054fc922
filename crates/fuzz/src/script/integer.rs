//! Whole numbers with their signs and units: `-5`, `1.5 ether`, `2 weeks`, `type(uint8).max`.

use alloy_primitives::U256;

use crate::abi::Type;
use crate::config::number::{self, NoNumber};

/// What one of each unit is, in wei and in seconds.
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

/// Numbers of more bits are told as powers of two.
const MAX_BITS_IN_DIGITS: u16 = 64;

/// A number of either sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Integer {
    is_negative: bool,
    size: U256,
}

impl Integer {
    /// Reads a number.
    pub(super) fn read(text: &str) -> Result<Self, NoNumber> {
        if let Some(bound) = bound(text) {
            return Ok(bound);
        }
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (digits, unit) = match text.split_once(char::is_whitespace) {
            Some((digits, name)) => (digits, unit(name.trim()).ok_or(NoNumber::Malformed)?),
            None => (text, U256::ONE),
        };
        Ok(Self { is_negative, size: number::parse_of(digits, unit)? })
    }

    /// The word that it is as a value of the type; None if the type has no room for it.
    pub(super) fn word(self, ty: &Type) -> Option<U256> {
        let Self { is_negative, size } = self;
        let has_room = match ty {
            Type::Uint(bits) => {
                size.bit_len() <= usize::from(*bits) && (!is_negative || size.is_zero())
            }
            Type::Int(bits) if is_negative => size <= half(*bits),
            Type::Int(bits) => size < half(*bits),
            _ => false,
        };
        has_room.then(|| if is_negative { size.wrapping_neg() } else { size })
    }
}

/// The numbers that a type has room for.
pub(super) fn range(ty: &Type) -> Option<String> {
    let told = |bits: u16| match bits {
        0..=MAX_BITS_IN_DIGITS => ((1_u128 << bits) - 1).to_string(),
        _ => format!("2^{bits} - 1"),
    };
    match ty {
        Type::Uint(bits) => Some(format!("0 to {}", told(*bits))),
        Type::Int(bits) => {
            let bits = bits.saturating_sub(1);
            let least = match bits {
                0..=MAX_BITS_IN_DIGITS => (1_u128 << bits).to_string(),
                _ => format!("2^{bits}"),
            };
            Some(format!("-{least} to {}", told(bits)))
        }
        _ => None,
    }
}

fn unit(name: &str) -> Option<U256> {
    UNITS.iter().find(|(known, _)| *known == name).map(|(_, size)| U256::from(*size))
}

/// `type(T).max` or `type(T).min`
fn bound(text: &str) -> Option<Integer> {
    let (name, end) = text.strip_prefix("type(")?.split_once(").")?;
    let name = name.trim();
    // Only names of integers, `uint` and `int` among them: others may be of any length and depth.
    if !name.trim_start_matches('u').trim_start_matches("int").bytes().all(|it| it.is_ascii_digit())
    {
        return None;
    }
    let (bits, is_signed) = match Type::parse(name).ok()? {
        Type::Uint(bits) => (bits, false),
        Type::Int(bits) => (bits, true),
        _ => return None,
    };
    let max = U256::MAX >> (256 - usize::from(bits));
    let (is_negative, size) = match (end, is_signed) {
        ("max", false) => (false, max),
        ("max", true) => (false, max >> 1_usize),
        ("min", false) => (false, U256::ZERO),
        ("min", true) => (true, half(bits)),
        _ => return None,
    };
    Some(Integer { is_negative, size })
}

fn half(bits: u16) -> U256 {
    U256::ONE << (usize::from(bits.max(1)) - 1)
}

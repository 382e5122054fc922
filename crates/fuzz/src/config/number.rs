//! Numbers and addresses as people write them: `1_000`, `0xff`, `1e18`, `1.5e18`, `0x10000`.

use alloy_primitives::{Address, U256, U512};

/// Larger powers of ten have more than 256 bits.
const MAX_EXPONENT: usize = 77;

/// Why a text is no whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoNumber {
    Malformed,
    /// It is a number, but something is left after the point.
    Fraction,
    /// It has more than 256 bits.
    TooLarge,
}

/// A whole number that is not below zero; None where it is none, or has more than 256 bits.
pub fn parse(text: &str) -> Option<U256> {
    parse_of(text, U256::ONE).ok()
}

/// So many of a unit, such as `1.5` of ether: only the product has to be a whole number.
pub(crate) fn parse_of(text: &str, unit: U256) -> Result<U256, NoNumber> {
    let digits = without_underscores(text).ok_or(NoNumber::Malformed)?;
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => parse_digits(hex, 16)?.checked_mul(unit).ok_or(NoNumber::TooLarge),
        None => parse_decimal(&digits, unit),
    }
}

/// An address in hex; missing digits are zeros at its beginning.
pub fn parse_address(text: &str) -> Option<Address> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    if digits.len() > 40 {
        return None;
    }
    let number = parse_digits(digits, 16).ok()?;
    Some(Address::from_slice(&number.to_be_bytes::<32>()[12..]))
}

/// Underscores stand between digits only.
fn without_underscores(text: &str) -> Option<String> {
    let is_misplaced = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    (!is_misplaced).then(|| text.replace('_', ""))
}

/// Digits, a fraction and a power of ten that together with the unit make a whole number.
fn parse_decimal(text: &str, unit: U256) -> Result<U256, NoNumber> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
            (mantissa, parse_digits(exponent, 10)?.saturating_to())
        }
        None => (text, 0_usize),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return Err(NoNumber::Malformed),
        None => (mantissa, ""),
    };
    let fraction = fraction.trim_end_matches('0');
    let number = parse_digits(&format!("{whole}{fraction}"), 10)?;
    if number.is_zero() {
        return Ok(number);
    }
    let product = U512::from(number) * U512::from(unit);
    let shifted = match exponent.checked_sub(fraction.len()) {
        Some(zeros) => product.checked_mul(power_of_ten(zeros).ok_or(NoNumber::TooLarge)?),
        None => {
            let places = power_of_ten(fraction.len() - exponent).ok_or(NoNumber::Fraction)?;
            let (quotient, rest) = product.div_rem(places);
            if !rest.is_zero() {
                return Err(NoNumber::Fraction);
            }
            Some(quotient)
        }
    };
    let shifted = shifted.ok_or(NoNumber::TooLarge)?;
    U256::checked_from_limbs_slice(shifted.as_limbs()).ok_or(NoNumber::TooLarge)
}

fn power_of_ten(exponent: usize) -> Option<U512> {
    (exponent <= MAX_EXPONENT).then(|| U512::from(10).pow(U512::from(exponent)))
}

fn parse_digits(digits: &str, radix: u32) -> Result<U256, NoNumber> {
    if digits.is_empty() || !digits.chars().all(|character| character.is_digit(radix)) {
        return Err(NoNumber::Malformed);
    }
    U256::from_str_radix(digits, u64::from(radix)).map_err(|_| NoNumber::TooLarge)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{U256, address};
    use proptest::prelude::*;

    use super::{NoNumber, parse, parse_address, parse_of};

    #[test]
    fn reads_numbers_as_people_write_them() {
        let check = |text: &str, number: u128| assert_eq!(parse(text), Some(U256::from(number)));
        check("0", 0);
        check("1_000_000", 1_000_000);
        check("0xffff_ffff", 0xffff_ffff);
        check("1e18", 1_000_000_000_000_000_000);
        check("1.5E+3", 1_500);
        check("2.0", 2);
        check("0e99999999", 0);
    }

    #[test]
    fn refuses_what_is_no_whole_number() {
        for text in [
            "", "-1", "+1", "_1", "1_", "1__0", "0x", "0xg", "1.5", "1.", "1e", "1e-3", "1e78",
            "１",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_what_is_counted_in_units_has_to_be_whole() {
        let ether = U256::from(10).pow(U256::from(18));
        let read = |text: &str, unit: U256| parse_of(text, unit);
        assert_eq!(read("1.5", ether), Ok(U256::from(1_500_000_000_000_000_000_u64)));
        assert_eq!(read("0.25", U256::from(3_600)), Ok(U256::from(900)));
        assert_eq!(read("0x10", U256::from(60)), Ok(U256::from(960)));
        assert_eq!(read("0.0000000000000000001", ether), Err(NoNumber::Fraction));
        assert_eq!(read("1e60", ether), Err(NoNumber::TooLarge));
        assert_eq!(read("1e99999", ether), Err(NoNumber::TooLarge));
        assert_eq!(read("many", ether), Err(NoNumber::Malformed));
    }

    #[test]
    fn reads_short_addresses() {
        let short = address!("0x0000000000000000000000000000000000010000");
        assert_eq!(parse_address("0x10000"), Some(short));
        assert_eq!(parse_address("10000"), None, "decimal or hex, nobody knows");
        assert_eq!(parse_address(&format!("0x{}", "0".repeat(41))), None);
    }

    proptest! {
        #[test]
        fn numbers_are_read_back(limbs: [u64; 4]) {
            let number = U256::from_limbs(limbs);
            prop_assert_eq!(parse(&number.to_string()), Some(number));
            prop_assert_eq!(parse(&format!("{number:#x}")), Some(number));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = (parse(&text), parse_address(&text));
        }
    }
}

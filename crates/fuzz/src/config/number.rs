//! Parses numbers and addresses such as `1_000`, `0xff`, `1e18`, `1.5e18`, `0x10000`.

use alloy_primitives::{Address, U256, U512};

/// Larger powers of ten have more than 256 bits.
const MAX_EXPONENT: usize = 77;

/// Reason for which a text is not a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseNumberError {
    Malformed,
    /// A number with a remaining fraction.
    Fraction,
    /// A number of more than 256 bits.
    TooLarge,
}

/// Parses an unsigned whole number. Returns None if it is invalid or has more than 256 bits.
pub fn parse_number(text: &str) -> Option<U256> {
    parse_number_of_unit(text, U256::ONE).ok()
}

/// Parses a number of units, such as `1.5` ether. Only the product has to be a whole number.
pub(crate) fn parse_number_of_unit(text: &str, unit: U256) -> Result<U256, ParseNumberError> {
    let digits = without_underscores(text).ok_or(ParseNumberError::Malformed)?;
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => parse_digits(hex, 16)?.checked_mul(unit).ok_or(ParseNumberError::TooLarge),
        None => parse_decimal(&digits, unit),
    }
}

/// Parses an address in hex; missing digits are leading zeros.
pub fn parse_address(text: &str) -> Option<Address> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    if digits.len() > 40 {
        return None;
    }
    let number = parse_digits(digits, 16).ok()?;
    Some(Address::from_slice(&number.to_be_bytes::<32>()[12..]))
}

/// Removes underscores. Returns None unless all of them are between digits.
fn without_underscores(text: &str) -> Option<String> {
    let is_misplaced = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    (!is_misplaced).then(|| text.replace('_', ""))
}

/// Parses digits, a fraction and a power of ten that together with the unit make a whole number.
fn parse_decimal(text: &str, unit: U256) -> Result<U256, ParseNumberError> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
            (mantissa, parse_digits(exponent, 10)?.saturating_to())
        }
        None => (text, 0_usize),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return Err(ParseNumberError::Malformed),
        None => (mantissa, ""),
    };
    let fraction = fraction.trim_end_matches('0');
    let number = parse_digits(&format!("{whole}{fraction}"), 10)?;
    if number.is_zero() {
        return Ok(number);
    }
    let product = U512::from(number) * U512::from(unit);
    let shifted = match exponent.checked_sub(fraction.len()) {
        Some(zeros) => product.checked_mul(power_of_ten(zeros).ok_or(ParseNumberError::TooLarge)?),
        None => {
            let places =
                power_of_ten(fraction.len() - exponent).ok_or(ParseNumberError::Fraction)?;
            let (quotient, rest) = product.div_rem(places);
            if !rest.is_zero() {
                return Err(ParseNumberError::Fraction);
            }
            Some(quotient)
        }
    };
    let shifted = shifted.ok_or(ParseNumberError::TooLarge)?;
    U256::checked_from_limbs_slice(shifted.as_limbs()).ok_or(ParseNumberError::TooLarge)
}

fn power_of_ten(exponent: usize) -> Option<U512> {
    (exponent <= MAX_EXPONENT).then(|| U512::from(10).pow(U512::from(exponent)))
}

fn parse_digits(digits: &str, radix: u32) -> Result<U256, ParseNumberError> {
    if digits.is_empty() || !digits.chars().all(|character| character.is_digit(radix)) {
        return Err(ParseNumberError::Malformed);
    }
    U256::from_str_radix(digits, u64::from(radix)).map_err(|_| ParseNumberError::TooLarge)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{U256, address};
    use proptest::prelude::*;

    use super::{ParseNumberError, parse_address, parse_number, parse_number_of_unit};

    #[test]
    fn parses_separators_hex_and_exponents() {
        let check =
            |text: &str, number: u128| assert_eq!(parse_number(text), Some(U256::from(number)));
        check("0", 0);
        check("1_000_000", 1_000_000);
        check("0xffff_ffff", 0xffff_ffff);
        check("1e18", 1_000_000_000_000_000_000);
        check("1.5E+3", 1_500);
        check("2.0", 2);
        check("0e99999999", 0);
    }

    #[test]
    fn rejects_invalid_whole_numbers() {
        for text in [
            "", "-1", "+1", "_1", "1_", "1__0", "0x", "0xg", "1.5", "1.", "1e", "1e-3", "1e78",
            "１",
        ] {
            assert_eq!(parse_number(text), None, "{text}");
        }
    }

    #[test]
    fn only_the_product_with_the_unit_has_to_be_whole() {
        let ether = U256::from(10).pow(U256::from(18));
        let read = |text: &str, unit: U256| parse_number_of_unit(text, unit);
        assert_eq!(read("1.5", ether), Ok(U256::from(1_500_000_000_000_000_000_u64)));
        assert_eq!(read("0.25", U256::from(3_600)), Ok(U256::from(900)));
        assert_eq!(read("0x10", U256::from(60)), Ok(U256::from(960)));
        assert_eq!(read("0.0000000000000000001", ether), Err(ParseNumberError::Fraction));
        assert_eq!(read("1e60", ether), Err(ParseNumberError::TooLarge));
        assert_eq!(read("1e99999", ether), Err(ParseNumberError::TooLarge));
        assert_eq!(read("many", ether), Err(ParseNumberError::Malformed));
    }

    #[test]
    fn pads_short_addresses() {
        let short = address!("0x0000000000000000000000000000000000010000");
        assert_eq!(parse_address("0x10000"), Some(short));
        assert_eq!(parse_address("10000"), None, "ambiguous without a prefix");
        assert_eq!(parse_address(&format!("0x{}", "0".repeat(41))), None);
    }

    proptest! {
        #[test]
        fn formatted_numbers_round_trip(limbs: [u64; 4]) {
            let number = U256::from_limbs(limbs);
            prop_assert_eq!(parse_number(&number.to_string()), Some(number));
            prop_assert_eq!(parse_number(&format!("{number:#x}")), Some(number));
        }

        #[test]
        fn parsing_arbitrary_text_never_panics(text: String) {
            let _ = (parse_number(&text), parse_address(&text));
        }
    }
}

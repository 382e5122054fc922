//! Numbers and addresses as people write them: `1_000`, `0xff`, `1e18`, `1.5e18`, `0x10000`.

use alloy_primitives::{Address, U256};

/// Larger powers of ten have more than 256 bits.
const MAX_EXPONENT: usize = 77;

/// A whole number that is not below zero; None where it is none, or has more than 256 bits.
pub fn parse(text: &str) -> Option<U256> {
    let digits: String = without_underscores(text)?;
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => parse_digits(hex, 16),
        None => parse_decimal(&digits),
    }
}

/// An address in hex; missing digits are zeros at its beginning.
pub fn parse_address(text: &str) -> Option<Address> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    if digits.len() > 40 {
        return None;
    }
    let number = parse_digits(digits, 16)?;
    Some(Address::from_slice(&number.to_be_bytes::<32>()[12..]))
}

/// Underscores stand between digits only.
fn without_underscores(text: &str) -> Option<String> {
    let is_misplaced = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    (!is_misplaced).then(|| text.replace('_', ""))
}

/// Digits, a fraction and a power of ten that together make a whole number.
fn parse_decimal(text: &str) -> Option<U256> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
            (mantissa, parse_digits(exponent, 10)?.try_into().ok()?)
        }
        None => (text, 0_usize),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
        Some(_) => return None,
        None => (mantissa, ""),
    };
    let fraction = fraction.trim_end_matches('0');
    let zeros = exponent.checked_sub(fraction.len())?;
    let number = parse_digits(&format!("{whole}{fraction}"), 10)?;
    if number.is_zero() || zeros == 0 {
        return Some(number);
    }
    if zeros > MAX_EXPONENT {
        return None;
    }
    number.checked_mul(U256::from(10).pow(U256::from(zeros)))
}

fn parse_digits(digits: &str, radix: u32) -> Option<U256> {
    let is_number = !digits.is_empty() && digits.chars().all(|character| character.is_digit(radix));
    is_number.then(|| U256::from_str_radix(digits, u64::from(radix)).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{U256, address};
    use proptest::prelude::*;

    use super::{parse, parse_address};

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

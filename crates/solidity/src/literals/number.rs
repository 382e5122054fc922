//! Parses number literals of Solidity: `1_000`, `0xff`, `1.5 ether`, `2e18`.

use alloy_primitives::{I256, U256};

/// Returns the value of a literal with its unit, or `None` if it is not an integer below 2^256.
pub(super) fn parse_literal(text: &str, unit: Option<&str>) -> Option<U256> {
    let text: String = text.chars().filter(|letter| *letter != '_').collect();
    let factor = unit.map_or(Some(U256::ONE), unit_factor)?;
    if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        return U256::from_str_radix(digits, 16).ok()?.checked_mul(factor);
    }
    parse_decimal(&text, factor)
}

/// Returns the value of an expression folded by the compiler: its type is `int_const <value>`.
pub(super) fn parse_folded_constant(type_name: &str) -> Option<U256> {
    let text = type_name.strip_prefix("int_const ")?;
    match text.strip_prefix('-') {
        Some(_) => I256::from_dec_str(text).ok().map(I256::into_raw),
        None => U256::from_str_radix(text, 10).ok(),
    }
}

fn unit_factor(unit: &str) -> Option<U256> {
    Some(U256::from(match unit {
        "wei" | "seconds" => 1_u64,
        "gwei" => 1_000_000_000,
        "szabo" => 1_000_000_000_000,
        "finney" => 1_000_000_000_000_000,
        "ether" => 1_000_000_000_000_000_000,
        "minutes" => 60,
        "hours" => 3_600,
        "days" => 86_400,
        "weeks" => 604_800,
        "years" => 31_536_000,
        _ => return None,
    }))
}

/// Parses `digits.fraction e exponent` times the factor, which may turn a fraction into an integer.
fn parse_decimal(text: &str, factor: U256) -> Option<U256> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Trailing zeros are moved to the scale, so they cannot make the digits overflow.
    let kept = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len() - kept.len()).ok()?;
    let scale = exponent.checked_add(zeros)?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    if kept.is_empty() {
        return Some(U256::ZERO);
    }
    let value = U256::from_str_radix(kept, 10).ok()?.checked_mul(factor)?;
    let power = U256::from(10).checked_pow(U256::from(scale.unsigned_abs()))?;
    match scale {
        0.. => value.checked_mul(power),
        _ => (value % power).is_zero().then(|| value / power),
    }
}

//! Scans JSON text before it is parsed: limits its nesting, and rejects numbers and keys that parsing would change.
//!
//! It checks nothing else. Text that is not JSON passes here and fails in the parser.

use contract::json::has_reserved_key;
use memchr::memchr2;

use crate::ConnectionError;

/// Every integer with at most this many digits fits in 64 bits.
const SAFE_DIGITS: usize = 18;
const MAX_SHOWN_DIGITS: usize = 48;

/// Checks the nesting, and that `serde_json` reads every number exactly, so that checks apply to the values as sent.
pub(crate) fn check_json(text: &str, limit: usize) -> Result<(), ConnectionError> {
    scan_json(text, limit, true)
}

/// Checks only the nesting and the keys.
pub(crate) fn check_depth(text: &str, limit: usize) -> Result<(), ConnectionError> {
    scan_json(text, limit, false)
}

fn scan_json(text: &str, limit: usize, numbers: bool) -> Result<(), ConnectionError> {
    let bytes = text.as_bytes();
    if has_reserved_key(bytes) {
        return Err(ConnectionError::protocol_violation("the message has a reserved key"));
    }
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at + 1),
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return Err(ConnectionError::TooDeep { limit });
                }
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let end = end_of_number(bytes, at);
                if numbers {
                    check_number(&text[at..end])?;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    Ok(())
}

/// Returns the index after the closing quote.
pub(crate) fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

fn end_of_number(bytes: &[u8], start: usize) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    bytes[start..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |n| start + n)
}

fn check_number(number: &str) -> Result<(), ConnectionError> {
    let whole = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let fits = if whole {
        number.len() <= SAFE_DIGITS
            || number.parse::<i64>().is_ok()
            || number.parse::<u64>().is_ok()
    } else {
        number.parse::<f64>().map_or(true, f64::is_finite)
    };
    if fits {
        return Ok(());
    }
    let mut shown: String = number.chars().take(MAX_SHOWN_DIGITS).collect();
    if shown.len() < number.len() {
        shown.push('…');
    }
    Err(ConnectionError::InexactNumber { number: shown })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn limits_nesting_outside_strings() {
        assert_eq!(check_json(r#"{"a":["[[[[{{{{\"[",{}]}"#, 3), Ok(()));
        assert_eq!(check_json("[[[]]]", 2), Err(ConnectionError::TooDeep { limit: 2 }));
        assert_eq!(check_depth(&"[".repeat(65), 64), Err(ConnectionError::TooDeep { limit: 64 }));
        assert_eq!(check_json("\"open \\", 1), Ok(()));
        let hidden = r#"{"$serde_json::private::RawValue":"[[[[1]]]]"}"#;
        for check in [check_json, check_depth] {
            let violation = ConnectionError::protocol_violation("the message has a reserved key");
            assert_eq!(check(hidden, 3), Err(violation));
        }
    }

    #[test]
    fn rejects_numbers_that_parsing_would_change() {
        for good in ["18446744073709551615", "-9223372036854775808", "0.1", "1e300", "-0", "1e-400"]
        {
            assert_eq!(check_json(good, 1), Ok(()), "{good}");
        }
        for bad in ["18446744073709551616", "-9223372036854775809", "1e400", "-1e999"] {
            let number = bad.to_owned();
            assert_eq!(
                check_json(&format!("[{bad}]"), 1),
                Err(ConnectionError::InexactNumber { number })
            );
        }
        assert_eq!(check_json("\"18446744073709551616\"", 1), Ok(()));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(".*", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    proptest! {
        /// Accepted text survives parsing and writing unchanged, and the depth is counted exactly.
        #[test]
        fn agrees_with_the_parser(value in any_json()) {
            let text = value.to_string();
            let deep = depth(&value);
            prop_assert_eq!(check_json(&text, deep), Ok(()));
            if deep > 0 {
                prop_assert_eq!(check_json(&text, deep - 1), Err(ConnectionError::TooDeep { limit: deep - 1 }));
            }
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap().to_string(), text);
        }

        #[test]
        fn never_panics_on_arbitrary_text(text in ".*") {
            let _ = check_json(&text, 3);
        }
    }
}

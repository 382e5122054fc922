//! Canonical JSON and digests: equal values always give the same bytes, independent of key order.
//!
//! Keys are sorted by their UTF-8 bytes, there is no white space, and a float with an integral value is written as an
//! integer (`1.0` is `1`). This is RFC 8785 except for the sort order of keys outside the Basic Multilingual Plane.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Largest magnitude up to which an `f64` represents every integer exactly (2^53). Larger floats are written unchanged.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// Returns the canonical JSON text of a value.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::with_capacity(128);
    write_value(value, &mut out);
    out
}

/// Returns `sha256:` followed by the hex digest of the bytes.
pub fn sha256_digest(bytes: &[u8]) -> String {
    sha256_with_scheme("sha256:", bytes)
}

/// Returns `sha256:` followed by the hex digest of the value's canonical JSON.
pub fn sha256_value_digest(value: &Value) -> String {
    sha256_digest(canonical_json(value).as_bytes())
}

/// Returns `scheme` followed by the SHA-256 of the bytes in hex.
pub(crate) fn sha256_with_scheme(scheme: &str, bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(bytes);
    let mut text = String::with_capacity(scheme.len() + 64);
    text.push_str(scheme);
    for byte in digest {
        text.push(char::from(HEX[usize::from(byte >> 4)]));
        text.push(char::from(HEX[usize::from(byte & 15)]));
    }
    text
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_value(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Number(number) => match number.as_f64() {
            Some(float)
                if number.is_f64() && float.fract() == 0.0 && float.abs() <= MAX_EXACT_INTEGER =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "integral and within the exact range, tested above"
                )]
                out.push_str(&(float as i64).to_string());
            }
            _ => out.push_str(&number.to_string()),
        },
        Value::String(text) => write_string(text, out),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Null => out.push_str("null"),
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).expect("a string always serializes"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn canonical_json_ignores_key_order_and_number_form() {
        let a: Value = serde_json::from_str(r#"{"b": 1.0, "a": [true, null, "é\n"]}"#).unwrap();
        let b = json!({"a": [true, null, "é\n"], "b": 1});
        assert_eq!(canonical_json(&a), r#"{"a":[true,null,"é\n"],"b":1}"#);
        assert_eq!(sha256_value_digest(&a), sha256_value_digest(&b));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".{0,6}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonical_json_is_stable_when_reparsed(value in any_json()) {
            let text = canonical_json(&value);
            let again: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(canonical_json(&again), text);
        }
    }
}

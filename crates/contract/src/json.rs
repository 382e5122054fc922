//! Strict JSON parsing: duplicate keys are errors and the nesting depth is bounded.
//!
//! Parsers disagree about an object with a duplicate key: some take the first value, some the last. A value could then
//! be checked in one form and used in another, so a duplicate key is an error. Depth is bounded while parsing.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::map::{Entry, Map};

/// The reason why a text is not exactly one JSON value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrictJsonError {
    /// Contains the key, which is untrusted text.
    #[error("duplicate key in an object")]
    DuplicateKey(String),
    #[error("nested too deeply")]
    TooDeep,
    #[error("unexpected text after the value")]
    TrailingText,
    #[error("invalid JSON at line {line}, column {column}")]
    InvalidJson { line: usize, column: usize },
}

/// Parses a text that contains exactly one JSON value, with objects and arrays nested at most `max_depth` levels.
///
/// Returns an error for a duplicate key, excess depth, trailing text or invalid JSON.
pub fn parse_strict_json(text: &str, max_depth: usize) -> Result<Value, StrictJsonError> {
    let fault = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    match (JsonValueSeed { levels_left: max_depth, fault: &fault }).deserialize(&mut reader) {
        Ok(value) => reader.end().map(|()| value).map_err(|_| StrictJsonError::TrailingText),
        Err(error) => Err(fault.take().unwrap_or(StrictJsonError::InvalidJson {
            line: error.line(),
            column: error.column(),
        })),
    }
}

/// Deserializes one value and passes the depth budget down.
struct JsonValueSeed<'a> {
    levels_left: usize,
    /// The precise error, which cannot be recovered from serde's error.
    fault: &'a RefCell<Option<StrictJsonError>>,
}

impl<'a> JsonValueSeed<'a> {
    /// Returns the levels left for children, or an error if the limit is reached.
    fn child_levels<E: Error>(&self) -> Result<usize, E> {
        self.levels_left.checked_sub(1).ok_or_else(|| self.record_error(StrictJsonError::TooDeep))
    }

    fn with_levels(&self, levels_left: usize) -> JsonValueSeed<'a> {
        JsonValueSeed { levels_left, fault: self.fault }
    }

    /// Records the error and returns a serde error that stops parsing.
    fn record_error<E: Error>(&self, fault: StrictJsonError) -> E {
        let refusal = E::custom(&fault);
        self.fault.replace(Some(fault));
        refusal
    }
}

impl<'de> DeserializeSeed<'de> for JsonValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let below = self.child_levels()?;
        let mut items = Vec::new();
        while let Some(item) = input.next_element_seed(self.with_levels(below))? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let below = self.child_levels()?;
        let mut map = Map::new();
        while let Some(key) = input.next_key::<String>()? {
            match map.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(input.next_value_seed(self.with_levels(below))?);
                }
                Entry::Occupied(entry) => {
                    return Err(
                        self.record_error(StrictJsonError::DuplicateKey(entry.key().clone()))
                    );
                }
            }
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rejects_duplicate_keys_excess_depth_and_trailing_text() {
        let duplicate = |key: &str| Err(StrictJsonError::DuplicateKey(key.into()));
        for (text, fault) in [
            (r#"{"a":1,"a":1}"#, duplicate("a")),
            (r#"[{"a":{"b":1,"c":2,"b":3}}]"#, duplicate("b")),
            ("{\"\\u0061\":1,\"a\":2}", duplicate("a")),
            ("[[[[]]]]", Err(StrictJsonError::TooDeep)),
            (r#"[[[{}]]]"#, Err(StrictJsonError::TooDeep)),
            ("1 2", Err(StrictJsonError::TrailingText)),
            ("[1,\n}", Err(StrictJsonError::InvalidJson { line: 2, column: 1 })),
        ] {
            assert_eq!(parse_strict_json(text, 3), fault, "{text}");
        }
        assert_eq!(parse_strict_json("[[[1]]]", 3), Ok(serde_json::json!([[[1]]])));
    }

    proptest! {
        #[test]
        fn accepted_texts_parse_as_serde_json_parses_them(text in "\\PC{0,60}|[\\[\\]{}\",:a0 ]{0,40}") {
            if let Ok(value) = parse_strict_json(&text, 64) {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}

//! Strict JSON parsing: duplicate keys are errors and the nesting depth is bounded.
//!
//! Parsers disagree about an object with a duplicate key: some take the first value, some the last. A value could then
//! be checked in one form and used in another, so a duplicate key is an error. Depth is bounded while parsing.

use std::cell::RefCell;
use std::fmt;
use std::sync::LazyLock;

use memchr::memmem::Finder;
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

/// Start of the keys that `serde_json` reserves.
const RESERVED_PREFIX: &str = "$serde_json::private::";
/// Maximum bytes of the start of a reserved key, with each character escaped.
const MAX_ESCAPED_PREFIX: usize = RESERVED_PREFIX.len() * "\\u0000".len();

/// Finds objects whose first key is one that `serde_json` reserves, in a JSON text that arrives in parts.
///
/// `serde_json` parses the string behind such a key and puts the result in place of the object. Values and levels would be
/// hidden from checks of the text. No tool or client has a use for the key.
#[derive(Default)]
pub struct ReservedKeyScan {
    position: ScanPosition,
    is_escaped: bool,
    /// The start of the key that is being read.
    key: Vec<u8>,
}

#[derive(Default, PartialEq)]
enum ScanPosition {
    #[default]
    BetweenValues,
    AfterBrace,
    InFirstKey,
    InString,
}

impl ReservedKeyScan {
    /// Returns true if the next part of the text completes a reserved key.
    pub fn find_in(&mut self, part: &[u8]) -> bool {
        part.iter().any(|byte| self.ends_reserved_key(*byte))
    }

    fn ends_reserved_key(&mut self, byte: u8) -> bool {
        match self.position {
            ScanPosition::BetweenValues | ScanPosition::AfterBrace => {
                self.position = match byte {
                    b'{' => ScanPosition::AfterBrace,
                    b'"' if self.position == ScanPosition::AfterBrace => ScanPosition::InFirstKey,
                    b'"' => ScanPosition::InString,
                    b' ' | b'\t' | b'\r' | b'\n' => return false,
                    _ => ScanPosition::BetweenValues,
                };
                self.key.clear();
                false
            }
            ScanPosition::InString => {
                self.ends_string(byte);
                false
            }
            ScanPosition::InFirstKey => {
                if self.ends_string(byte) {
                    return is_reserved(&self.key);
                }
                if self.key.len() < MAX_ESCAPED_PREFIX {
                    self.key.push(byte);
                }
                false
            }
        }
    }

    fn ends_string(&mut self, byte: u8) -> bool {
        let is_escaped = std::mem::take(&mut self.is_escaped);
        match byte {
            b'\\' => self.is_escaped = !is_escaped,
            b'"' if !is_escaped => {
                self.position = ScanPosition::BetweenValues;
                return true;
            }
            _ => {}
        }
        false
    }
}

/// Returns true if a key that begins with these bytes, which may contain escapes, is reserved.
fn is_reserved(key: &[u8]) -> bool {
    let Ok(mut rest) =
        std::str::from_utf8(key).or_else(|error| std::str::from_utf8(&key[..error.valid_up_to()]))
    else {
        return false;
    };
    for expected in RESERVED_PREFIX.chars() {
        let escape = rest.strip_prefix("\\u").and_then(|rest| rest.get(..4));
        let found = match escape {
            Some(digits) => u32::from_str_radix(digits, 16).ok().and_then(char::from_u32),
            None => rest.chars().next(),
        };
        if found != Some(expected) {
            return false;
        }
        rest = &rest[if escape.is_some() { 6 } else { 1 }..];
    }
    true
}

/// Returns true if the first key of an object in the text is one that `serde_json` reserves, see [`ReservedKeyScan`].
pub fn has_reserved_key(text: &[u8]) -> bool {
    static MARKERS: LazyLock<[Finder<'static>; 2]> =
        LazyLock::new(|| [RESERVED_PREFIX, "\\u00"].map(Finder::new));
    MARKERS.iter().any(|marker| marker.find(text).is_some())
        && ReservedKeyScan::default().find_in(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn finds_reserved_keys_that_serde_json_replaces() {
        for (text, is_reserved) in [
            (r#"{"$serde_json::private::RawValue":"[1]"}"#, true),
            (r#"[{"a":[ { "\u0024serde_json::private\u003A:RawValue" : "[1]"}]}]"#, true),
            (r#"{"a\\":{"$serde_json::privat\u0065::RawValue":"1"}}"#, true),
            (r#"{"a":1,"$serde_json::private::RawValue":"[1]"}"#, false),
            (r#"{"a":"{\"$serde_json::private::RawValue\":1}"}"#, false),
            (r#"["$serde_json::private::RawValue","[1]"]"#, false),
            (r#"{"$serde_json::privat":"\u0065::RawValue"}"#, false),
            (r#"{"é$serde_json::private::RawValue":"\u0041"}"#, false),
        ] {
            assert_eq!(has_reserved_key(text.as_bytes()), is_reserved, "{text}");
            let parsed: Value = serde_json::from_str(text).unwrap();
            let is_replaced = parsed.to_string().len() < text.len() / 2;
            assert!(is_reserved || !is_replaced, "{text}");
            for size in 1..text.len() {
                let mut scan = ReservedKeyScan::default();
                let mut parts = text.as_bytes().chunks(size);
                assert_eq!(parts.any(|part| scan.find_in(part)), is_reserved, "{text} {size}");
            }
        }
    }

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
        /// A text without reserved keys is not replaced by `serde_json`.
        #[test]
        fn values_without_reserved_keys_are_kept(
            text in r#"([\[\]{},:0 ]|"[$a]"|"\$serde_json::private::RawValue":"(1|\[\])"|"\\u0024serde_json::private::RawValue":"2"){0,8}"#
        ) {
            if let (Ok(value), false) = (serde_json::from_str::<Value>(&text), has_reserved_key(text.as_bytes())) {
                prop_assert_eq!(Ok(value), parse_strict_json(&text, 64).or_else(|error| match error {
                    StrictJsonError::DuplicateKey(_) => serde_json::from_str(&text).map_err(|_| error),
                    other => Err(other),
                }));
            }
        }

        #[test]
        fn accepted_texts_parse_as_serde_json_parses_them(text in "\\PC{0,60}|[\\[\\]{}\",:a0 ]{0,40}") {
            if let Ok(value) = parse_strict_json(&text, 64) {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}

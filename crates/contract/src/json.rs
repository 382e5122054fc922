//! JSON text that everybody reads alike.
//!
//! Of a key that stands twice in one object some readers take the first value and some the last: what was checked would
//! not be what is acted on. So here it is an error. Depth is bounded while reading, before anything is built on it.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::map::{Entry, Map};

/// Why a text is not one JSON value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// With the key, which is whatever the writer chose.
    #[error("a key stands twice in one object")]
    DuplicateKey(String),
    #[error("it nests too deep")]
    TooDeep,
    #[error("the value is followed by further text")]
    Trailing,
    #[error("it is not JSON from line {line}, column {column} on")]
    NotJson { line: usize, column: usize },
}

/// The one value of a text, in which objects and lists stand at most `max_depth` levels deep.
pub fn read(text: &str, max_depth: usize) -> Result<Value, JsonFault> {
    let fault = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    match (Node { levels_left: max_depth, fault: &fault }).deserialize(&mut reader) {
        Ok(value) => reader.end().map(|()| value).map_err(|_| JsonFault::Trailing),
        Err(error) => Err(fault
            .take()
            .unwrap_or(JsonFault::NotJson { line: error.line(), column: error.column() })),
    }
}

struct Node<'a> {
    levels_left: usize,
    /// What was wrong, where the reader's own message would not tell.
    fault: &'a RefCell<Option<JsonFault>>,
}

impl<'a> Node<'a> {
    fn below<E: Error>(&self) -> Result<usize, E> {
        self.levels_left.checked_sub(1).ok_or_else(|| self.refuse(JsonFault::TooDeep))
    }

    fn at(&self, levels_left: usize) -> Node<'a> {
        Node { levels_left, fault: self.fault }
    }

    fn refuse<E: Error>(&self, fault: JsonFault) -> E {
        let refusal = E::custom(&fault);
        self.fault.replace(Some(fault));
        refusal
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
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
        let below = self.below()?;
        let mut items = Vec::new();
        while let Some(item) = input.next_element_seed(self.at(below))? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut input: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut map = Map::new();
        while let Some(key) = input.next_key::<String>()? {
            match map.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(input.next_value_seed(self.at(below))?);
                }
                Entry::Occupied(there) => {
                    return Err(self.refuse(JsonFault::DuplicateKey(there.key().clone())));
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
    fn faults() {
        let duplicate = |key: &str| Err(JsonFault::DuplicateKey(key.into()));
        for (text, fault) in [
            (r#"{"a":1,"a":1}"#, duplicate("a")),
            (r#"[{"a":{"b":1,"c":2,"b":3}}]"#, duplicate("b")),
            ("{\"\\u0061\":1,\"a\":2}", duplicate("a")),
            ("[[[[]]]]", Err(JsonFault::TooDeep)),
            (r#"[[[{}]]]"#, Err(JsonFault::TooDeep)),
            ("1 2", Err(JsonFault::Trailing)),
            ("[1,\n}", Err(JsonFault::NotJson { line: 2, column: 1 })),
        ] {
            assert_eq!(read(text, 3), fault, "{text}");
        }
        assert_eq!(read("[[[1]]]", 3), Ok(serde_json::json!([[[1]]])));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_what_is_read_is_what_serde_reads(text in "\\PC{0,60}|[\\[\\]{}\",:a0 ]{0,40}") {
            if let Ok(value) = read(&text, 64) {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}

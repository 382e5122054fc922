//! Exactly one JSON object and nothing else: the form of all that a model may answer.
//!
//! A reader that is generous here is how attacks get in: prose around the object, a second object, a key that stands
//! twice. So this one takes the object alone, bounded in size and depth, with white space around it at most.

use contract::json::{self, JsonFault};
use contract::text::one_line;
use serde_json::{Map, Value};

/// Ten times what a plan or a summary needs.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// Deeper than the arguments of any tool we have met.
pub(crate) const MAX_DEPTH: usize = 24;
/// Of names that come from outside, messages repeat this much.
const MAX_NAME: usize = 64;

/// Why a text is not one JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("the text is empty")]
    Empty,
    #[error("the text has {size} bytes, over the limit of {MAX_BYTES}")]
    TooLarge { size: usize },
    #[error("the object stands in a code fence")]
    Fenced,
    #[error("the text is a list, not one object")]
    List,
    #[error("the text does not begin with an object")]
    Prose,
    #[error("the object is followed by further text")]
    Trailing,
    #[error("the key `{0}` stands twice in one object")]
    DuplicateKey(String),
    #[error("the object nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("the text is not JSON from line {line}, column {column} on")]
    NotJson { line: usize, column: usize },
}

/// Reads the one object of a text.
pub(crate) fn one_object(text: &str) -> Result<Map<String, Value>, JsonError> {
    if text.len() > MAX_BYTES {
        return Err(JsonError::TooLarge { size: text.len() });
    }
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    match text.bytes().next() {
        None => return Err(JsonError::Empty),
        Some(b'{') => {}
        Some(b'[') => return Err(JsonError::List),
        Some(b'`') => return Err(JsonError::Fenced),
        Some(_) => return Err(JsonError::Prose),
    }
    match json::read(text, MAX_DEPTH) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(JsonError::Prose),
        Err(fault) => Err(fault.into()),
    }
}

impl From<JsonFault> for JsonError {
    fn from(fault: JsonFault) -> Self {
        match fault {
            JsonFault::DuplicateKey(key) => Self::DuplicateKey(short(&key)),
            JsonFault::TooDeep => Self::TooDeep,
            JsonFault::Trailing => Self::Trailing,
            JsonFault::NotJson { line, column } => Self::NotJson { line, column },
        }
    }
}

/// A name from outside, short and on one line.
pub(crate) fn short(name: &str) -> String {
    shortened(name, MAX_NAME)
}

/// The beginning of a text from outside, on one line.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let mut cut: String = text.chars().take(limit).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    one_line(&cut)
}

/// The first hidden character in any key or text of a value, with the name it is in.
pub(crate) fn hidden_in(value: &Value) -> Option<char> {
    let hidden = |text: &str| text.chars().find(|c| contract::text::is_hidden(*c));
    match value {
        Value::String(text) => hidden(text),
        Value::Array(items) => items.iter().find_map(hidden_in),
        Value::Object(map) => {
            map.iter().find_map(|(key, value)| hidden(key).or_else(|| hidden_in(value)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// One step of a JSON pointer.
pub(crate) fn token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn refusal(text: &str) -> String {
        one_object(text).unwrap_err().to_string()
    }

    #[test]
    fn one_object_may_stand_between_blanks() {
        let read = one_object(" \r\n\t{\"a\": [1, 2.5, null, true, {\"b\": \"\\u00e9\"}]}\n");
        assert_eq!(Value::Object(read.unwrap()), json!({"a": [1, 2.5, null, true, {"b": "é"}]}));
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(40), "]".repeat(40));
        let huge = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_BYTES));
        let texts = [
            "",
            " \n",
            "Sure! {\"a\":1}",
            "{\"a\":1} Done.",
            "{\"a\":1}{\"b\":2}",
            "{\"a\":1},{\"b\":2}",
            "[{\"a\":1}]",
            "```json\n{\"a\":1}\n```",
            "{\"a\":1,\"a\":2}",
            "{\"a\":{\"b\":1,\"b\":1}}",
            "{\"a\":1",
            "{'a':1}",
            "{\"a\":1,}",
            "{a:1}",
            "\"{}\"",
            "null",
            "{\"a\":1e999}",
            "\u{feff}{}",
            "{\"a\\u200b\":1,\"a\\u200b\":2}",
            "{\"a\":\"\u{1}\"}",
            &deep,
            &huge,
        ];
        let table: Vec<String> = texts
            .iter()
            .map(|text| format!("{:<34} {}", shortened(text, 30), refusal(text)))
            .collect();
        insta::assert_snapshot!(table.join("\n"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_what_is_read_is_what_serde_reads(text in "\\PC{0,60}|[\\[\\]{}\",:a0 ]{0,40}") {
            if let Ok(map) = one_object(&text) {
                let again: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(Value::Object(map), again);
            }
        }
    }
}

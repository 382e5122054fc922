//! Strict parsing of model output: exactly one JSON object.
//!
//! A lenient parser would let attacks in: prose around the object, a second object, or a duplicate key. This one
//! accepts a single object of bounded size and depth, surrounded by white space at most.

use contract::json::{self, StrictJsonError};
use contract::text::one_line;
use serde_json::{Map, Value};

/// Maximum size of a text in bytes, ten times the size of a typical plan or summary.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// Maximum nesting, deeper than the arguments of any known tool.
pub(crate) const MAX_DEPTH: usize = 24;
/// Maximum characters of an untrusted name in a message.
const MAX_NAME: usize = 64;

/// The reason why a text is not exactly one JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("the text is empty")]
    Empty,
    #[error("the text has {size} bytes, over the limit of {MAX_BYTES}")]
    TooLarge { size: usize },
    #[error("the object is inside a code fence")]
    CodeFence,
    #[error("expected one object, found a list")]
    List,
    #[error("the text does not begin with an object")]
    NotAnObject,
    #[error("the object is followed by further text")]
    TrailingText,
    #[error("duplicate key `{0}` in an object")]
    DuplicateKey(String),
    #[error("the object nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("invalid JSON at line {line}, column {column}")]
    InvalidJson { line: usize, column: usize },
}

/// Parses a text that is exactly one JSON object.
pub(crate) fn parse_single_object(text: &str) -> Result<Map<String, Value>, JsonError> {
    if text.len() > MAX_BYTES {
        return Err(JsonError::TooLarge { size: text.len() });
    }
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    match text.bytes().next() {
        None => return Err(JsonError::Empty),
        Some(b'{') => {}
        Some(b'[') => return Err(JsonError::List),
        Some(b'`') => return Err(JsonError::CodeFence),
        Some(_) => return Err(JsonError::NotAnObject),
    }
    match json::parse_strict_json(text, MAX_DEPTH) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(JsonError::NotAnObject),
        Err(fault) => Err(fault.into()),
    }
}

impl From<StrictJsonError> for JsonError {
    fn from(fault: StrictJsonError) -> Self {
        match fault {
            StrictJsonError::DuplicateKey(key) => Self::DuplicateKey(shorten_name(&key)),
            StrictJsonError::TooDeep => Self::TooDeep,
            StrictJsonError::TrailingText => Self::TrailingText,
            StrictJsonError::InvalidJson { line, column } => Self::InvalidJson { line, column },
        }
    }
}

/// Shortens an untrusted name and puts it on one line.
pub(crate) fn shorten_name(name: &str) -> String {
    shorten_text(name, MAX_NAME)
}

/// Returns the beginning of an untrusted text, on one line.
pub(crate) fn shorten_text(text: &str, limit: usize) -> String {
    let mut cut: String = text.chars().take(limit).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    one_line(&cut)
}

/// Returns the first hidden character in any key or string of a value.
pub(crate) fn find_hidden_character(value: &Value) -> Option<char> {
    let hidden = |text: &str| text.chars().find(|c| contract::text::is_hidden(*c));
    match value {
        Value::String(text) => hidden(text),
        Value::Array(items) => items.iter().find_map(find_hidden_character),
        Value::Object(map) => {
            map.iter().find_map(|(key, value)| hidden(key).or_else(|| find_hidden_character(value)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Escapes a name for use in a JSON pointer.
pub(crate) fn escape_pointer_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn error_message(text: &str) -> String {
        parse_single_object(text).unwrap_err().to_string()
    }

    #[test]
    fn accepts_one_object_between_white_space() {
        let parsed =
            parse_single_object(" \r\n\t{\"a\": [1, 2.5, null, true, {\"b\": \"\\u00e9\"}]}\n");
        assert_eq!(Value::Object(parsed.unwrap()), json!({"a": [1, 2.5, null, true, {"b": "é"}]}));
    }

    #[test]
    fn rejects_everything_else_with_a_reason() {
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
            .map(|text| format!("{:<34} {}", shorten_text(text, 30), error_message(text)))
            .collect();
        insta::assert_snapshot!(table.join("\n"));
    }

    proptest! {
        #[test]
        fn any_text_parses_like_serde_json_or_fails(text in "\\PC{0,60}|[\\[\\]{}\",:a0 ]{0,40}") {
            if let Ok(map) = parse_single_object(&text) {
                let expected: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(Value::Object(map), expected);
            }
        }
    }
}

//! The JSON pointer of a deserialization error.
//!
//! `serde_json` reports lines and columns, not pointers. The value is therefore written with every property and element
//! on its own line, and the line of the error is mapped back to a pointer.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::json::{escape_pointer_token, shorten_text};

/// Maximum characters of a reason; field names can be long.
const MAX_REASON: usize = 200;

/// Returns the pointer to the first value that does not match the type, and the reason.
pub(super) fn locate_mismatch<T: DeserializeOwned>(value: &Value) -> (String, String) {
    match serde_json::from_str::<T>(&LineMappedJson::from_value(value, None).text) {
        Ok(_) => (String::new(), "it cannot be parsed".to_owned()),
        Err(error) => {
            // Written a second time to find the pointer: storing one per line would take far more memory.
            let found = LineMappedJson::from_value(value, Some(error.line())).found;
            (found.unwrap_or_default(), describe_mismatch(&error.to_string()))
        }
    }
}

/// Returns what was expected, without the value that was found and without the line and column.
fn describe_mismatch(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or_default();
    let names = ["missing field", "unknown field", "duplicate field", "invalid length"];
    if names.iter().any(|name| message.starts_with(name)) {
        return shorten_text(message, MAX_REASON);
    }
    match message.split_once(", expected ") {
        Some((_, expected)) => shorten_text(&format!("expected {expected}"), MAX_REASON),
        None => "it cannot be parsed".to_owned(),
    }
}

/// JSON text with one property or element per line, and the pointer of one of these lines.
struct LineMappedJson {
    text: String,
    line: usize,
    /// The line whose pointer is searched.
    wanted: Option<usize>,
    /// The pointer of that line.
    found: Option<String>,
}

impl LineMappedJson {
    fn from_value(value: &Value, wanted: Option<usize>) -> Self {
        let mut page = Self { text: String::new(), line: 1, wanted, found: None };
        page.write_value(value, &mut String::new());
        page
    }

    fn start_line(&mut self, path: &str) {
        self.text.push('\n');
        self.line += 1;
        if self.wanted == Some(self.line) {
            self.found = Some(path.to_owned());
        }
    }

    fn write_value(&mut self, value: &Value, path: &mut String) {
        match value {
            Value::Object(map) => {
                self.text.push('{');
                for (index, (name, value)) in map.iter().enumerate() {
                    let key = format!("{}:", Value::from(name.as_str()));
                    self.write_child(index, &escape_pointer_token(name), &key, value, path);
                }
                self.start_line(path);
                self.text.push('}');
            }
            Value::Array(items) => {
                self.text.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.write_child(index, &index.to_string(), "", item, path);
                }
                self.start_line(path);
                self.text.push(']');
            }
            // Writes `7.0` as the integer `7`.
            scalar => self.text.push_str(&contract::canonical_json(scalar)),
        }
    }

    /// Writes a property or an element on its own line.
    fn write_child(
        &mut self,
        index: usize,
        step: &str,
        key: &str,
        value: &Value,
        path: &mut String,
    ) {
        let length = path.len();
        if index > 0 {
            self.text.push(',');
        }
        path.push('/');
        path.push_str(step);
        self.start_line(path);
        self.text.push_str(key);
        self.write_value(value, path);
        path.truncate(length);
    }
}

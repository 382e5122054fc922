//! Where in a value a type stumbled: the JSON pointer behind a reader's error.
//!
//! A reader knows lines and columns, not pointers. So the value is written with every name and element on a line of its
//! own, and the line of the error is looked up.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::json::{shortened, token};

/// Names of fields may be long.
const MAX_REASON: usize = 200;

/// The pointer and the reason of the first place that does not fit the type.
pub(super) fn fault<T: DeserializeOwned>(value: &Value) -> (String, String) {
    match serde_json::from_str::<T>(&Page::of(value, None).text) {
        Ok(_) => (String::new(), "it cannot be read".to_owned()),
        Err(error) => {
            // Written once more for its pointer: to keep one for each line would cost far more than the answer.
            let found = Page::of(value, Some(error.line())).found;
            (found.unwrap_or_default(), reason(&error.to_string()))
        }
    }
}

/// What was expected, without what was found: that is a value of the answer. The line and column are those of our page.
fn reason(said: &str) -> String {
    let said = said.split(" at line ").next().unwrap_or_default();
    let names = ["missing field", "unknown field", "duplicate field", "invalid length"];
    if names.iter().any(|name| said.starts_with(name)) {
        return shortened(said, MAX_REASON);
    }
    match said.split_once(", expected ") {
        Some((_, expected)) => shortened(&format!("expected {expected}"), MAX_REASON),
        None => "it cannot be read".to_owned(),
    }
}

struct Page {
    text: String,
    line: usize,
    /// The line whose pointer is looked for, and the pointer.
    wanted: Option<usize>,
    found: Option<String>,
}

impl Page {
    fn of(value: &Value, wanted: Option<usize>) -> Self {
        let mut page = Self { text: String::new(), line: 1, wanted, found: None };
        page.write(value, &mut String::new());
        page
    }

    fn line(&mut self, path: &str) {
        self.text.push('\n');
        self.line += 1;
        if self.wanted == Some(self.line) {
            self.found = Some(path.to_owned());
        }
    }

    fn write(&mut self, value: &Value, path: &mut String) {
        match value {
            Value::Object(map) => {
                self.text.push('{');
                for (index, (name, value)) in map.iter().enumerate() {
                    let key = format!("{}:", Value::from(name.as_str()));
                    self.below(index, &token(name), &key, value, path);
                }
                self.line(path);
                self.text.push('}');
            }
            Value::Array(items) => {
                self.text.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.below(index, &index.to_string(), "", item, path);
                }
                self.line(path);
                self.text.push(']');
            }
            // Writes `7.0` as the integer that it is.
            scalar => self.text.push_str(&contract::canonical_json(scalar)),
        }
    }

    /// A name or an element, on a line of its own.
    fn below(&mut self, index: usize, step: &str, key: &str, value: &Value, path: &mut String) {
        let length = path.len();
        if index > 0 {
            self.text.push(',');
        }
        path.push('/');
        path.push_str(step);
        self.line(path);
        self.text.push_str(key);
        self.write(value, path);
        path.truncate(length);
    }
}

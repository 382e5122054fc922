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
    let mut page = Page { text: String::new(), lines: vec![String::new()] };
    page.write(value, "");
    match serde_json::from_str::<T>(&page.text) {
        Ok(_) => (String::new(), "it cannot be read".to_owned()),
        Err(error) => {
            let path = page.lines.get(error.line().saturating_sub(1)).cloned().unwrap_or_default();
            (path, reason(&error.to_string()))
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
    /// The pointer of each line.
    lines: Vec<String>,
}

impl Page {
    fn line(&mut self, path: &str) {
        self.text.push('\n');
        self.lines.push(path.to_owned());
    }

    fn write(&mut self, value: &Value, path: &str) {
        match value {
            Value::Object(map) => {
                self.text.push('{');
                for (index, (name, value)) in map.iter().enumerate() {
                    if index > 0 {
                        self.text.push(',');
                    }
                    let path = format!("{path}/{}", token(name));
                    self.line(&path);
                    self.text.push_str(&Value::from(name.as_str()).to_string());
                    self.text.push(':');
                    self.write(value, &path);
                }
                self.line(path);
                self.text.push('}');
            }
            Value::Array(items) => {
                self.text.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.text.push(',');
                    }
                    let path = format!("{path}/{index}");
                    self.line(&path);
                    self.write(item, &path);
                }
                self.line(path);
                self.text.push(']');
            }
            // Writes `7.0` as the integer that it is.
            scalar => self.text.push_str(&contract::canonical_json(scalar)),
        }
    }
}

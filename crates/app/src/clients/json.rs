//! Inserts one entry into a JSON file and leaves every other byte unchanged.
//!
//! Serializing the parsed values again would lose layout, number formats and duplicate keys. The spans of the objects
//! are known, so the entry is spliced into the text.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

use super::MergeError;

type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Returns the text with `entry` as `name` under `key`, or `None` if it already has it. Empty text counts as `{}`.
pub fn insert_entry(
    text: &str,
    key: &str,
    name: &str,
    entry: &Value,
) -> Result<Option<String>, MergeError> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let style = JsonStyle::detect(text);
    let top: Members<'_> = serde_json::from_str(text).map_err(MergeError::Json)?;
    let Some(servers) = top.get(key) else {
        let start = text.len() - text.trim_start().len();
        let object = start..text.trim_end().len();
        let servers = serde_json::json!({ name: entry });
        return Ok(Some(style.add_member(text, object, 1, key, &servers)));
    };
    let object = slice_span(text, servers.get());
    let not_object = |_| MergeError::Object(key.to_owned());
    let members: Members<'_> = serde_json::from_str(servers.get()).map_err(not_object)?;
    let Some(old) = members.get(name) else {
        return Ok(Some(style.add_member(text, object, 2, name, entry)));
    };
    if serde_json::from_str::<Value>(old.get()).is_ok_and(|old| old == *entry) {
        return Ok(None);
    }
    let place = slice_span(text, old.get());
    let entry = style.render_value(entry, 2);
    Ok(Some(format!("{}{entry}{}", &text[..place.start], &text[place.end..])))
}

/// Returns the byte range of `piece`, a slice of `text`.
fn slice_span(text: &str, piece: &str) -> Range<usize> {
    let start = piece.as_ptr().addr() - text.as_ptr().addr();
    start..start + piece.len()
}

/// The indentation and line ending of a JSON file.
struct JsonStyle {
    indent: String,
    newline: &'static str,
}

impl JsonStyle {
    fn detect(text: &str) -> Self {
        let blank = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
        let indented = text.lines().find(|line| blank(line) > 0 && !line.trim().is_empty());
        let indent = indented.map_or("  ", |line| &line[..blank(line)]);
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { indent: indent.to_owned(), newline }
    }

    /// Adds a member after the last one of the object at this span. `depth` is the nesting depth of its members.
    fn add_member(
        &self,
        text: &str,
        object: Range<usize>,
        depth: usize,
        name: &str,
        value: &Value,
    ) -> String {
        let (open, close) = (object.start + 1, object.end - 1);
        let members = text[open..close].trim_end();
        let comma = if members.is_empty() { "" } else { "," };
        let (head, tail) = (&text[..open + members.len()], &text[close..]);
        let (line, inner) = (self.newline, self.indent.repeat(depth));
        let outer = self.indent.repeat(depth - 1);
        let (name, value) = (Value::from(name), self.render_value(value, depth));
        format!("{head}{comma}{line}{inner}{name}: {value}{line}{outer}{tail}")
    }

    fn render_value(&self, value: &Value, depth: usize) -> String {
        let pretty = format!("{value:#}");
        let mut out = String::new();
        for (index, line) in pretty.lines().enumerate() {
            // serde_json indents with two spaces.
            let rest = line.trim_start_matches("  ");
            let levels = (line.len() - rest.len()) / 2;
            if index > 0 {
                out.push_str(self.newline);
                out.push_str(&self.indent.repeat(depth + levels));
            }
            out.push_str(rest);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(text: &str) -> String {
        let entry = json!({"command": "vouch", "args": ["serve", "--stdio"]});
        let merged = insert_entry(text, "mcpServers", "vouch", &entry).unwrap().unwrap();
        assert_eq!(insert_entry(&merged, "mcpServers", "vouch", &entry).unwrap(), None, "{merged}");
        merged
    }

    #[test]
    fn inserts_into_empty_file() {
        insta::assert_snapshot!(check(""), @r#"
        {
          "mcpServers": {
            "vouch": {
              "command": "vouch",
              "args": [
                "serve",
                "--stdio"
              ]
            }
          }
        }
        "#);
    }

    #[test]
    fn keeps_existing_layout_and_entries() {
        let text = "{\n\t\"x\": 1.0e2,  \"y\":[ 1,2 ],\n\t\"mcpServers\": {\n\t\t\"other\": {\"a\":1}\n\t},\n\t\"z\": {}\n}\n";
        insta::assert_snapshot!(check(text), @r#"
        {
        	"x": 1.0e2,  "y":[ 1,2 ],
        	"mcpServers": {
        		"other": {"a":1},
        		"vouch": {
        			"command": "vouch",
        			"args": [
        				"serve",
        				"--stdio"
        			]
        		}
        	},
        	"z": {}
        }
        "#);
    }

    #[test]
    fn replaces_existing_entry() {
        let text = r#"{"mcpServers": {"vouch": {"url": "http://x"}, "b": {}}}"#;
        insta::assert_snapshot!(check(text), @r#"
        {"mcpServers": {"vouch": {
              "command": "vouch",
              "args": [
                "serve",
                "--stdio"
              ]
            }, "b": {}}}
        "#);
    }

    #[test]
    fn rejects_invalid_json() {
        for text in ["{ // hm\n}", "[1]", "{\"mcpServers\": 3}", "{,}", "{} {}"] {
            assert!(insert_entry(text, "mcpServers", "vouch", &json!({})).is_err(), "{text}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-zA-Z{}\",]{0,5}|mcpServers|vouch", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn changes_nothing_but_the_entry(value in any_json(), pretty in any::<bool>()) {
            let text = if pretty { format!("{value:#}") } else { value.to_string() };
            let entry = json!({"url": "http://x", "args": []});
            if let Ok(Some(merged)) = insert_entry(&text, "mcpServers", "vouch", &entry) {
                let mut expected = value.clone();
                expected["mcpServers"]["vouch"] = entry;
                prop_assert_eq!(serde_json::from_str::<Value>(&merged).unwrap(), expected);
            } else {
                let servers = value.get("mcpServers");
                prop_assert!(!value.is_object() || servers.is_some_and(|servers| !servers.is_object()));
            }
        }
    }
}

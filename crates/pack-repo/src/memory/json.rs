//! Compacts one JSON value to one line. Key order, duplicate keys and the digits of numbers are preserved: the text
//! is kept, and only whitespace between tokens is removed. Reserializing would lose them.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Maximum nesting depth, which is also the limit of `serde_json`: a deeper value could be written but not read
/// back.
const MAX_DEPTH: usize = 128;

/// Position and reason at which a text is not one JSON value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EntryJsonError {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) reason: String,
}

pub(super) fn compact_to_line(text: &str) -> Result<String, EntryJsonError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    IgnoredAny::deserialize(&mut reader)
        .and_then(|IgnoredAny {}| reader.end())
        .map_err(|error| to_syntax_error(&error))?;
    strip_whitespace(text)
}

fn to_syntax_error(error: &serde_json::Error) -> EntryJsonError {
    let message = error.to_string();
    let reason = message.split(" at line ").next().unwrap_or_default();
    let reason = match reason {
        "trailing characters" => "trailing text after the value",
        "expected ident" => "expected value",
        cut if cut.starts_with("EOF while") => "unexpected end of input",
        other => other,
    };
    EntryJsonError { line: error.line(), column: error.column(), reason: reason.to_owned() }
}

/// Removes whitespace outside strings. `text` must be valid JSON, so that a quote outside a string opens one.
fn strip_whitespace(text: &str) -> Result<String, EntryJsonError> {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0;
    let mut string_start = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if let Some(start) = string_start {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    string_start = None;
                    check_decodable(text, start, at)?;
                }
                _ => {}
            }
            out.push(c);
            continue;
        }
        match c {
            ' ' | '\n' | '\r' | '\t' => continue,
            '"' => string_start = Some(at),
            '[' | '{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    let reason = format!("value nests deeper than {MAX_DEPTH} levels");
                    return Err(error_at(text, at, reason));
                }
            }
            ']' | '}' => depth -= 1,
            _ => {}
        }
        out.push(c);
    }
    Ok(out)
}

/// Checks that a string decodes. A lone surrogate such as `\ud800` is valid grammar, but most readers reject the
/// whole line for it.
fn check_decodable(text: &str, start: usize, end: usize) -> Result<(), EntryJsonError> {
    serde_json::from_str::<String>(&text[start..=end])
        .map(drop)
        .map_err(|_| error_at(text, start, "string contains a lone surrogate".to_owned()))
}

fn error_at(text: &str, at: usize, reason: String) -> EntryJsonError {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    EntryJsonError { line: 1 + before.matches('\n').count(), column: at - line_start + 1, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn removes_only_whitespace_between_tokens() {
        for (text, expected) in [
            (" {\n\t\"b\" : 1 ,\r\n \"a\" : [ ] } ", r#"{"b":1,"a":[]}"#),
            (r#"{"a": 1, "a": 2}"#, r#"{"a":1,"a":2}"#),
            ("123456789012345678901234567890.10", "123456789012345678901234567890.10"),
            ("[1e999, -0.0, 1E+2]", "[1e999,-0.0,1E+2]"),
            (r#"" a \" b \\" "#, r#"" a \" b \\""#),
            ("\"\u{2028} é\"", "\"\u{2028} é\""),
            ("null", "null"),
        ] {
            assert_eq!(compact_to_line(text).unwrap(), expected);
        }
    }

    #[test]
    fn errors_report_position_and_reason() {
        let errors: Vec<_> = [
            "",
            "{\"a\": 1,\n \"b\" }",
            "{} {}",
            "1\n2",
            "nul",
            "{\"a\": \"x\ny\"}",
            "{'a': 1}",
            r#"{"a": "\ud800"}"#,
            "{\"a\":\n\"\\x\"}",
            "[1,]",
            "NaN",
            "\u{feff}{}",
            &"[".repeat(5_000),
            &format!("{}{}", "[".repeat(129), "]".repeat(129)),
        ]
        .iter()
        .map(|text| {
            let EntryJsonError { line, column, reason } = compact_to_line(text).unwrap_err();
            let start: String = text.chars().take(20).collect();
            format!("{start:?} -> {line}:{column} {reason}")
        })
        .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((".*", inner), 0..5)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn compacted_line_equals_the_value(value in values()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(compact_to_line(&pretty).unwrap(), value.to_string());
        }

        #[test]
        fn any_text_is_rejected_or_becomes_one_line(text in "[\\[\\]{}\",:\\\\ \n\tu0-9a-fe.\\-]*|.*") {
            if let Ok(line) = compact_to_line(&text) {
                prop_assert!(!line.contains(['\n', '\r']));
            }
        }
    }
}

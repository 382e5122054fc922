//! One JSON value on one line, otherwise as it was given: key order, duplicate keys and the digits of numbers stay,
//! because the text is kept and only the white space between tokens goes. Re-serialising would lose them.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What common readers take (`serde_json` stops there too): a deeper value could be written but not read.
const MAX_DEPTH: usize = 128;

/// Where and why a text is not one JSON value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JsonError {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) reason: String,
}

pub(super) fn on_one_line(text: &str) -> Result<String, JsonError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    IgnoredAny::deserialize(&mut reader)
        .and_then(|IgnoredAny {}| reader.end())
        .map_err(|error| syntax(&error))?;
    compact(text)
}

fn syntax(error: &serde_json::Error) -> JsonError {
    let message = error.to_string();
    let reason = message.split(" at line ").next().unwrap_or_default();
    let reason = match reason {
        "trailing characters" => "more text follows the value",
        "expected ident" => "expected value",
        cut if cut.starts_with("EOF while") => "the text ends inside the value",
        other => other,
    };
    JsonError { line: error.line(), column: error.column(), reason: reason.to_owned() }
}

/// `text` is valid JSON here, so a quote outside a string opens one, and white space outside goes.
fn compact(text: &str) -> Result<String, JsonError> {
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
                    decodable(text, start, at)?;
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
                    let reason = format!("it nests deeper than {MAX_DEPTH} levels");
                    return Err(at_position(text, at, reason));
                }
            }
            ']' | '}' => depth -= 1,
            _ => {}
        }
        out.push(c);
    }
    Ok(out)
}

/// Half of a surrogate pair (`\ud800` alone) is grammatical, but most readers refuse the whole line for it.
fn decodable(text: &str, start: usize, end: usize) -> Result<(), JsonError> {
    serde_json::from_str::<String>(&text[start..=end])
        .map(drop)
        .map_err(|_| at_position(text, start, "a string holds half of a surrogate pair".to_owned()))
}

fn at_position(text: &str, at: usize, reason: String) -> JsonError {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    JsonError { line: 1 + before.matches('\n').count(), column: at - line_start + 1, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn only_white_space_between_tokens_goes() {
        for (text, expected) in [
            (" {\n\t\"b\" : 1 ,\r\n \"a\" : [ ] } ", r#"{"b":1,"a":[]}"#),
            (r#"{"a": 1, "a": 2}"#, r#"{"a":1,"a":2}"#),
            ("123456789012345678901234567890.10", "123456789012345678901234567890.10"),
            ("[1e999, -0.0, 1E+2]", "[1e999,-0.0,1E+2]"),
            (r#"" a \" b \\" "#, r#"" a \" b \\""#),
            ("\"\u{2028} é\"", "\"\u{2028} é\""),
            ("null", "null"),
        ] {
            assert_eq!(on_one_line(text).unwrap(), expected);
        }
    }

    #[test]
    fn errors_say_where_and_why() {
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
            let JsonError { line, column, reason } = on_one_line(text).unwrap_err();
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
        fn one_line_equals_the_value(value in values()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(on_one_line(&pretty).unwrap(), value.to_string());
        }

        #[test]
        fn any_text_is_refused_or_becomes_one_line(text in "[\\[\\]{}\",:\\\\ \n\tu0-9a-fe.\\-]*|.*") {
            if let Ok(line) = on_one_line(&text) {
                prop_assert!(!line.contains(['\n', '\r']));
            }
        }
    }
}

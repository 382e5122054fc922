//! Makes untrusted text safe to display: control, invisible and bidirectional characters become visible escapes.
//!
//! Used wherever text from a tool, a file or an untrusted contract reaches a terminal, a page or an approval prompt.

use std::fmt::Write;

use serde_json::Value;

/// Returns true for a hidden character: one that a reader cannot see, or that changes how its neighbors are displayed.
pub fn is_hidden(c: char) -> bool {
    is_invisible(c) || is_bidirectional(c) || (c.is_control() && c != '\n' && c != '\t')
}

/// Returns true for zero-width, filler, variation and tag characters, which can carry text that no reader sees.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}' | '\u{2029}'
        | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Returns true for bidirectional marks and overrides, which reorder the text around them.
pub fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns the text with every hidden character as a visible escape; line breaks and tabs stay.
pub fn escape_hidden(text: &str) -> String {
    escape_where(text, is_hidden)
}

/// Returns the text on one line: line breaks and tabs are escaped too.
pub fn one_line(text: &str) -> String {
    escape_where(text, |c| is_hidden(c) || c == '\n' || c == '\t')
}

/// Returns an error and its causes, joined by colons. Hidden characters are not escaped; see [`one_line`].
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Returns the first `limit` characters on one line, followed by an ellipsis if there are more.
pub fn shorten_line(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => one_line(&text[..end]) + "…",
        None => one_line(text),
    }
}

/// Returns pretty-printed JSON with hidden characters as JSON escapes. It parses to the same value and can be reviewed in
/// a terminal or in the diff of a committed file.
pub fn to_visible_json(value: &Value) -> String {
    let pretty = format!("{value:#}");
    let mut out = String::with_capacity(pretty.len() + 1);
    for c in pretty.chars() {
        // Hidden characters occur inside strings only; between tokens there are spaces and line breaks.
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}").expect("writing to a string never fails");
            }
        } else {
            out.push(c);
        }
    }
    out.push('\n');
    out
}

fn escape_where(text: &str, hide: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !hide(c) => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => {
                write!(out, "\\u{{{:x}}}", u32::from(c)).expect("writing to a string never fails");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Value, error_chain, escape_hidden, is_hidden, one_line, shorten_line};
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn hidden_characters_become_visible_escapes() {
        assert_eq!(escape_hidden("a\u{1b}[31mb\r\n\tc"), "a\\u{1b}[31mb\\r\n\tc");
        assert_eq!(one_line("a\n\u{202e}b\u{e0041}"), "a\\n\\u{202e}b\\u{e0041}");
    }

    #[test]
    fn long_texts_end_with_an_ellipsis() {
        let shown = [0, 2, 3, 4].map(|limit| shorten_line("aé\n", limit));
        assert_eq!(shown, ["…", "aé…", "aé\\n", "aé\\n"]);
    }

    #[test]
    fn error_chain_names_every_cause() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("inner"));
        assert_eq!(error_chain(&error), "outer: inner");
        assert_eq!(error_chain(&error.0), "inner");
    }

    #[test]
    fn json_escapes_hidden_characters() {
        let value = json!({"a\u{200b}": "\u{202e}\u{e0041}é\n"});
        let text = super::to_visible_json(&value);
        assert_eq!(text, "{\n  \"a\\u200b\": \"\\u202e\\udb40\\udc41é\\n\"\n}\n");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_hidden_characters(text in "\\PC*|.*") {
            prop_assert!(!escape_hidden(&text).chars().any(is_hidden));
            prop_assert!(!one_line(&text).contains('\n'));
        }
    }
}

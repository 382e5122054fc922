//! Untrusted text made safe to look at: control, invisible and bidirectional characters become visible escapes.
//!
//! Used wherever text from a tool, a file or a stranger's contract reaches a terminal, a page or a person's decision.

use std::fmt::Write;

/// A character that a reader cannot see or that changes how its neighbours are shown.
pub fn is_hidden(c: char) -> bool {
    is_invisible(c) || is_bidirectional(c) || (c.is_control() && c != '\n' && c != '\t')
}

/// Zero-width, filler, variation and tag characters: they carry text that no reader sees.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}' | '\u{2029}'
        | '\u{2060}'..='\u{2065}' | '\u{206A}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Marks and overrides that reorder the text around them.
pub fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The text with every hidden character as a visible escape; line breaks and tabs stay.
pub fn visible(text: &str) -> String {
    escape(text, is_hidden)
}

/// The text on one line: line breaks and tabs are escaped too.
pub fn one_line(text: &str) -> String {
    escape(text, |c| is_hidden(c) || c == '\n' || c == '\t')
}

fn escape(text: &str, hide: impl Fn(char) -> bool) -> String {
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
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hidden_characters_show() {
        assert_eq!(visible("a\u{1b}[31mb\r\n\tc"), "a\\u{1b}[31mb\\r\n\tc");
        assert_eq!(one_line("a\n\u{202e}b\u{e0041}"), "a\\n\\u{202e}b\\u{e0041}");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in "\\PC*|.*") {
            prop_assert!(!visible(&text).chars().any(is_hidden));
            prop_assert!(!one_line(&text).contains('\n'));
        }
    }
}

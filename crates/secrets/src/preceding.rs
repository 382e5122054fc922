//! Judges the text before a value or a token: the name that it is assigned to, the name of a header, a code that ends in a
//! letter or digit.

use std::ops::Range;

/// Maximum length of the parameters of a terminal code.
const MAX_CODE_BYTES: usize = 32;

/// Spellings of the escape character in output, scripts and logs.
const ESCAPE_SPELLINGS: [&str; 7] = ["\u{1b}", "^[", "\\e", "\\E", "\\033", "\\x1b", "\\u001b"];

/// Returns the end of the name that is followed by an assignment sign at `at`: without spaces and quotes.
pub(crate) fn find_name_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let is_gap = |byte: u8| matches!(byte, b'"' | b'\'' | b'`' | b' ' | b'\t'..=b'\r');
    let mut end = at;
    loop {
        while end > 0 && is_gap(bytes[end - 1]) {
            end -= 1;
        }
        if end == 0 || bytes[end - 1].is_ascii() {
            return end;
        }
        let trimmed = text[..end].trim_end().len();
        if trimmed == end {
            return end;
        }
        end = trimmed;
    }
}

/// Returns false if no name of a secret ends there. Only a few letters are compared.
pub(crate) fn may_end_secret_name(name: &[u8]) -> bool {
    let [.., third, second, last] = name else { return false };
    match [third.to_ascii_lowercase(), second.to_ascii_lowercase(), last.to_ascii_lowercase()] {
        // Password, passwd, pwd, private_key_id, passphrase, secret, token, and all that end in "key".
        [b'o', b'r', b'd']
        | [b's' | b'p', b'w', b'd']
        | [b'_', b'i', b'd']
        | [b'a', b's', b'e']
        | [b'r', b'e', b't']
        | [b'k', b'e', b'n' | b'y'] => true,
        // The Kelvin sign is a "k" without case.
        [third, b'e', b'y'] => !third.is_ascii(),
        _ => false,
    }
}

/// Returns the place of the header name at the end of a text: `bearer`, or `authorization` before its scheme.
pub(crate) fn find_header_name(text: &str) -> Option<Range<usize>> {
    if let Some(rest) = strip_word(text, "bearer") {
        return Some(rest.len()..text.len());
    }
    let rest = strip_word(text, "basic").or_else(|| strip_word(text, "token"))?;
    let rest = rest.strip_suffix(['"', '\'']).unwrap_or(rest).trim_end();
    let rest = rest.strip_suffix([':', '='])?.trim_end();
    let name = rest.strip_suffix(['"', '\'']).unwrap_or(rest);
    strip_word(name, "authorization").map(|rest| rest.len()..name.len())
}

/// Returns the text before a word in lower case, compared as patterns without case compare.
fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let mut rest = text.chars();
    for wanted in word.chars().rev() {
        let found = match rest.next_back()? {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            other => other.to_ascii_lowercase(),
        };
        if found != wanted {
            return None;
        }
    }
    Some(rest.as_str())
}

/// Returns true if no word goes on from one text to the next: the last character is no letter, digit or underscore, or it
/// ends a code.
pub(crate) fn is_word_boundary(before: &str) -> bool {
    let last = before.chars().next_back();
    !last.is_some_and(|c| c.is_alphanumeric() || c == '_') || ends_in_code(before)
}

/// Returns true if the text ends in a percent code (`%20`) or a terminal code (`ESC[31m`, `ESC(B`).
fn ends_in_code(text: &str) -> bool {
    if let [.., b'%', high, low] = text.as_bytes() {
        return high.is_ascii_hexdigit() && low.is_ascii_hexdigit();
    }
    let ends_in_escape = |text: &str| ESCAPE_SPELLINGS.iter().any(|it| text.ends_with(it));
    let [.., second, last] = text.as_bytes() else { return false };
    if !last.is_ascii_alphabetic() {
        return false;
    }
    let before = &text[..text.len() - 1];
    if *second == b'(' {
        return ends_in_escape(&before[..before.len() - 1]);
    }
    let is_parameter = |c: char| matches!(c, '0'..='?');
    let code = before.trim_end_matches(is_parameter);
    if before.len() - code.len() > MAX_CODE_BYTES {
        return false;
    }
    code.ends_with('\u{9b}') || code.strip_suffix('[').is_some_and(ends_in_escape)
}

/// Returns the end of a percent or terminal code that reaches into the run of token bytes at `at`, or `at`.
pub(crate) fn skip_code_end(bytes: &[u8], at: usize) -> usize {
    let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else { return at };
    match before {
        b'%' => at + 2,
        b'(' => at + 1,
        b'[' | b'0'..=b'?' | 0x80.. => {
            let parameters = bytes[at..].iter().take_while(|byte| matches!(byte, b'0'..=b'?'));
            at + parameters.count() + 1
        }
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_end_a_word() {
        for before in [
            "",
            " ",
            "é ",
            "%20",
            "a%3D",
            "%7e",
            "\u{1b}[31m",
            "x\u{1b}[1;38;5;12m",
            "\u{1b}[m",
            "\u{1b}[0K",
            "\u{9b}1m",
            "\u{1b}(B",
            "^[[31m",
            "\\033[31m",
            "\\e[0;31m",
            "\\x1b[1m",
        ] {
            assert!(is_word_boundary(before), "{before:?}");
        }
        for before in [
            "a",
            "_",
            "7",
            "é",
            "20",
            "%2",
            "%zz",
            "%g0",
            "[31m",
            "31m",
            "m",
            "[m",
            "a[0]m",
            "(B",
            "\u{1b}31m",
            "\u{1b}[31",
            "\u{1b}B",
        ] {
            assert!(!is_word_boundary(before), "{before:?}");
        }
        let long = format!("\u{1b}[{}m", "1;".repeat(40));
        assert!(!is_word_boundary(&long));
    }

    #[test]
    fn names_end_before_spaces_and_quotes() {
        for (text, expected) in [
            ("token =", "token"),
            ("\"token\" \t\r\n:", "\"token"),
            ("token\u{a0} \u{2003}=", "token"),
            ("é=", "é"),
            ("  =", ""),
            ("=", ""),
        ] {
            assert_eq!(&text[..find_name_end(text, text.len() - 1)], expected, "{text:?}");
        }
    }

    #[test]
    fn header_names_stand_before_their_values() {
        for (text, expected) in [
            ("x: BEARER", Some("BEARER")),
            ("Authorization: Basic", Some("Authorization")),
            ("'authorization' = \"to\u{212a}en", Some("authorization")),
            ("authorization basic", None),
            ("token", None),
            ("", None),
        ] {
            assert_eq!(find_header_name(text).map(|range| &text[range]), expected, "{text}");
        }
    }
}

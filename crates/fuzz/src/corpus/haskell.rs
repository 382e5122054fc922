//! Haskell string literals, which Echidna uses for bytes: `"caf\233\&1\NUL"`.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// Haskell's names of the characters below the space.
const CONTROLS: [&str; 32] = [
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "a", "b", "t", "n", "v", "f", "r", "SO", "SI",
    "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS",
    "RS", "US",
];

/// Alternative names that are parsed but never written, except those of one letter above.
const OTHER_NAMES: [(&str, u8); 9] = [
    ("BEL", 7),
    ("BS", 8),
    ("HT", 9),
    ("LF", 10),
    ("VT", 11),
    ("FF", 12),
    ("CR", 13),
    ("SP", 32),
    ("DEL", 127),
];

/// Formats bytes as a literal, with quotes.
pub(super) fn format_literal(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for (index, &byte) in bytes.iter().enumerate() {
        let next = bytes.get(index + 1).copied();
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x20..=0x7e => out.push(char::from(byte)),
            0x7f => out.push_str("\\DEL"),
            0x80.. => {
                let _ = write!(out, "\\{byte}");
                // A digit that follows would be read as part of the number.
                if next.is_some_and(|next| next.is_ascii_digit()) {
                    out.push_str("\\&");
                }
            }
            _ => {
                let name = CONTROLS[usize::from(byte)];
                out.push('\\');
                out.push_str(name);
                // `\SO` and an H would be read as `\SOH`.
                if name == "SO" && next == Some(b'H') {
                    out.push_str("\\&");
                }
            }
        }
    }
    out.push('"');
    out
}

/// Parses a literal. Returns None if it is invalid or has characters above 255.
pub(super) fn parse_literal(literal: &str) -> Option<Vec<u8>> {
    let inner = literal.trim().strip_prefix('"')?.strip_suffix('"')?;
    let mut rest = inner.chars().peekable();
    let mut bytes = Vec::with_capacity(inner.len());
    while let Some(character) = rest.next() {
        match character {
            '\\' => parse_escape(&mut rest, &mut bytes)?,
            '"' => return None,
            _ => bytes.push(u8::try_from(u32::from(character)).ok()?),
        }
    }
    Some(bytes)
}

/// Parses an escape after the backslash: one byte, or no byte for `\&` and gaps.
fn parse_escape(rest: &mut Peekable<Chars<'_>>, bytes: &mut Vec<u8>) -> Option<()> {
    let first = *rest.peek()?;
    match first {
        '0'..='9' => bytes.push(parse_number(rest, 10)?),
        'A'..='Z' if !matches!(first, 'O' | 'X') => bytes.push(parse_name(rest)?),
        _ => {
            rest.next();
            match first {
                '&' => {}
                _ if first.is_whitespace() => {
                    let end = rest.find(|character| !character.is_whitespace())?;
                    return (end == '\\').then_some(());
                }
                '\\' | '"' | '\'' => bytes.push(first as u8),
                '^' => {
                    let letter = rest.next().filter(|letter| ('@'..='_').contains(letter))?;
                    bytes.push(letter as u8 - b'@');
                }
                'o' | 'O' => bytes.push(parse_number(rest, 8)?),
                'x' | 'X' => bytes.push(parse_number(rest, 16)?),
                _ => bytes.push(find_letter_escape(first)?),
            }
        }
    }
    Some(())
}

/// Returns the control character of a one-letter escape.
fn find_letter_escape(letter: char) -> Option<u8> {
    let mut named = CONTROLS.iter().zip(0..).filter(|(name, _)| name.len() == 1);
    named.find(|(name, _)| name.starts_with(letter)).map(|(_, byte)| byte)
}

fn parse_number(rest: &mut Peekable<Chars<'_>>, radix: u32) -> Option<u8> {
    let mut value = rest.next()?.to_digit(radix)?;
    while let Some(digit) = rest.peek().and_then(|next| next.to_digit(radix)) {
        value = value.checked_mul(radix)?.checked_add(digit)?;
        rest.next();
    }
    u8::try_from(value).ok()
}

/// Parses the name of a control character; takes the longest match, so that `\SOH` is one character.
fn parse_name(rest: &mut Peekable<Chars<'_>>) -> Option<u8> {
    let ahead: String = rest.clone().take(3).collect();
    let controls = CONTROLS.iter().copied().zip(0..);
    let (name, byte) = controls
        .chain(OTHER_NAMES)
        .filter(|(name, _)| ahead.starts_with(name))
        .max_by_key(|(name, _)| name.len())?;
    rest.nth(name.len() - 1);
    Some(byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{format_literal, parse_literal};

    #[test]
    fn formats_like_haskell() {
        assert_eq!(format_literal(b""), r#""""#);
        assert_eq!(format_literal(b"a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(format_literal(&[0, 1, 7, 10, 27, 31, 127]), r#""\NUL\SOH\a\n\ESC\US\DEL""#);
        assert_eq!(format_literal(&[200, b'1', 200, b'a']), r#""\200\&1\200a""#);
        assert_eq!(format_literal(&[14, b'H', 14, b'I']), r#""\SO\&H\SOI""#);
    }

    #[test]
    fn parses_haskell_escapes() {
        let check = |literal: &str, bytes: &[u8]| {
            assert_eq!(parse_literal(literal).as_deref(), Some(bytes))
        };
        check(r#""\SOH\SO\&H\SO\SP\BEL""#, &[1, 14, b'H', 14, 32, 7]);
        check(r#""\xfF\o17\255\&0\^A\^@\'""#, &[255, 15, 255, b'0', 1, 0, b'\'']);
        check("\"a\\   \n \\b\"", b"ab");
        check("\"\u{e9}\"", &[0xe9]);
    }

    #[test]
    fn rejects_invalid_literals() {
        for text in
            ["", "\"", "abc", "\"a", r#""\256""#, r#""\q""#, r#""\""#, r#""a"b""#, "\"\u{20ac}\""]
        {
            assert_eq!(parse_literal(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn formatted_bytes_round_trip(bytes: Vec<u8>) {
            prop_assert_eq!(parse_literal(&format_literal(&bytes)), Some(bytes));
        }

        #[test]
        fn parsing_arbitrary_text_never_panics(text: String) {
            let _ = parse_literal(&text);
            let _ = parse_literal(&format!("\"{text}\""));
        }
    }
}

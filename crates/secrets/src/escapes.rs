//! Decodes backslash escapes, and maps places in the decoded text back to the original.
//!
//! Only lines with an escape that can hide a secret are decoded: `\"`, `\u0067`, `\x67`, `\/`, `\\`, and `\n`, `\r`, `\t`,
//! whose letter would otherwise belong to the word that follows (`\nghp_…`) or to the value before.

use std::ops::Range;

/// Maximum rounds of decoding: JSON in a JSON string in a JSON string. Deeper nesting does not occur in practice.
const MAX_ROUNDS: usize = 4;

/// A part of a text with its escapes decoded.
pub(crate) struct DecodedText {
    text: String,
    /// Pairs of a place in the text and the same place in the original. Between two pairs, both advance together.
    marks: Vec<(usize, usize)>,
}

impl DecodedText {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the range of the original that was decoded to this range.
    pub(crate) fn map_range(&self, range: Range<usize>) -> Range<usize> {
        self.map_place(range.start)..self.map_place(range.end)
    }

    fn map_place(&self, at: usize) -> usize {
        let next = self.marks.partition_point(|(place, _)| *place <= at);
        let (place, original) = self.marks[next.saturating_sub(1)];
        original + (at - place)
    }
}

/// Calls `visit` with every decoded form of every line that has hiding escapes.
pub(crate) fn for_each_decoded(text: &str, mut visit: impl FnMut(&DecodedText)) {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = find_hiding_escape(bytes, from) {
        let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |at| at + 1);
        let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |after| at + after);
        let mut decoded = decode(&text[start..end], &[(0, start)]);
        for _ in 1..MAX_ROUNDS {
            visit(&decoded);
            if find_hiding_escape(decoded.text.as_bytes(), 0).is_none() {
                break;
            }
            decoded = decode(&decoded.text, &decoded.marks);
        }
        from = end;
    }
}

/// Returns the next backslash that can hide a secret.
fn find_hiding_escape(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr_iter(b'\\', &bytes[from..]).map(|at| from + at).find(|at| {
        matches!(
            bytes.get(at + 1),
            Some(b'"' | b'\'' | b'u' | b'x' | b'/' | b'\\' | b'`' | b'n' | b'r' | b't')
        )
    })
}

/// Decodes one round of escapes. `before` are the marks of the text that is decoded.
fn decode(text: &str, before: &[(usize, usize)]) -> DecodedText {
    let source = DecodedText { text: String::new(), marks: before.to_vec() };
    let mut out = String::with_capacity(text.len());
    let mut marks = vec![(0, source.map_place(0))];
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        let escape = at + found;
        push_piece(&mut out, &mut marks, &text[at..escape], at, &source);
        let (decoded, length) = decode_escape(&text[escape + 1..]);
        marks.push((out.len(), source.map_place(escape)));
        out.extend(decoded);
        at = escape + 1 + length;
        marks.push((out.len(), source.map_place(at)));
    }
    push_piece(&mut out, &mut marks, &text[at..], at, &source);
    DecodedText { text: out, marks }
}

/// Appends text without escapes, with the marks that the source has inside it.
fn push_piece(
    out: &mut String,
    marks: &mut Vec<(usize, usize)>,
    piece: &str,
    at: usize,
    source: &DecodedText,
) {
    let first = source.marks.partition_point(|(place, _)| *place <= at);
    for (place, original) in &source.marks[first..] {
        if *place >= at + piece.len() {
            break;
        }
        marks.push((out.len() + place - at, *original));
    }
    out.push_str(piece);
}

/// Returns the character of the escape after a backslash, and the length of the escape.
fn decode_escape(after: &str) -> (Option<char>, usize) {
    let hex = |digits: usize| {
        let text = after.get(1..1 + digits)?;
        let code = u32::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'))?;
        // Half of a surrogate pair encodes a character that no token contains.
        Some((Some(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)), 1 + digits))
    };
    match after.chars().next() {
        Some('n') => (Some('\n'), 1),
        Some('r') => (Some('\r'), 1),
        Some('t') => (Some('\t'), 1),
        Some('u') => hex(4).unwrap_or((Some('u'), 1)),
        Some('x') => hex(2).unwrap_or((Some('x'), 1)),
        Some(other) => (Some(other), other.len_utf8()),
        None => (None, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_escapes_anywhere_in_a_text() {
        for (text, expected) in [
            (r#"a\n\"\u0041\\ \/ \ud800 end"#, "a\n\"A\\ / \u{fffd} end"),
            (r"\u12 \u00é1 \u00aé \x41 \xg end\", "u12 u00é1 u00aé A xg end"),
        ] {
            assert_eq!(decode(text, &[(0, 0)]).text, expected);
        }
        let mut count = 0;
        for_each_decoded("plain\\dline\\s*and\nmore", |_| count += 1);
        assert_eq!(count, 0);
    }

    #[test]
    fn maps_places_back_through_all_rounds() {
        let inner = r#"{"k":"v\u0061lue"}"#;
        let nested = serde_json::Value::from(inner).to_string();
        let text = format!("first\nx {nested} y\nlast");
        let mut seen = Vec::new();
        for_each_decoded(&text, |decoded| {
            if let Some(at) = decoded.text().find("value") {
                seen.push(text[decoded.map_range(at..at + 5)].to_owned());
            }
        });
        assert_eq!(seen, [r"v\\u0061lue"]);
    }
}

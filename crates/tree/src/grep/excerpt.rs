//! Lines as they are shown: text, on one line, never endless.

/// How many characters of a line are shown.
pub const MAX_TEXT: usize = 500;
/// How many of them stand before the match, if the line is cut there.
const BEFORE_MATCH: usize = 100;
/// How many bytes the longest character has.
const WIDEST: usize = 4;
/// Shown where a line was cut.
const CUT: &str = "…";

/// A line without its end.
pub(super) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// How many characters a piece of text has; bytes that are no text count as they are shown, as replacement characters.
pub(super) fn characters(text: &[u8]) -> usize {
    text.utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()))
        .sum()
}

/// The line, or the part of it around the byte `at`, with a sign where something is missing.
pub(super) fn excerpt(line: &[u8], at: usize) -> String {
    let line = without_end(line);
    if line.len() <= MAX_TEXT * WIDEST && characters(line) <= MAX_TEXT {
        return String::from_utf8_lossy(line).into_owned();
    }
    // Of a long line only the window is ever looked at.
    let start = back(line, at.min(line.len()), BEFORE_MATCH);
    let window = &line[start..line.len().min(start + (MAX_TEXT + 1) * WIDEST)];
    let text = String::from_utf8_lossy(window);
    let mut shown = String::new();
    if start > 0 {
        shown.push_str(CUT);
    }
    shown.extend(text.chars().take(MAX_TEXT));
    if start + window.len() < line.len() || text.chars().nth(MAX_TEXT).is_some() {
        shown.push_str(CUT);
    }
    shown
}

/// Where the character begins that stands `count` characters before the byte `at`.
fn back(line: &[u8], at: usize, count: usize) -> usize {
    let is_inside = |byte: u8| byte & 0xc0 == 0x80;
    (0..count).fold(at, |end, _| {
        let mut start = end.saturating_sub(1);
        while is_inside(line[start]) && start > 0 && end - start < WIDEST {
            start -= 1;
        }
        start
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_lines_are_cut_around_the_match() {
        let line = format!("{}é{}", "ü".repeat(2000), "z".repeat(3_000_000));
        let shown = excerpt(line.as_bytes(), 4000);
        let expected = format!("…{}é{}…", "ü".repeat(100), "z".repeat(399));
        assert_eq!(shown, expected);
        assert_eq!(excerpt(line.as_bytes(), 0), format!("{}…", "ü".repeat(500)));
        assert_eq!(excerpt("ü".repeat(500).as_bytes(), 3), "ü".repeat(500));
        let end = excerpt("ü".repeat(501).as_bytes(), 1002);
        assert_eq!(end, format!("…{}", "ü".repeat(100)));
    }

    #[test]
    fn ends_of_lines_are_not_shown() {
        assert_eq!(["a\n", "a\r\n", "a\r", "a"].map(|line| excerpt(line.as_bytes(), 0)), ["a"; 4]);
    }

    proptest! {
        #[test]
        fn any_bytes(line in prop::collection::vec(any::<u8>(), 0..4000), at in 0..4000_usize) {
            prop_assert!(excerpt(&line, at).chars().count() <= MAX_TEXT + 2);
        }
    }
}

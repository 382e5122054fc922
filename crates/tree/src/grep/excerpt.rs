//! Converts matching lines to valid UTF-8 of bounded length.

/// Maximum number of characters shown of a line.
pub const MAX_TEXT: usize = 500;
/// Number of characters shown before the match if the start of the line is cut.
const CHARS_BEFORE_MATCH: usize = 100;
/// Maximum number of bytes in a UTF-8 character.
const MAX_CHAR_BYTES: usize = 4;
/// Number of bytes before and after the shown part in which secrets are recognized.
const SECRET_MARGIN: usize = 4096;
/// Marks a position where a line was cut.
const ELLIPSIS: &str = "…";

/// Returns a line without its line ending.
pub(super) fn strip_line_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the number of characters in `text`. Invalid bytes are counted as the replacement characters shown for them.
pub(super) fn count_characters(text: &[u8]) -> usize {
    text.utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() + usize::from(!chunk.invalid().is_empty()))
        .sum()
}

/// Returns the line, or the part of it around byte `at` with an ellipsis at each cut.
pub(super) fn excerpt_line(line: &[u8], at: usize) -> String {
    let line = strip_line_ending(line);
    if line.len() <= MAX_TEXT * MAX_CHAR_BYTES && count_characters(line) <= MAX_TEXT {
        return String::from_utf8_lossy(line).into_owned();
    }
    // Only this window of a long line is decoded, and a margin in which secrets are recognized.
    let start = step_back(line, at.min(line.len()), CHARS_BEFORE_MATCH);
    let end = line.len().min(start + (MAX_TEXT + 1) * MAX_CHAR_BYTES);
    let margin = String::from_utf8_lossy(&line[start.saturating_sub(SECRET_MARGIN)..start]);
    let window = String::from_utf8_lossy(&line[start..end]);
    let rest = String::from_utf8_lossy(&line[end..line.len().min(end + SECRET_MARGIN)]);
    let text = [&*margin, &*window, &*rest].concat();
    // A part of a secret is not recognized, so it is not shown.
    let from = secrets::find_split_secret(&text, margin.len()).map_or(margin.len(), |it| it.end);
    let cut = text[margin.len()..].char_indices().nth(MAX_TEXT).map(|(at, _)| margin.len() + at);
    let to = cut.map_or(text.len(), |cut| secrets::cut_before_secret(&text, cut));
    let mut shown = String::new();
    if start > 0 {
        shown.push_str(ELLIPSIS);
    }
    shown.push_str(&text[from..to.max(from)]);
    if to < text.len() {
        shown.push_str(ELLIPSIS);
    }
    shown
}

/// Returns the byte offset `count` characters before byte `at`.
fn step_back(line: &[u8], at: usize, count: usize) -> usize {
    let is_inside = |byte: u8| byte & 0xc0 == 0x80;
    (0..count).fold(at, |end, _| {
        let mut start = end.saturating_sub(1);
        while is_inside(line[start]) && start > 0 && end - start < MAX_CHAR_BYTES {
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
    fn cuts_long_lines_around_the_match() {
        let line = format!("{}é{}", "ü".repeat(2000), "z".repeat(3_000_000));
        let shown = excerpt_line(line.as_bytes(), 4000);
        let expected = format!("…{}é{}…", "ü".repeat(100), "z".repeat(399));
        assert_eq!(shown, expected);
        assert_eq!(excerpt_line(line.as_bytes(), 0), format!("{}…", "ü".repeat(500)));
        assert_eq!(excerpt_line("ü".repeat(500).as_bytes(), 3), "ü".repeat(500));
        let end = excerpt_line("ü".repeat(501).as_bytes(), 1002);
        assert_eq!(end, format!("…{}", "ü".repeat(100)));
    }

    #[test]
    fn shows_no_part_of_a_secret_at_a_cut() {
        let value = "k7Tq9vXz2LmNp4RsW8yB";
        for (text, secret) in [
            (
                format!("ghp_{}", "a1B2c3D4e5F6".repeat(3)),
                format!("ghp_{}", "a1B2c3D4e5F6".repeat(3)),
            ),
            (format!("db_password = \"{value}\";"), value.to_owned()),
            (format!("Authorization: Bearer {value}{value}"), value.repeat(2)),
            (format!("postgres://admin:{value}@db.example/x"), value.to_owned()),
        ] {
            for shift in 0..=text.len() + 2 {
                let before = " ".repeat(1000 - shift);
                let line = format!("{before}{text} {}x{}", "-".repeat(90), " y".repeat(1000));
                let shown = excerpt_line(line.as_bytes(), line.find("-x").unwrap() + 1);
                check_excerpt(&shown, &secret);
                assert!(shown.contains('x'), "{shown}");
                let gap = " ".repeat(490 + shift - text.len());
                let line = format!("x{gap}{text} end{}", " y".repeat(1000));
                check_excerpt(&excerpt_line(line.as_bytes(), 0), &secret);
            }
        }
    }

    /// Checks that a secret is shown only if it is recognized as one, and no part of it otherwise.
    fn check_excerpt(shown: &str, secret: &str) {
        let has_part = secret
            .as_bytes()
            .windows(8)
            .any(|part| shown.contains(std::str::from_utf8(part).unwrap()));
        let spans = secrets::find_spans(shown, secrets::ScanPurpose::Output);
        assert_eq!(
            has_part,
            spans.iter().any(|span| &shown[span.range.clone()] == secret),
            "{shown}"
        );
    }

    #[test]
    fn strips_line_endings() {
        assert_eq!(
            ["a\n", "a\r\n", "a\r", "a"].map(|line| excerpt_line(line.as_bytes(), 0)),
            ["a"; 4]
        );
    }

    proptest! {
        #[test]
        fn bounds_excerpt_length_for_any_bytes(line in prop::collection::vec(any::<u8>(), 0..4000), at in 0..4000_usize) {
            prop_assert!(excerpt_line(&line, at).chars().count() <= MAX_TEXT + 2);
        }
    }
}

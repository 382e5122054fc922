//! Selects the snippet of a text to show: the whole text if it is short, otherwise the lines that match the query best.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use rank::{SearchQuery, terms};
use tree::FileTree;

use super::analysis::compute_text_digest;

/// Maximum length of a snippet, in characters.
pub(crate) const MAX_CHARACTERS: usize = 1_200;
/// Maximum length of a line; longer ones are clipped, because a minified file is a single line.
const MAX_LINE_CHARACTERS: usize = 300;

/// A range of lines of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snippet {
    pub(crate) text: String,
    /// Line numbers, starting at 0; the end is exclusive.
    pub(crate) lines: Range<u32>,
}

/// Reads the text of a chunk; `None` if it cannot be read, or has changed since it was indexed.
pub(crate) fn read_chunk(
    tree: &FileTree,
    path: &str,
    bytes: &Range<u32>,
    digest: u64,
) -> Option<String> {
    let (mut file, _) = tree.open(path).ok()?;
    file.seek(SeekFrom::Start(u64::from(bytes.start))).ok()?;
    let mut content = Vec::with_capacity(bytes.len());
    file.take(bytes.len() as u64).read_to_end(&mut content).ok()?;
    String::from_utf8(content).ok().filter(|text| compute_text_digest(text) == digest)
}

/// Returns the part of a text that matches the query best, within the length limits.
pub(crate) fn select_best_part(text: &str, query: &SearchQuery) -> Snippet {
    let lines: Vec<&str> = text.lines().collect();
    let sizes: Vec<usize> =
        lines.iter().map(|line| line.chars().count().min(MAX_LINE_CHARACTERS) + 1).collect();
    let window = if sizes.iter().sum::<usize>() <= MAX_CHARACTERS + 1 {
        0..lines.len()
    } else {
        find_best_window(&sizes, &score_lines(&lines, query))
    };
    let blank = lines[window.clone()].iter().take_while(|line| line.trim().is_empty()).count();
    let window = window.start + blank..window.end;
    let shown: Vec<String> = lines[window.clone()].iter().map(|line| clip_line(line)).collect();
    Snippet {
        text: shown.join("\n").trim_end().to_owned(),
        lines: window.start as u32..window.end as u32,
    }
}

/// Returns a score for each line. A query term counts fully at its first occurrence, and an eighth at later ones.
fn score_lines(lines: &[&str], query: &SearchQuery) -> Vec<f32> {
    let mut seen = HashSet::new();
    lines
        .iter()
        .map(|line| {
            let mut score = 0.0;
            terms::for_each_term(line, |term| {
                if let Some(wanted) = query.terms().iter().find(|wanted| wanted.hash == term.hash) {
                    let is_first = seen.insert(term.hash);
                    score += if is_first { wanted.weight } else { wanted.weight / 8.0 };
                }
            });
            score
        })
        .collect()
}

/// Returns the window of lines within the length limit that has the highest score; the first one of equals. It is never
/// empty.
fn find_best_window(sizes: &[usize], scores: &[f32]) -> Range<usize> {
    let mut best = 0..1;
    let mut most = f32::MIN;
    let (mut start, mut size, mut sum) = (0, 0, 0.0);
    for end in 0..sizes.len() {
        size += sizes[end];
        sum += scores[end];
        while size > MAX_CHARACTERS && start < end {
            size -= sizes[start];
            sum -= scores[start];
            start += 1;
        }
        if sum > most + 1e-3 {
            most = sum;
            best = start..end + 1;
        }
    }
    // Extends the window with the lines after it, as far as the limit allows.
    let mut size: usize = sizes[best.clone()].iter().sum();
    while best.end < sizes.len() && size + sizes[best.end] <= MAX_CHARACTERS {
        size += sizes[best.end];
        best.end += 1;
    }
    best
}

fn clip_line(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARACTERS - 1) {
        Some((at, _)) if line[at..].chars().nth(1).is_some() => {
            format!("{}…", &line[..secrets::cut_before_secret(line, at)])
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn clips_a_line_before_a_secret() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        for at in MAX_LINE_CHARACTERS - 1 - token.len()..MAX_LINE_CHARACTERS {
            let line = format!("{} {token} {}", "-".repeat(at - 1), "-".repeat(100));
            let clipped = clip_line(&line);
            assert_eq!(clipped.contains("ghp_"), clipped.contains(&token), "{clipped}");
        }
    }

    #[test]
    fn shows_a_short_text_whole() {
        let part = select_best_part("fn a() {\n}\n", &SearchQuery::new("anything"));
        assert_eq!(part, Snippet { text: "fn a() {\n}".into(), lines: 0..2 });
        let part = select_best_part("\n  \n  fn a() {}\n", &SearchQuery::new("anything"));
        assert_eq!(part, Snippet { text: "  fn a() {}".into(), lines: 2..3 });
    }

    #[test]
    fn shows_the_matching_part_of_a_long_text() {
        let mut lines: Vec<String> = (0..200).map(|n| format!("let filler{n} = {n};")).collect();
        lines[150] = "let token = refresh(session);".into();
        let part = select_best_part(&lines.join("\n"), &SearchQuery::new("refresh token"));
        assert!(part.text.contains("refresh(session)"), "{}", part.text);
        assert!(part.lines.contains(&150));
        assert!(part.text.len() <= MAX_CHARACTERS);
    }

    proptest! {
        #[test]
        fn part_is_bounded_and_taken_from_the_text(text in "([a-z ]{0,400}\n){0,60}", query in "[a-z ]{3,20}") {
            let part = select_best_part(&text, &SearchQuery::new(&query));
            prop_assert!(part.text.chars().count() <= MAX_CHARACTERS + MAX_LINE_CHARACTERS);
            let lines: Vec<&str> = text.lines().collect();
            prop_assert!(part.lines.end as usize <= lines.len());
            for (shown, line) in part.text.lines().zip(&lines[part.lines.start as usize..]) {
                prop_assert!(line.starts_with(shown.trim_end_matches('…').trim_end()));
            }
        }
    }
}

//! What is shown of a text: all of it where it is short, else the lines around what was asked for.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use rank::{Query, terms};
use tree::Tree;

use super::analysis::digest_of;

/// What an answer shows of one text, in characters.
pub(crate) const MAX_CHARACTERS: usize = 1_200;
/// One line of an answer: a minified file is one line.
const MAX_LINE_CHARACTERS: usize = 300;

/// A part of a text, cut at line ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snippet {
    pub(crate) text: String,
    /// Counted from 0; the end is the line after the last.
    pub(crate) lines: Range<u32>,
}

/// The text of a piece, if the file still says there what it said when it was indexed.
pub(crate) fn read(tree: &Tree, path: &str, bytes: &Range<u32>, digest: u64) -> Option<String> {
    let (mut file, _) = tree.open(path).ok()?;
    file.seek(SeekFrom::Start(u64::from(bytes.start))).ok()?;
    let mut content = Vec::with_capacity(bytes.len());
    file.take(bytes.len() as u64).read_to_end(&mut content).ok()?;
    String::from_utf8(content).ok().filter(|text| digest_of(text) == digest)
}

/// The part of a text that answers best, within the bounds.
pub(crate) fn best_part(text: &str, query: &Query) -> Snippet {
    let lines: Vec<&str> = text.lines().collect();
    let sizes: Vec<usize> =
        lines.iter().map(|line| line.chars().count().min(MAX_LINE_CHARACTERS) + 1).collect();
    let window = if sizes.iter().sum::<usize>() <= MAX_CHARACTERS + 1 {
        0..lines.len()
    } else {
        richest(&sizes, &worth(&lines, query))
    };
    let blank = lines[window.clone()].iter().take_while(|line| line.trim().is_empty()).count();
    let window = window.start + blank..window.end;
    let shown: Vec<String> = lines[window.clone()].iter().map(|line| clipped(line)).collect();
    Snippet {
        text: shown.join("\n").trim_end().to_owned(),
        lines: window.start as u32..window.end as u32,
    }
}

/// How much of the question each line holds. A word counts fully where it is met first, and a little again.
fn worth(lines: &[&str], query: &Query) -> Vec<f32> {
    let mut met = HashSet::new();
    lines
        .iter()
        .map(|line| {
            let mut worth = 0.0;
            terms::each(line, |term| {
                if let Some(asked) = query.terms().iter().find(|asked| asked.hash == term.hash) {
                    worth += if met.insert(term.hash) { asked.weight } else { asked.weight / 8.0 };
                }
            });
            worth
        })
        .collect()
}

/// The window of lines within the bound that is worth most; of equals the first. It is never empty.
fn richest(sizes: &[usize], worth: &[f32]) -> Range<usize> {
    let mut best = 0..1;
    let mut most = f32::MIN;
    let (mut start, mut size, mut sum) = (0, 0, 0.0);
    for end in 0..sizes.len() {
        size += sizes[end];
        sum += worth[end];
        while size > MAX_CHARACTERS && start < end {
            size -= sizes[start];
            sum -= worth[start];
            start += 1;
        }
        if sum > most + 1e-3 {
            most = sum;
            best = start..end + 1;
        }
    }
    // What follows the last line that counts is worth showing too, as far as there is room.
    let mut size: usize = sizes[best.clone()].iter().sum();
    while best.end < sizes.len() && size + sizes[best.end] <= MAX_CHARACTERS {
        size += sizes[best.end];
        best.end += 1;
    }
    best
}

fn clipped(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARACTERS - 1) {
        Some((at, _)) if line[at..].chars().nth(1).is_some() => format!("{}…", &line[..at]),
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_text_is_shown_whole() {
        let part = best_part("fn a() {\n}\n", &Query::new("anything"));
        assert_eq!(part, Snippet { text: "fn a() {\n}".into(), lines: 0..2 });
        let part = best_part("\n  \n  fn a() {}\n", &Query::new("anything"));
        assert_eq!(part, Snippet { text: "  fn a() {}".into(), lines: 2..3 });
    }

    #[test]
    fn a_long_text_is_shown_where_the_question_is() {
        let mut lines: Vec<String> = (0..200).map(|n| format!("let filler{n} = {n};")).collect();
        lines[150] = "let token = refresh(session);".into();
        let part = best_part(&lines.join("\n"), &Query::new("refresh token"));
        assert!(part.text.contains("refresh(session)"), "{}", part.text);
        assert!(part.lines.contains(&150));
        assert!(part.text.len() <= MAX_CHARACTERS);
    }

    proptest! {
        #[test]
        fn a_part_is_bounded_and_from_the_text(text in "([a-z ]{0,400}\n){0,60}", asked in "[a-z ]{3,20}") {
            let part = best_part(&text, &Query::new(&asked));
            prop_assert!(part.text.chars().count() <= MAX_CHARACTERS + MAX_LINE_CHARACTERS);
            let lines: Vec<&str> = text.lines().collect();
            prop_assert!(part.lines.end as usize <= lines.len());
            for (shown, line) in part.text.lines().zip(&lines[part.lines.start as usize..]) {
                prop_assert!(line.starts_with(shown.trim_end_matches('…').trim_end()));
            }
        }
    }
}

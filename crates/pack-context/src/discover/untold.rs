//! What a text says beside its discoveries: notes, a glossary, a command, whatever was too long to be told. A search
//! finds that as text, and the rest as what it is; so nothing is lost, and nothing is shown twice.

use std::ops::Range;

use super::{Discovery, MAX_CONTENT, Source, markdown};

/// The lines of a text, as far as its discoveries go.
pub(crate) struct Untold {
    lines: Vec<Line>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// A discovery says it.
    Told,
    /// Blank, a mark, the edge of a code block.
    Wordless,
    /// It says nothing without what it stands over.
    Heading,
    Words,
}

/// A part of a text that no discovery tells.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) bytes: Range<u32>,
    /// Counted from 1; the end is the line after the last.
    pub(crate) lines: Range<u32>,
}

impl Untold {
    /// `discoveries` are those of the text, in its order; None where they tell all of it.
    pub(crate) fn of(text: &str, discoveries: &[Discovery]) -> Option<Self> {
        let told = Told(discoveries);
        let lines: Vec<_> = text.lines().zip(1..).map(|(line, n)| told.look_at(line, n)).collect();
        lines.contains(&Line::Words).then_some(Self { lines })
    }

    /// The parts inside a piece of the text, which begins at this byte and this line.
    pub(crate) fn within(&self, piece: &str, start: u32, first: u32) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut open: Option<Open> = None;
        let mut at = start;
        for (line, number) in piece.split_inclusive('\n').zip(first..) {
            let start = at;
            at += line.len() as u32;
            match self.lines.get(number as usize - 1).copied().unwrap_or(Line::Wordless) {
                Line::Told => parts.extend(open.take().and_then(Open::close)),
                Line::Wordless => {}
                kind @ (Line::Heading | Line::Words) => {
                    let open = open.get_or_insert(Open { start, first: number, end: None });
                    if kind == Line::Words {
                        open.end = Some((at, number + 1));
                    }
                }
            }
        }
        parts.extend(open.and_then(Open::close));
        parts
    }
}

/// A part that may still grow.
struct Open {
    start: u32,
    first: u32,
    /// After the last line with words.
    end: Option<(u32, u32)>,
}

impl Open {
    fn close(self) -> Option<Part> {
        let (end, line) = self.end?;
        Some(Part { bytes: self.start..end, lines: self.first..line })
    }
}

struct Told<'a>(&'a [Discovery]);

impl Told<'_> {
    fn look_at(&self, line: &str, number: u32) -> Line {
        let words = line.trim();
        if !words.contains(char::is_alphanumeric) || is_fence(words) {
            return Line::Wordless;
        }
        let heading = markdown::heading(words).map(|(_, text)| text);
        let statement = heading.or_else(|| markdown::item(words)).unwrap_or(words);
        // A discovery goes on below the line that it begins at, and may have begun with what leads into it.
        let next = self.0.partition_point(|discovery| line_of(discovery) <= number);
        let near = &self.0[next.saturating_sub(1)..self.0.len().min(next + 1)];
        let begins = |discovery: &Discovery| line_of(discovery) == number && !is_cut(discovery);
        if near.iter().any(|discovery| begins(discovery) || tells(discovery, statement)) {
            Line::Told
        } else if heading.is_some() {
            Line::Heading
        } else {
            Line::Words
        }
    }
}

fn line_of(discovery: &Discovery) -> u32 {
    match discovery.source {
        Source::File { line, .. } => line,
        Source::Commit { .. } | Source::Store { .. } => 0,
    }
}

fn is_cut(discovery: &Discovery) -> bool {
    discovery.content.chars().nth(MAX_CONTENT).is_some()
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// Whether the words stand in it as whole words.
fn tells(discovery: &Discovery, words: &str) -> bool {
    let title = discovery.title.as_deref().unwrap_or_default();
    [title, &discovery.content].into_iter().any(|text| {
        text.match_indices(words).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + words.len()..].chars().next();
            ![before, after].into_iter().flatten().any(char::is_alphanumeric)
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Places;
    use super::*;

    /// What is left of a text, one part after the other.
    fn check(path: &str, text: &str) -> Vec<String> {
        let discoveries = Places::new(".claude/memory").in_file(path, text, "");
        let Some(untold) = Untold::of(text, &discoveries) else { return Vec::new() };
        let parts = untold.within(text, 0, 1);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let shown = parts.into_iter().map(|part| {
            let bytes = &text[part.bytes.start as usize..part.bytes.end as usize];
            let range = part.lines.start as usize - 1..part.lines.end as usize - 1;
            assert_eq!(lines[range].concat(), bytes, "lines and bytes mean the same");
            bytes.to_owned()
        });
        shown.collect()
    }

    #[test]
    fn a_guide_without_its_statements() {
        let guide = "# Guide\n\n## Tests\n\nNever:\n\n- skip a test\n  (nor ignore one)\n- Use it\n\n## Build\n\n```sh\nmake all\n```\n\n- See SQL\n- Never use SQLite here\n";
        assert_eq!(check("AGENTS.md", guide), ["make all\n```\n\n- See SQL\n"]);
        assert_eq!(check("AGENTS.md", "# Guide\n\n- Never print anything\n"), [""; 0]);
    }

    #[test]
    fn a_record_without_its_decision() {
        let record = "# 7. Keep it\n\n## Status\n\nAccepted\n\n## Decision\n\nWe keep it.\n\n## Notes\n\nAsk the gondolier.\n";
        assert_eq!(check("docs/adr/7.md", record), ["## Notes\n\nAsk the gondolier.\n"]);
        let long = format!("## Decision\n\nWe keep it.\n{}The end.\n", "and so on\n".repeat(200));
        assert_eq!(check("docs/adr/8.md", &long).concat().lines().last(), Some("The end."));
        let glossary = "# Glossary\n\nGondola: a boat.\n";
        assert_eq!(check("docs/adr/glossary.md", glossary), [glossary]);
    }

    #[test]
    fn memory_is_told_line_by_line() {
        let entry = "{\"decision\": \"Use boats\", \"why\": \"Water\"}\n";
        assert_eq!(check(".claude/memory/a.jsonl", &entry.repeat(3)), [""; 0]);
        let long = format!("{{\"decision\": \"{}\"}}\n", "boats ".repeat(2_000));
        assert_eq!(check(".claude/memory/a.jsonl", &format!("{entry}{long}{entry}")), [long]);
    }

    proptest! {
        #[test]
        fn any_text_is_told_or_left(text in r"(?s)([-#>*`~=\n :|a-z0-9.]|must |\PC){0,200}") {
            for path in ["AGENTS.md", "docs/adr/1.md", ".claude/memory/a.md", "CONTRIBUTING.md"] {
                let parts = check(path, &text);
                prop_assert!(parts.iter().all(|part| part.contains(char::is_alphanumeric)));
            }
        }
    }
}

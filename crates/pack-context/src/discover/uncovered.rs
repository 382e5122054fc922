//! Finds the parts of a text that no discovery covers: notes, a glossary, commands, truncated content.
//!
//! Search indexes these parts as plain text and the rest as discoveries, so no text is lost or shown twice.

use std::ops::Range;

use super::{Discovery, DiscoverySource, MAX_CONTENT, markdown};

/// A text with at least one line that no discovery covers.
pub(crate) struct UncoveredText {
    lines: Vec<LineCoverage>,
}

/// Coverage of one line by the discoveries of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineCoverage {
    /// A discovery contains it.
    Covered,
    /// No words: an empty line, punctuation or a code fence.
    NoWords,
    /// A heading, which matters only together with the text below it.
    Heading,
    /// Text that no discovery contains.
    Text,
}

/// A span of text that no discovery covers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UncoveredSpan {
    pub(crate) bytes: Range<u32>,
    /// 1-based lines; the end is exclusive.
    pub(crate) lines: Range<u32>,
}

impl UncoveredText {
    /// Compares a text with its discoveries, given in text order; returns `None` if they cover all of it.
    pub(crate) fn from_text(text: &str, discoveries: &[Discovery]) -> Option<Self> {
        let checker = CoverageChecker(discoveries);
        let lines: Vec<_> =
            text.lines().zip(1..).map(|(line, n)| checker.classify_line(line, n)).collect();
        lines.contains(&LineCoverage::Text).then_some(Self { lines })
    }

    /// Returns the uncovered spans inside a chunk of the text that starts at byte `start` and line `first`.
    pub(crate) fn spans_within(&self, chunk: &str, start: u32, first: u32) -> Vec<UncoveredSpan> {
        let mut parts = Vec::new();
        let mut open: Option<SpanBuilder> = None;
        let mut at = start;
        for (line, number) in chunk.split_inclusive('\n').zip(first..) {
            let start = at;
            at += line.len() as u32;
            match self.lines.get(number as usize - 1).copied().unwrap_or(LineCoverage::NoWords) {
                LineCoverage::Covered => {
                    parts.extend(open.take().and_then(SpanBuilder::finish_span))
                }
                LineCoverage::NoWords => {}
                kind @ (LineCoverage::Heading | LineCoverage::Text) => {
                    let open = open.get_or_insert(SpanBuilder { start, first: number, end: None });
                    if kind == LineCoverage::Text {
                        open.end = Some((at, number + 1));
                    }
                }
            }
        }
        parts.extend(open.and_then(SpanBuilder::finish_span));
        parts
    }
}

/// A span under construction.
struct SpanBuilder {
    start: u32,
    first: u32,
    /// End byte and line after the last line with text.
    end: Option<(u32, u32)>,
}

impl SpanBuilder {
    fn finish_span(self) -> Option<UncoveredSpan> {
        let (end, line) = self.end?;
        Some(UncoveredSpan { bytes: self.start..end, lines: self.first..line })
    }
}

/// Compares lines with the discoveries of a text.
struct CoverageChecker<'a>(&'a [Discovery]);

impl CoverageChecker<'_> {
    fn classify_line(&self, line: &str, number: u32) -> LineCoverage {
        let words = line.trim();
        if !words.contains(char::is_alphanumeric) || is_fence(words) {
            return LineCoverage::NoWords;
        }
        let heading = markdown::parse_heading(words).map(|(_, text)| text);
        let statement = heading.or_else(|| markdown::parse_list_item(words)).unwrap_or(words);
        // A discovery continues below its first line, and may include the lead above it.
        let next = self.0.partition_point(|discovery| source_line(discovery) <= number);
        let near = &self.0[next.saturating_sub(1)..self.0.len().min(next + 1)];
        let begins =
            |discovery: &Discovery| source_line(discovery) == number && !is_truncated(discovery);
        if near.iter().any(|discovery| begins(discovery) || contains_phrase(discovery, statement)) {
            LineCoverage::Covered
        } else if heading.is_some() {
            LineCoverage::Heading
        } else {
            LineCoverage::Text
        }
    }
}

fn source_line(discovery: &Discovery) -> u32 {
    match discovery.source {
        DiscoverySource::File { line, .. } => line,
        DiscoverySource::Commit { .. } | DiscoverySource::Store { .. } => 0,
    }
}

fn is_truncated(discovery: &Discovery) -> bool {
    discovery.content.chars().nth(MAX_CONTENT).is_some()
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// Returns true if the title or content contains the phrase, bounded by word boundaries.
fn contains_phrase(discovery: &Discovery, words: &str) -> bool {
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

    use super::super::DiscoveryExtractor;
    use super::*;

    /// Returns the uncovered spans of a text.
    fn uncovered_spans(path: &str, text: &str) -> Vec<String> {
        let discoveries =
            DiscoveryExtractor::new(".claude/memory").extract_from_file(path, text, "");
        let Some(uncovered) = UncoveredText::from_text(text, &discoveries) else {
            return Vec::new();
        };
        let parts = uncovered.spans_within(text, 0, 1);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let texts = parts.into_iter().map(|part| {
            let bytes = &text[part.bytes.start as usize..part.bytes.end as usize];
            let range = part.lines.start as usize - 1..part.lines.end as usize - 1;
            assert_eq!(lines[range].concat(), bytes, "lines and bytes agree");
            bytes.to_owned()
        });
        texts.collect()
    }

    #[test]
    fn keeps_guide_text_outside_statements() {
        let guide = "# Guide\n\n## Tests\n\nNever:\n\n- skip a test\n  (nor ignore one)\n- Use it\n\n## Build\n\n```sh\nmake all\n```\n\n- See SQL\n- Never use SQLite here\n";
        assert_eq!(uncovered_spans("AGENTS.md", guide), ["make all\n```\n\n- See SQL\n"]);
        assert_eq!(uncovered_spans("AGENTS.md", "# Guide\n\n- Never print anything\n"), [""; 0]);
    }

    #[test]
    fn keeps_record_text_outside_decision() {
        let record = "# 7. Keep it\n\n## Status\n\nAccepted\n\n## Decision\n\nWe keep it.\n\n## Notes\n\nAsk the gondolier.\n";
        assert_eq!(uncovered_spans("docs/adr/7.md", record), ["## Notes\n\nAsk the gondolier.\n"]);
        let long = format!("## Decision\n\nWe keep it.\n{}The end.\n", "and so on\n".repeat(200));
        assert_eq!(
            uncovered_spans("docs/adr/8.md", &long).concat().lines().last(),
            Some("The end.")
        );
        let glossary = "# Glossary\n\nGondola: a boat.\n";
        assert_eq!(uncovered_spans("docs/adr/glossary.md", glossary), [glossary]);
    }

    #[test]
    fn covers_memory_files_line_by_line() {
        let entry = "{\"decision\": \"Use boats\", \"why\": \"Water\"}\n";
        assert_eq!(uncovered_spans(".claude/memory/a.jsonl", &entry.repeat(3)), [""; 0]);
        let long = format!("{{\"decision\": \"{}\"}}\n", "boats ".repeat(2_000));
        assert_eq!(
            uncovered_spans(".claude/memory/a.jsonl", &format!("{entry}{long}{entry}")),
            [long]
        );
    }

    proptest! {
        #[test]
        fn uncovered_spans_always_have_words(text in r"(?s)([-#>*`~=\n :|a-z0-9.]|must |\PC){0,200}") {
            for path in ["AGENTS.md", "docs/adr/1.md", ".claude/memory/a.md", "CONTRIBUTING.md"] {
                let parts = uncovered_spans(path, &text);
                prop_assert!(parts.iter().all(|part| part.contains(char::is_alphanumeric)));
            }
        }
    }
}

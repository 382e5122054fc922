//! The second pass: reads the matching lines of one file, with their context.

use std::collections::VecDeque;

use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::count::FileCount;
use super::excerpt::{count_characters, excerpt_line};
use super::reader::{FileSearcher, searcher_settings};
use super::{CONTEXT_LINES, GrepMatch, GrepQuery};
use crate::{FileStamp, FileTree};

/// The matches of one file.
#[derive(Default)]
pub(super) struct FileMatches {
    pub(super) matches: Vec<GrepMatch>,
    /// Number of matching lines. This is the count of the first pass, unless the file has changed since.
    pub(super) total: u64,
}

/// Returns the first `wanted` matches of a file. The result is empty if the file can no longer be read.
pub(super) fn read_file_matches(
    tree: &FileTree,
    query: &GrepQuery,
    path: &str,
    counted: &FileCount,
    wanted: usize,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> FileMatches {
    let Ok((file, metadata)) = tree.open(path) else { return FileMatches::default() };
    let unchanged = FileStamp::from_metadata(&metadata) == counted.stamp;
    let collector = || MatchCollector {
        query,
        path,
        wanted,
        count_all: !unchanged,
        matches: Vec::new(),
        total: 0,
        recent: VecDeque::new(),
        last_line: 0,
    };
    let bytes = if unchanged { counted.bytes } else { u64::MAX };
    let mut settings = searcher_settings();
    settings.before_context(CONTEXT_LINES).after_context(CONTEXT_LINES);
    let mut reader = FileSearcher::new(settings, is_cancelled);
    match reader.search_file(&query.matcher, &file, metadata.len(), bytes, collector) {
        Ok(MatchCollector { matches, total, .. }) => {
            FileMatches { matches, total: if unchanged { counted.matches } else { total } }
        }
        // The file became unreadable after the first pass.
        Err(_) => FileMatches::default(),
    }
}

/// Collects matches and their context.
struct MatchCollector<'a> {
    query: &'a GrepQuery,
    path: &'a str,
    wanted: usize,
    count_all: bool,
    matches: Vec<GrepMatch>,
    total: u64,
    /// The most recent lines, which are the context before the next match.
    recent: VecDeque<String>,
    last_line: u64,
}

impl MatchCollector<'_> {
    /// Adds a line to the context of nearby matches. Returns true if more lines are needed.
    fn record_line(&mut self, line: u64, text: &[u8]) -> bool {
        if line != self.last_line + 1 {
            self.recent.clear();
        }
        self.last_line = line;
        for near in self.matches.iter_mut().rev().take(CONTEXT_LINES) {
            if near.line < line && line - near.line <= CONTEXT_LINES as u64 {
                near.after.push(excerpt_line(text, 0));
            }
        }
        if self.matches.len() < self.wanted {
            if self.recent.len() == CONTEXT_LINES {
                self.recent.pop_front();
            }
            self.recent.push_back(excerpt_line(text, 0));
            return true;
        }
        let complete =
            self.matches.last().is_none_or(|last| line >= last.line + CONTEXT_LINES as u64);
        self.count_all || !complete
    }

    /// Returns the byte offset of the first match in its line. The search follows ripgrep's JSON output: it sees the
    /// preceding lines, and excludes the line ending.
    fn match_start(&self, found: &SinkMatch<'_>) -> usize {
        let range = found.bytes_range_in_buffer();
        let buffer = &found.buffer()[..range.end];
        let buffer = buffer.strip_suffix(b"\n").unwrap_or(buffer);
        let first = self.query.matcher.find_at(buffer, range.start).ok().flatten();
        first.map_or(0, |first| first.start().saturating_sub(range.start))
    }
}

impl Sink for MatchCollector<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.total += 1;
        let line = found.line_number().expect("line numbers are on by default");
        let text = found.bytes();
        let new = (self.matches.len() < self.wanted).then(|| {
            let start = self.match_start(found);
            let before =
                if line == self.last_line + 1 { self.recent.clone().into() } else { Vec::new() };
            GrepMatch {
                file: self.path.to_owned(),
                line,
                column: count_characters(&text[..start.min(text.len())]) as u64 + 1,
                text: excerpt_line(text, start),
                before,
                after: Vec::new(),
            }
        });
        let more = self.record_line(line, text);
        let is_new = new.is_some();
        self.matches.extend(new);
        Ok(more || is_new)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let line = context.line_number().expect("line numbers are on by default");
        Ok(self.record_line(line, context.bytes()))
    }
}

//! The second pass: the matching lines of one file, with their context.

use std::collections::VecDeque;

use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use super::count::FileCount;
use super::excerpt::{characters, excerpt};
use super::reader::{Reader, settings};
use super::{CONTEXT_LINES, Match, Query};
use crate::{Stamp, Tree};

#[derive(Default)]
pub(super) struct FileLines {
    pub(super) matches: Vec<Match>,
    /// How many lines of the file match: what was counted before, unless the file has changed since.
    pub(super) total: u64,
}

/// The first `wanted` matches of a file.
pub(super) fn of_file(
    tree: &Tree,
    query: &Query,
    path: &str,
    counted: &FileCount,
    wanted: usize,
    is_cancelled: &(dyn Fn() -> bool + Sync),
) -> FileLines {
    let Ok((file, metadata)) = tree.open(path) else { return FileLines::default() };
    let unchanged = Stamp::of(&metadata) == counted.stamp;
    let collector = || Collector {
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
    let mut settings = settings();
    settings.before_context(CONTEXT_LINES).after_context(CONTEXT_LINES);
    let mut reader = Reader::new(settings, is_cancelled);
    match reader.search(&query.matcher, &file, metadata.len(), bytes, collector) {
        Ok(Collector { matches, total, .. }) => {
            FileLines { matches, total: if unchanged { counted.matches } else { total } }
        }
        // It was readable a moment ago, and is not any more.
        Err(_) => FileLines::default(),
    }
}

struct Collector<'a> {
    query: &'a Query,
    path: &'a str,
    wanted: usize,
    count_all: bool,
    matches: Vec<Match>,
    total: u64,
    /// The last lines, for the context before the next match.
    recent: VecDeque<String>,
    last_line: u64,
}

impl Collector<'_> {
    /// Takes a line into the context of the matches near it; whether more lines are needed.
    fn take(&mut self, line: u64, text: &[u8]) -> bool {
        if line != self.last_line + 1 {
            self.recent.clear();
        }
        self.last_line = line;
        for near in self.matches.iter_mut().rev().take(CONTEXT_LINES) {
            if near.line < line && line - near.line <= CONTEXT_LINES as u64 {
                near.after.push(excerpt(text, 0));
            }
        }
        if self.matches.len() < self.wanted {
            if self.recent.len() == CONTEXT_LINES {
                self.recent.pop_front();
            }
            self.recent.push_back(excerpt(text, 0));
            return true;
        }
        let complete =
            self.matches.last().is_none_or(|last| line >= last.line + CONTEXT_LINES as u64);
        self.count_all || !complete
    }

    /// Where on its line the first match begins, in bytes. Looked for as ripgrep does for its JSON output: with the
    /// lines before in sight, and without the end of the line.
    fn start(&self, found: &SinkMatch<'_>) -> usize {
        let range = found.bytes_range_in_buffer();
        let buffer = &found.buffer()[..range.end];
        let buffer = buffer.strip_suffix(b"\n").unwrap_or(buffer);
        let first = self.query.matcher.find_at(buffer, range.start).ok().flatten();
        first.map_or(0, |first| first.start().saturating_sub(range.start))
    }
}

impl Sink for Collector<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.total += 1;
        let line = found.line_number().expect("line numbers are on by default");
        let text = found.bytes();
        let new = (self.matches.len() < self.wanted).then(|| {
            let start = self.start(found);
            let before =
                if line == self.last_line + 1 { self.recent.clone().into() } else { Vec::new() };
            Match {
                file: self.path.to_owned(),
                line,
                column: characters(&text[..start.min(text.len())]) as u64 + 1,
                text: excerpt(text, start),
                before,
                after: Vec::new(),
            }
        });
        let more = self.take(line, text);
        let is_new = new.is_some();
        self.matches.extend(new);
        Ok(more || is_new)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let line = context.line_number().expect("line numbers are on by default");
        Ok(self.take(line, context.bytes()))
    }
}

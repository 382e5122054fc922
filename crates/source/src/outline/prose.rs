//! Text without a grammar: cut at headings, at blank lines, and where nothing else helps by size.

use super::ChunkKind;
use super::names::{MAX_NAME_BYTES, part_of};
use super::pieces::Piece;
use crate::lines::Lines;

/// A paragraph or section up to this size stays whole.
const WHOLE_BYTES: usize = 3000;
/// What longer ones are cut into.
const SLICE_BYTES: usize = 1500;
/// Text that no reader reads line by line is cut into this many parts at most.
const DENSE_PARTS: usize = 64;

/// Paragraphs: what stands between blank lines.
pub(super) fn by_blank_lines(text: &str, lines: &Lines) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut after_blank = false;
    for line in lines.ranges(text) {
        let blank = text[line.clone()].trim().is_empty();
        if after_blank && !blank {
            push_slices(text, start, line.start, None, &mut pieces);
            start = line.start;
        }
        after_blank = blank;
    }
    push_slices(text, start, text.len(), None, &mut pieces);
    pieces
}

/// Sections: what a Markdown heading stands over, named after it and the headings above it.
pub(super) fn by_headings(text: &str, lines: &Lines) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    // Levels, with the heading's title and those above it.
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut name: Option<String> = None;
    let mut fence: Option<&str> = None;
    let mut front_matter = text.starts_with("---\n") || text.starts_with("---\r\n");
    for range in lines.ranges(text) {
        let begin = range.start;
        let line = text[range].trim_end();
        if front_matter {
            front_matter = begin == 0 || line != "---";
            continue;
        }
        if let Some(mark) = fence_mark(line) {
            let bare = line.trim() == mark;
            fence = match fence {
                None => Some(mark),
                Some(open) if bare && mark.starts_with(open) => None,
                open => open,
            };
            continue;
        }
        if fence.is_some() {
            continue;
        }
        let Some((level, title)) = heading(line) else { continue };
        push_slices(text, start, begin, name.as_deref(), &mut pieces);
        start = begin;
        path.retain(|(above, _)| *above < level);
        let above = path.last().map(|(_, above)| above.as_str());
        let whole = above.map_or(title.to_owned(), |above| part_of(above, " > ", title));
        name = Some(whole.clone());
        path.push((level, whole));
    }
    push_slices(text, start, text.len(), name.as_deref(), &mut pieces);
    pieces
}

/// Parts of equal size, few however long the text is.
pub(super) fn by_size(text: &str) -> Vec<Piece> {
    let size = SLICE_BYTES.max(text.len().div_ceil(DENSE_PARTS));
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < text.len() {
        at = text.floor_char_boundary(at + size).max(at + 1);
        at = text.ceil_char_boundary(at);
        pieces.push(Piece::text(at as u32));
    }
    pieces
}

/// Ends of parts of `text[start..end]`, each at the end of a line if there is one in reach.
pub(super) fn slices(text: &str, start: usize, end: usize) -> Vec<u32> {
    let mut ends = Vec::new();
    let mut at = start;
    while end - at > SLICE_BYTES {
        let limit = text.floor_char_boundary(at + SLICE_BYTES);
        let cut = match text[at..limit].rfind('\n') {
            Some(newline) if newline > 0 => at + newline + 1,
            _ => limit,
        };
        ends.push(cut as u32);
        at = cut;
    }
    if end > at {
        ends.push(end as u32);
    }
    ends
}

fn push_slices(text: &str, start: usize, end: usize, name: Option<&str>, pieces: &mut Vec<Piece>) {
    if start == end {
        return;
    }
    let ends = if end - start <= WHOLE_BYTES { vec![end as u32] } else { slices(text, start, end) };
    for end in ends {
        let kind = if name.is_some() { ChunkKind::Section } else { ChunkKind::Text };
        let name = name.map(str::to_owned);
        pieces.push(Piece { kind, definition: name.is_some(), name, ..Piece::text(end) });
    }
}

fn fence_mark(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.as_bytes().first().filter(|byte| **byte == b'`' || **byte == b'~')?;
    let length = line.bytes().take_while(|byte| byte == mark).count();
    (length >= 3).then(|| &line[..length])
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title =
        line.get(level..)?.strip_prefix([' ', '\t'])?.trim().trim_end_matches('#').trim_end();
    let title = &title[..title.floor_char_boundary(MAX_NAME_BYTES)];
    ((1..=6).contains(&level) && !title.is_empty()).then_some((level, title))
}

//! Splitting of text without a grammar: at headings, at blank lines, or by size.

use super::ChunkKind;
use super::definitions::{MAX_NAME_BYTES, qualify_name};
use super::fragments::OutlineFragment;
use crate::line_starts::LineStarts;

/// Maximum size of a paragraph or section that is not split.
const WHOLE_BYTES: usize = 3000;
/// Target size of the slices of longer paragraphs and sections.
const SLICE_BYTES: usize = 1500;
/// Maximum number of slices of minified code or data.
const DENSE_PARTS: usize = 64;

/// Splits a text into paragraphs.
pub(super) fn split_at_blank_lines(text: &str, lines: &LineStarts) -> Vec<OutlineFragment> {
    let mut fragments = Vec::new();
    let mut start = 0;
    let mut after_blank = false;
    for line in lines.line_ranges(text) {
        let blank = text[line.clone()].trim().is_empty();
        if after_blank && !blank {
            push_slices(text, start, line.start, None, &mut fragments);
            start = line.start;
        }
        after_blank = blank;
    }
    push_slices(text, start, text.len(), None, &mut fragments);
    fragments
}

/// Splits a Markdown text into sections, each named after its heading and the headings above it.
pub(super) fn split_at_headings(text: &str, lines: &LineStarts) -> Vec<OutlineFragment> {
    let mut fragments = Vec::new();
    let mut start = 0;
    // Level and qualified title of each open heading.
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut name: Option<String> = None;
    let mut fence: Option<&str> = None;
    let mut front_matter = text.starts_with("---\n") || text.starts_with("---\r\n");
    for range in lines.line_ranges(text) {
        let begin = range.start;
        let line = text[range].trim_end();
        if front_matter {
            front_matter = begin == 0 || line != "---";
            continue;
        }
        if let Some(mark) = parse_fence_mark(line) {
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
        let Some((level, title)) = parse_heading(line) else { continue };
        push_slices(text, start, begin, name.as_deref(), &mut fragments);
        start = begin;
        path.retain(|(above, _)| *above < level);
        let above = path.last().map(|(_, above)| above.as_str());
        let whole = above.map_or(title.to_owned(), |above| qualify_name(above, " > ", title));
        name = Some(whole.clone());
        path.push((level, whole));
    }
    push_slices(text, start, text.len(), name.as_deref(), &mut fragments);
    fragments
}

/// Splits a text into at most [`DENSE_PARTS`] slices of equal size.
pub(super) fn split_by_size(text: &str) -> Vec<OutlineFragment> {
    let size = SLICE_BYTES.max(text.len().div_ceil(DENSE_PARTS));
    let mut fragments = Vec::new();
    let mut at = 0;
    while at < text.len() {
        at = text.floor_char_boundary(at + size).max(at + 1);
        at = text.ceil_char_boundary(at);
        fragments.push(OutlineFragment::unnamed_text(at as u32));
    }
    fragments
}

/// Returns the end offsets of the slices of `text[start..end]`. Slices end at a line break where possible.
pub(super) fn slice_ends(text: &str, start: usize, end: usize) -> Vec<u32> {
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

fn push_slices(
    text: &str,
    start: usize,
    end: usize,
    name: Option<&str>,
    fragments: &mut Vec<OutlineFragment>,
) {
    if start == end {
        return;
    }
    let ends =
        if end - start <= WHOLE_BYTES { vec![end as u32] } else { slice_ends(text, start, end) };
    for end in ends {
        let kind = if name.is_some() { ChunkKind::Section } else { ChunkKind::Text };
        let name = name.map(str::to_owned);
        fragments.push(OutlineFragment {
            kind,
            definition: name.is_some(),
            name,
            ..OutlineFragment::unnamed_text(end)
        });
    }
}

fn parse_fence_mark(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.as_bytes().first().filter(|byte| **byte == b'`' || **byte == b'~')?;
    let length = line.bytes().take_while(|byte| byte == mark).count();
    (length >= 3).then(|| &line[..length])
}

fn parse_heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title =
        line.get(level..)?.strip_prefix([' ', '\t'])?.trim().trim_end_matches('#').trim_end();
    let title = &title[..title.floor_char_boundary(MAX_NAME_BYTES)];
    ((1..=6).contains(&level) && !title.is_empty()).then_some((level, title))
}

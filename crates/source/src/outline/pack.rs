//! Merging of fragments into chunks: small neighbors are joined, and the number of chunks is limited.

use super::fragments::OutlineFragment;
use super::{Chunk, ChunkKind};
use crate::line_starts::LineStarts;

/// Minimum size of a definition that gets its own chunk.
const ALONE_BYTES: u32 = 400;
/// Maximum size of a chunk merged from smaller fragments.
const JOINED_BYTES: u32 = 1200;
/// Maximum size of a type's head that is merged with the first member regardless of the member's size.
const HEAD_BYTES: u32 = 150;
/// Maximum number of chunks per file. Above it, neighbors are merged regardless of their kind.
const MAX_CHUNKS: u32 = 1500;
/// Minimum length of a line that counts as minified code or data.
const LONG_LINE_BYTES: usize = 1000;

/// Returns `true` if most of the text is in very long lines, as in minified code or embedded data.
pub(super) fn is_dense(text: &str, lines: &LineStarts) -> bool {
    let sizes = lines.line_ranges(text).map(|line| line.len());
    let long: usize = sizes.filter(|size| *size > LONG_LINE_BYTES).sum();
    text.len() > 2 * LONG_LINE_BYTES && long > text.len() / 2
}

pub(super) fn pack_chunks(
    text: &str,
    lines: &LineStarts,
    fragments: Vec<OutlineFragment>,
) -> Vec<Chunk> {
    let mut open: Vec<ChunkBuilder> = Vec::new();
    let mut start = 0;
    let whole = text.len() as u32;
    for fragment in fragments {
        let size = fragment.end - start;
        match open.last_mut() {
            Some(last) if last.can_merge(&fragment, size) => last.merge(fragment, size),
            _ => open.push(ChunkBuilder { start, named: size, fragment }),
        }
        start = open.last().map_or(start, |last| last.fragment.end);
    }
    match open.last_mut() {
        Some(last) => last.fragment.end = whole,
        None => open.push(ChunkBuilder {
            start: 0,
            named: whole,
            fragment: OutlineFragment::unnamed_text(whole),
        }),
    }
    limit_chunks(&mut open, whole);
    open.into_iter().map(|open| open.into_chunk(lines)).collect()
}

/// Merges neighbors until the number of chunks is close to [`MAX_CHUNKS`].
fn limit_chunks(open: &mut Vec<ChunkBuilder>, whole: u32) {
    if open.len() as u32 <= MAX_CHUNKS {
        return;
    }
    let size = whole / MAX_CHUNKS + 1;
    let mut joined: Vec<ChunkBuilder> = Vec::new();
    for next in open.drain(..) {
        match joined.last_mut() {
            Some(last) if last.size() < size => {
                let size = next.size();
                last.merge(next.fragment, size);
            }
            _ => joined.push(next),
        }
    }
    *open = joined;
}

/// A chunk under construction.
struct ChunkBuilder {
    start: u32,
    /// Size of the fragment that the chunk is named after.
    named: u32,
    fragment: OutlineFragment,
}

impl ChunkBuilder {
    fn size(&self) -> u32 {
        self.fragment.end - self.start
    }

    /// Returns `true` if the next fragment may be merged into this chunk.
    fn can_merge(&self, next: &OutlineFragment, size: u32) -> bool {
        let alone = |fragment: &OutlineFragment, size| fragment.definition && size >= ALONE_BYTES;
        let import = |fragment: &OutlineFragment| fragment.kind == ChunkKind::Imports;
        let head = self.fragment.head && self.size() <= HEAD_BYTES;
        self.fragment.group == next.group
            && import(&self.fragment) == import(next)
            && !alone(&self.fragment, self.named)
            && (head || self.size() + size <= JOINED_BYTES && !alone(next, size))
    }

    /// Appends a fragment. The largest definition names the chunk; the type itself names a head with small members.
    fn merge(&mut self, next: OutlineFragment, size: u32) {
        let last = &mut self.fragment;
        last.end = next.end;
        let better = match (last.definition, next.definition) {
            _ if last.head => size >= ALONE_BYTES,
            (false, true) => true,
            (true, false) => false,
            _ => size > self.named && next.name.is_some() || last.name.is_none(),
        };
        if better {
            last.kind = next.kind;
            last.name = next.name;
            last.definition = next.definition;
            last.head = false;
            self.named = size;
        }
        last.defines.extend(next.defines);
    }

    fn into_chunk(self, lines: &LineStarts) -> Chunk {
        let OutlineFragment { end, kind, name, mut defines, .. } = self.fragment;
        let mut seen = std::collections::HashSet::new();
        defines.retain(|name| seen.insert(name.clone()));
        Chunk {
            bytes: self.start..end,
            lines: lines.line_at(self.start)..lines.line_at(end.max(1) - 1) + 1,
            kind,
            name,
            defines,
        }
    }
}

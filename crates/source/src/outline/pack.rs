//! Pieces become chunks: small neighbours are joined, and their number is bounded.

use super::pieces::Piece;
use super::{Chunk, ChunkKind};
use crate::lines::Lines;

/// A definition of this size is a chunk by itself.
const ALONE_BYTES: u32 = 400;
/// Smaller ones are joined up to this size.
const JOINED_BYTES: u32 = 1200;
/// What begins a class and is no longer than this goes with the first member, whatever its size.
const HEAD_BYTES: u32 = 150;
/// Of one file; then neighbours are joined whatever they are.
const MAX_CHUNKS: u32 = 1500;
/// Lines longer than this were not written by hand.
const LONG_LINE_BYTES: usize = 1000;

/// Whether most of the text is in very long lines: minified code, embedded data.
pub(super) fn is_dense(text: &str, lines: &Lines) -> bool {
    let sizes = lines.ranges(text).map(|line| line.len());
    let long: usize = sizes.filter(|size| *size > LONG_LINE_BYTES).sum();
    text.len() > 2 * LONG_LINE_BYTES && long > text.len() / 2
}

pub(super) fn pack(text: &str, lines: &Lines, pieces: Vec<Piece>) -> Vec<Chunk> {
    let mut open: Vec<Open> = Vec::new();
    let mut start = 0;
    let whole = text.len() as u32;
    for piece in pieces {
        let size = piece.end - start;
        match open.last_mut() {
            Some(last) if last.takes(&piece, size) => last.join(piece, size),
            _ => open.push(Open { start, named: size, piece }),
        }
        start = open.last().map_or(start, |last| last.piece.end);
    }
    match open.last_mut() {
        Some(last) => last.piece.end = whole,
        None => open.push(Open { start: 0, named: whole, piece: Piece::text(whole) }),
    }
    bound(&mut open, whole);
    open.into_iter().map(|open| open.close(lines)).collect()
}

/// Joins neighbours that are too many to keep.
fn bound(open: &mut Vec<Open>, whole: u32) {
    if open.len() as u32 <= MAX_CHUNKS {
        return;
    }
    let size = whole / MAX_CHUNKS + 1;
    let mut joined: Vec<Open> = Vec::new();
    for next in open.drain(..) {
        match joined.last_mut() {
            Some(last) if last.size() < size => {
                let size = next.size();
                last.join(next.piece, size);
            }
            _ => joined.push(next),
        }
    }
    *open = joined;
}

/// A chunk that may still grow.
struct Open {
    start: u32,
    /// The size of the piece that the chunk is named after.
    named: u32,
    piece: Piece,
}

impl Open {
    fn size(&self) -> u32 {
        self.piece.end - self.start
    }

    fn takes(&self, next: &Piece, size: u32) -> bool {
        let alone = |piece: &Piece, size| piece.definition && size >= ALONE_BYTES;
        let import = |piece: &Piece| piece.kind == ChunkKind::Imports;
        let head = self.piece.head && self.size() <= HEAD_BYTES;
        self.piece.group == next.group
            && import(&self.piece) == import(next)
            && !alone(&self.piece, self.named)
            && (head || self.size() + size <= JOINED_BYTES && !alone(next, size))
    }

    /// The biggest definition gives the name; a type, if only its small members are with it.
    fn join(&mut self, next: Piece, size: u32) {
        let last = &mut self.piece;
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

    fn close(self, lines: &Lines) -> Chunk {
        let Piece { end, kind, name, mut defines, .. } = self.piece;
        let mut seen = std::collections::HashSet::new();
        defines.retain(|name| seen.insert(name.clone()));
        Chunk {
            bytes: self.start..end,
            lines: lines.at(self.start)..lines.at(end.max(1) - 1) + 1,
            kind,
            name,
            defines,
        }
    }
}

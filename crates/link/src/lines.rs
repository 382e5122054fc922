//! A child's standard output cut into lines, none of which is ever held beyond the limit.
//!
//! A longer line is counted and thrown away as it comes; of its two ends just enough is kept to find the id of the call
//! that it would have answered.

use memchr::{memchr, memmem};

use crate::scan::end_of_string;

const HEAD: usize = 1024;
const TAIL: usize = 256;
/// A buffer that grew beyond this for one message is given back after it.
const KEPT_CAPACITY: usize = 256 * 1024;

pub(crate) enum Line<'a> {
    Whole(&'a [u8]),
    Oversized { size: usize, id: Option<u64> },
}

pub(crate) struct Lines {
    limit: usize,
    buffer: Vec<u8>,
    skipped: Option<Skipped>,
}

struct Skipped {
    size: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Lines {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, buffer: Vec::new(), skipped: None }
    }

    pub(crate) fn push(&mut self, mut chunk: &[u8], mut emit: impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (piece, rest) = (&chunk[..end], &chunk[end + 1..]);
            if self.skipped.is_none() && self.buffer.is_empty() && piece.len() <= self.limit {
                emit(Line::Whole(piece));
            } else {
                self.take(piece);
                self.finish(&mut emit);
            }
            chunk = rest;
        }
        if !chunk.is_empty() {
            self.take(chunk);
        }
    }

    fn take(&mut self, piece: &[u8]) {
        if let Some(skipped) = &mut self.skipped {
            skipped.size += piece.len();
            keep_tail(&mut skipped.tail, piece);
            return;
        }
        self.buffer.extend_from_slice(piece);
        if self.buffer.len() > self.limit {
            let whole = std::mem::take(&mut self.buffer);
            let mut tail = Vec::new();
            keep_tail(&mut tail, &whole);
            let head = whole[..whole.len().min(HEAD)].to_vec();
            self.skipped = Some(Skipped { size: whole.len(), head, tail });
        }
    }

    fn finish(&mut self, emit: &mut impl FnMut(Line<'_>)) {
        match self.skipped.take() {
            Some(Skipped { size, head, tail }) => {
                let id = id_in_head(&head).or_else(|| id_in_tail(&tail));
                emit(Line::Oversized { size, id });
            }
            None => {
                emit(Line::Whole(&self.buffer));
                self.buffer.clear();
                if self.buffer.capacity() > KEPT_CAPACITY {
                    self.buffer = Vec::new();
                }
            }
        }
    }
}

fn keep_tail(tail: &mut Vec<u8>, piece: &[u8]) {
    tail.extend_from_slice(&piece[piece.len().saturating_sub(TAIL)..]);
    let excess = tail.len().saturating_sub(TAIL);
    tail.drain(..excess);
}

/// The value of the outermost `id`, if it stands before the long part.
fn id_in_head(head: &[u8]) -> Option<u64> {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = head.get(at) {
        match byte {
            b'"' => {
                let end = end_of_string(head, at + 1);
                if depth == 1 && &head[at..end] == b"\"id\"" {
                    let rest = after(&head[end..], b":")?;
                    return number(rest).map(|(id, _)| id);
                }
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The value of an `id` that is the last member, or the last but `jsonrpc`.
fn id_in_tail(tail: &[u8]) -> Option<u64> {
    let at = memmem::rfind(tail, b"\"id\"")?;
    let rest = after(&tail[at + 4..], b":")?;
    let (id, rest) = number(rest)?;
    let version = [b",".as_slice(), b"\"jsonrpc\"", b":", b"\"2.0\""];
    let rest = version.iter().try_fold(rest, |rest, part| after(rest, part)).unwrap_or(rest);
    after(rest, b"}")?.trim_ascii().is_empty().then_some(id)
}

fn after<'a>(text: &'a [u8], part: &[u8]) -> Option<&'a [u8]> {
    text.trim_ascii_start().strip_prefix(part)
}

/// A number of ours, as such or as a string, that ends within the text.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.trim_ascii_start();
    let bare = text.strip_prefix(b"\"").unwrap_or(text);
    let end = bare.iter().position(|byte| !byte.is_ascii_digit())?;
    let id = str::from_utf8(&bare[..end]).ok()?.parse().ok()?;
    let rest = &bare[end..];
    Some((id, rest.strip_prefix(b"\"").unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(limit: usize, chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::new(limit);
        let mut out = Vec::new();
        for chunk in chunks {
            lines.push(chunk, |line| {
                out.push(match line {
                    Line::Whole(text) => String::from_utf8_lossy(text).into_owned(),
                    Line::Oversized { size, id } => format!("{size} bytes, id {id:?}"),
                });
            });
        }
        out
    }

    #[test]
    fn a_long_line_is_skipped_and_its_id_found() {
        let long = "x".repeat(5000);
        for (line, id) in [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":"{long}"}}"#), "Some(7)"),
            (format!(r#"{{"meta":{{"id":1}}, "id" : "8","result":"{long}"}}"#), "Some(8)"),
            (format!(r#"{{"result":{{"id":1,"t":"{long}"}},"jsonrpc":"2.0","id":9}}"#), "Some(9)"),
            (format!(r#"{{"result":"{long}","id":10, "jsonrpc" :"2.0"}}"#), "Some(10)"),
            (format!(r#"{{"result":{{"t":"{long}","id":3}}}}"#), "None"),
            (format!(r#"{{"result":"{long}\"id\":3}}"#), "None"),
            (long.clone(), "None"),
        ] {
            let expected = format!("{} bytes, id {id}", line.len());
            let text = format!("{line}\nnext\n");
            assert_eq!(cut(4000, &[text.as_bytes()]), [expected.as_str(), "next"]);
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(cut(4000, &bytes), [expected.as_str(), "next"]);
        }
    }

    proptest! {
        /// However the bytes arrive, the lines are the same.
        #[test]
        fn chunks_do_not_matter(text in "[a-c\n]{0,200}", size in 1usize..20, limit in 1usize..30) {
            let whole = cut(limit, &[text.as_bytes()]);
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(cut(limit, &chunks), whole.clone());
            let complete = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
            let expected: Vec<String> = complete.split('\n').map(|line| {
                if line.len() > limit { format!("{} bytes, id None", line.len()) } else { line.to_owned() }
            }).collect();
            if text.contains('\n') {
                prop_assert_eq!(whole, expected);
            }
        }
    }
}

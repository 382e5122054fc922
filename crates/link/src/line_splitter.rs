//! Splits a child's standard output into lines. It never buffers a line beyond the size limit.
//!
//! A longer line is discarded as it arrives. Only its head and tail are kept, to find the id of the call that it belongs to.

use memchr::{memchr, memmem};

use crate::json_scan::end_of_string;

/// Bytes kept from the start of an oversized line.
const HEAD_BYTES: usize = 1024;
/// Bytes kept from the end of an oversized line.
const TAIL_BYTES: usize = 256;
/// A buffer that grew beyond this is freed after its message.
const MAX_KEPT_CAPACITY: usize = 256 * 1024;

/// One line of output.
pub(crate) enum StdioFrame<'a> {
    Whole(&'a [u8]),
    Oversized { size: usize, id: Option<u64> },
}

/// Incremental splitter of lines.
pub(crate) struct LineSplitter {
    limit: usize,
    buffer: Vec<u8>,
    skipped: Option<OversizedLine>,
}

/// The line over the limit that is being discarded.
struct OversizedLine {
    size: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl LineSplitter {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, buffer: Vec::new(), skipped: None }
    }

    /// Adds a chunk and calls `emit` for each line that it completes.
    pub(crate) fn push(&mut self, mut chunk: &[u8], mut emit: impl FnMut(StdioFrame<'_>)) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (fragment, rest) = (&chunk[..end], &chunk[end + 1..]);
            if self.skipped.is_none() && self.buffer.is_empty() && fragment.len() <= self.limit {
                emit(StdioFrame::Whole(fragment));
            } else {
                self.push_fragment(fragment);
                self.finish_line(&mut emit);
            }
            chunk = rest;
        }
        if !chunk.is_empty() {
            self.push_fragment(chunk);
        }
    }

    fn push_fragment(&mut self, fragment: &[u8]) {
        if let Some(skipped) = &mut self.skipped {
            skipped.size += fragment.len();
            keep_tail(&mut skipped.tail, fragment);
            return;
        }
        self.buffer.extend_from_slice(fragment);
        if self.buffer.len() > self.limit {
            let whole = std::mem::take(&mut self.buffer);
            let mut tail = Vec::new();
            keep_tail(&mut tail, &whole);
            let head = whole[..whole.len().min(HEAD_BYTES)].to_vec();
            self.skipped = Some(OversizedLine { size: whole.len(), head, tail });
        }
    }

    fn finish_line(&mut self, emit: &mut impl FnMut(StdioFrame<'_>)) {
        match self.skipped.take() {
            Some(OversizedLine { size, head, tail }) => {
                let id = id_in_head(&head).or_else(|| id_in_tail(&tail));
                emit(StdioFrame::Oversized { size, id });
            }
            None => {
                emit(StdioFrame::Whole(&self.buffer));
                self.buffer.clear();
                if self.buffer.capacity() > MAX_KEPT_CAPACITY {
                    self.buffer = Vec::new();
                }
            }
        }
    }
}

fn keep_tail(tail: &mut Vec<u8>, fragment: &[u8]) {
    tail.extend_from_slice(&fragment[fragment.len().saturating_sub(TAIL_BYTES)..]);
    let excess = tail.len().saturating_sub(TAIL_BYTES);
    tail.drain(..excess);
}

/// Returns the outermost `id`, if it comes before the long part.
fn id_in_head(head: &[u8]) -> Option<u64> {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = head.get(at) {
        match byte {
            b'"' => {
                let end = end_of_string(head, at + 1);
                if depth == 1 && &head[at..end] == b"\"id\"" {
                    let rest = strip_token(&head[end..], b":")?;
                    return parse_id(rest).map(|(id, _)| id);
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

/// Returns the `id` if it is the last field, or the last before `jsonrpc`.
fn id_in_tail(tail: &[u8]) -> Option<u64> {
    let at = memmem::rfind(tail, b"\"id\"")?;
    let rest = strip_token(&tail[at + 4..], b":")?;
    let (id, rest) = parse_id(rest)?;
    let version = [b",".as_slice(), b"\"jsonrpc\"", b":", b"\"2.0\""];
    let rest = version.iter().try_fold(rest, |rest, part| strip_token(rest, part)).unwrap_or(rest);
    strip_token(rest, b"}")?.trim_ascii().is_empty().then_some(id)
}

/// Returns the rest of the text after `part`, ignoring leading whitespace.
fn strip_token<'a>(text: &'a [u8], part: &[u8]) -> Option<&'a [u8]> {
    text.trim_ascii_start().strip_prefix(part)
}

/// Parses a request id, as a number or a string, that ends within the text. Returns it with the rest of the text.
fn parse_id(text: &[u8]) -> Option<(u64, &[u8])> {
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

    fn split(limit: usize, chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = LineSplitter::new(limit);
        let mut out = Vec::new();
        for chunk in chunks {
            lines.push(chunk, |line| {
                out.push(match line {
                    StdioFrame::Whole(text) => String::from_utf8_lossy(text).into_owned(),
                    StdioFrame::Oversized { size, id } => format!("{size} bytes, id {id:?}"),
                });
            });
        }
        out
    }

    #[test]
    fn skips_long_lines_and_finds_their_ids() {
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
            assert_eq!(split(4000, &[text.as_bytes()]), [expected.as_str(), "next"]);
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(split(4000, &bytes), [expected.as_str(), "next"]);
        }
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_chunk_boundaries(text in "[a-c\n]{0,200}", size in 1usize..20, limit in 1usize..30) {
            let whole = split(limit, &[text.as_bytes()]);
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(split(limit, &chunks), whole.clone());
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

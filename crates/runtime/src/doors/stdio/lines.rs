//! Lines of bounded length. Knows nothing of what is in them.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// What a pipe holds on Linux.
const BUFFER_BYTES: usize = 64 * 1024;

#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// Without its line break. The last one may have had none.
    Whole(&'a [u8]),
    /// Over the limit; it has been read to its end and thrown away.
    TooLong,
    End,
}

pub(super) struct Lines<R> {
    input: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    skipping: bool,
    /// `line` has been handed out and is to be cleared.
    handed: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        let input = BufReader::with_capacity(BUFFER_BYTES, input);
        Self { input, limit, line: Vec::new(), skipping: false, handed: false }
    }

    /// The next line. Can be dropped at any time: what was read of a line is kept for the next call.
    pub(super) async fn next(&mut self) -> io::Result<Line<'_>> {
        if std::mem::take(&mut self.handed) {
            self.line.clear();
            // One long line must not hold its memory for the rest of the session.
            self.line.shrink_to(BUFFER_BYTES);
        }
        loop {
            let bytes = self.input.fill_buf().await?;
            let at_end = bytes.is_empty();
            let newline = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..newline.unwrap_or(bytes.len())];
            if !self.skipping && self.line.len() + part.len() > self.limit {
                self.skipping = true;
                self.line = Vec::new();
            }
            if !self.skipping {
                self.line.extend_from_slice(part);
            }
            let consumed = part.len() + usize::from(newline.is_some());
            self.input.consume(consumed);
            if newline.is_none() && !at_end {
                continue;
            }
            if std::mem::take(&mut self.skipping) {
                return Ok(Line::TooLong);
            }
            if at_end && self.line.is_empty() {
                return Ok(Line::End);
            }
            self.handed = true;
            return Ok(Line::Whole(&self.line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    const LIMIT: usize = 5;

    /// The input as `split` sees it.
    fn expected(input: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut lines: Vec<_> = input.split(|byte| *byte == b'\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        lines.into_iter().map(|line| (line.len() <= LIMIT).then(|| line.to_vec())).collect()
    }

    /// The lines of an input that comes in pieces, where the reader is dropped before each piece.
    async fn read(pieces: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
        let (mut writer, reader) = tokio::io::duplex(1024);
        let mut lines = Lines::new(reader, LIMIT);
        let mut found = Vec::new();
        for piece in pieces {
            writer.write_all(piece).await.expect("the reader is there");
            while let Some(line) = futures::FutureExt::now_or_never(lines.next()) {
                found.push(own(line));
            }
        }
        drop(writer);
        loop {
            match lines.next().await {
                Ok(Line::End) => return found,
                line => found.push(own(line)),
            }
        }
    }

    fn own(line: io::Result<Line<'_>>) -> Option<Vec<u8>> {
        match line.expect("a duplex stream does not fail") {
            Line::Whole(bytes) => Some(bytes.to_vec()),
            Line::TooLong => None,
            Line::End => panic!("the input has not ended"),
        }
    }

    proptest! {
        #[test]
        fn lines_are_what_split_finds(
            pieces in prop::collection::vec(prop::collection::vec(prop::sample::select(&b"ab\n"[..]), 0..9), 0..9),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            prop_assert_eq!(runtime.block_on(read(&pieces)), expected(&pieces.concat()));
        }
    }
}

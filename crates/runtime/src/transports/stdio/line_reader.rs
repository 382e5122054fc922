//! Reads lines of bounded length. It does not parse them.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Read buffer size: the capacity of a pipe on Linux.
const BUFFER_BYTES: usize = 64 * 1024;

/// A line of the input.
#[derive(Debug, PartialEq)]
pub(super) enum InputLine<'a> {
    /// A complete line without its line break. The last line may have had none.
    Whole(&'a [u8]),
    /// A line over the limit; it has been read to its end and discarded.
    TooLong,
    /// The end of the input.
    End,
}

/// Splits an input into lines.
pub(super) struct StdioLineReader<R> {
    input: BufReader<R>,
    limit: usize,
    line: Vec<u8>,
    skipping: bool,
    /// `line` has been returned and must be cleared before the next read.
    returned: bool,
}

impl<R: AsyncRead + Unpin> StdioLineReader<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        let input = BufReader::with_capacity(BUFFER_BYTES, input);
        Self { input, limit, line: Vec::new(), skipping: false, returned: false }
    }

    /// Returns the next line. Cancel-safe: a partially read line is kept for the next call.
    pub(super) async fn next_line(&mut self) -> io::Result<InputLine<'_>> {
        if std::mem::take(&mut self.returned) {
            self.line.clear();
            // Release the memory of a long line.
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
                return Ok(InputLine::TooLong);
            }
            if at_end && self.line.is_empty() {
                return Ok(InputLine::End);
            }
            self.returned = true;
            return Ok(InputLine::Whole(&self.line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    const LIMIT: usize = 5;

    /// Returns the lines according to `split`; `None` stands for a line over the limit.
    fn expected(input: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut lines: Vec<_> = input.split(|byte| *byte == b'\n').collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        lines.into_iter().map(|line| (line.len() <= LIMIT).then(|| line.to_vec())).collect()
    }

    /// Returns the lines of an input that arrives in chunks. The pending read is dropped before each chunk.
    async fn read_chunks(chunks: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
        let (mut writer, reader) = tokio::io::duplex(1024);
        let mut lines = StdioLineReader::new(reader, LIMIT);
        let mut lines_read = Vec::new();
        for chunk in chunks {
            writer.write_all(chunk).await.expect("the reader is open");
            while let Some(line) = futures::FutureExt::now_or_never(lines.next_line()) {
                lines_read.push(to_owned_line(line));
            }
        }
        drop(writer);
        loop {
            match lines.next_line().await {
                Ok(InputLine::End) => return lines_read,
                line => lines_read.push(to_owned_line(line)),
            }
        }
    }

    fn to_owned_line(line: io::Result<InputLine<'_>>) -> Option<Vec<u8>> {
        match line.expect("a duplex stream does not fail") {
            InputLine::Whole(bytes) => Some(bytes.to_vec()),
            InputLine::TooLong => None,
            InputLine::End => panic!("the input has not ended"),
        }
    }

    proptest! {
        #[test]
        fn lines_match_split(
            chunks in prop::collection::vec(prop::collection::vec(prop::sample::select(&b"ab\n"[..]), 0..9), 0..9),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            prop_assert_eq!(runtime.block_on(read_chunks(&chunks)), expected(&chunks.concat()));
        }
    }
}

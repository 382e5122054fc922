//! Mapping from byte offsets to line numbers.

use std::ops::Range;

/// Byte offsets at which the lines of a text start.
pub(crate) struct LineStarts {
    starts: Vec<u32>,
}

impl LineStarts {
    pub(crate) fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect();
        Self { starts }
    }

    /// Returns the 1-based number of the line that contains this byte.
    pub(crate) fn line_at(&self, byte: u32) -> u32 {
        self.starts.partition_point(|start| *start <= byte) as u32
    }

    /// Returns the byte range of each line of `text`, including its line break.
    pub(crate) fn line_ranges(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        let ends = self.starts[1..].iter().copied().chain([text.len() as u32]);
        self.starts.iter().zip(ends).map(|(start, end)| *start as usize..end as usize)
    }
}

//! From byte offsets to line numbers.

use std::ops::Range;

/// Where each line of a text begins.
pub(crate) struct Lines {
    starts: Vec<u32>,
}

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect();
        Self { starts }
    }

    /// The line that holds this byte, counted from 1.
    pub(crate) fn at(&self, byte: u32) -> u32 {
        self.starts.partition_point(|start| *start <= byte) as u32
    }

    /// Each line of `text`, with its end.
    pub(crate) fn ranges(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        let ends = self.starts[1..].iter().copied().chain([text.len() as u32]);
        self.starts.iter().zip(ends).map(|(start, end)| *start as usize..end as usize)
    }
}

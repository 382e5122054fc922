//! Offsets in a text to line numbers.

/// Where the lines of a text begin.
pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    /// The line, counted from 1, that holds the byte. What lies behind the end belongs to the last line.
    pub(crate) fn at(&self, offset: u32) -> u32 {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let line = self.starts.partition_point(|start| *start <= offset);
        u32::try_from(line).unwrap_or(u32::MAX)
    }
}

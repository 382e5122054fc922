//! Conversion of byte offsets to line numbers.

/// Start offsets of the lines of a text.
pub(crate) struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    pub(crate) fn from_text(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    /// Returns the 1-based line of a byte offset. Offsets past the end belong to the last line.
    pub(crate) fn line_at(&self, offset: u32) -> u32 {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let line = self.starts.partition_point(|start| *start <= offset);
        u32::try_from(line).unwrap_or(u32::MAX)
    }
}

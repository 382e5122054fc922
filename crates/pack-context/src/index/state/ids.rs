//! IDs of sources and documents.

/// Maximum documents per source; further ones are dropped. A memory file has thousands of entries after some years.
pub(crate) const MAX_DOCUMENTS: usize = 1 << POSITION_BITS;
const POSITION_BITS: u32 = 13;
/// Maximum sources; further ones are not indexed, because their documents would have no number.
pub(crate) const MAX_SOURCES: usize = 1 << (u32::BITS - POSITION_BITS);

/// ID of a file, or of a record that is not in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourceId(pub(super) u32);

/// ID of a document: its source and its position in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DocumentId(u32);

impl DocumentId {
    pub(crate) fn new(source: SourceId, position: usize) -> Self {
        debug_assert!(position < MAX_DOCUMENTS, "document position out of range");
        Self(source.0 << POSITION_BITS | position as u32)
    }

    pub(crate) fn source(self) -> SourceId {
        SourceId(self.0 >> POSITION_BITS)
    }

    pub(crate) fn position(self) -> usize {
        (self.0 & (MAX_DOCUMENTS as u32 - 1)) as usize
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

impl From<u32> for DocumentId {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

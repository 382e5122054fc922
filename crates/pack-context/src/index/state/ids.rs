//! Numbers of sources and documents.

/// Documents of one source; more are left out. A memory file has thousands of entries after some years.
pub(crate) const MAX_DOCUMENTS: usize = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 13;
/// Sources beyond this are not indexed: their documents would have no number.
pub(crate) const MAX_SOURCES: usize = 1 << (u32::BITS - PLACE_BITS);

/// A file, or a record that lies in no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourceId(pub(super) u32);

/// A document: the one at a place in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DocumentId(u32);

impl DocumentId {
    pub(crate) fn new(source: SourceId, place: usize) -> Self {
        debug_assert!(place < MAX_DOCUMENTS, "a source has a bounded number of documents");
        Self(source.0 << PLACE_BITS | place as u32)
    }

    pub(crate) fn source(self) -> SourceId {
        SourceId(self.0 >> PLACE_BITS)
    }

    pub(crate) fn place(self) -> usize {
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

//! Sources and their documents.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rank::DocumentRole;
use tree::FileStamp;

use crate::discover::{Discovery, DiscoveryKind};
use crate::index::cache::ContentKey;
use crate::sessions::SessionText;

/// A file of the project, or a record that is not in a file.
pub(crate) struct IndexSource {
    pub(crate) origin: SourceOrigin,
    pub(crate) role: DocumentRole,
    pub(crate) module: Option<Arc<str>>,
    pub(crate) documents: Vec<IndexDocument>,
}

/// Origin of a source.
pub(crate) enum SourceOrigin {
    File(FileSource),
    /// Unique name of a record: `commit:…`, `store:…`, `session:…`.
    Record(Box<str>),
}

/// A file, with its indexed content if it was analyzed.
pub(crate) struct FileSource {
    pub(crate) path: Box<str>,
    /// Stamp of the last listing.
    pub(crate) stamp: FileStamp,
    pub(crate) greppable: bool,
    pub(crate) purpose: source::FileRole,
    /// `None` until the file is analyzed.
    pub(crate) content: Option<IndexedContent>,
}

/// Content of a file, as of its last analysis.
pub(crate) struct IndexedContent {
    pub(crate) key: ContentKey,
    /// Stamp of the file when it was read.
    pub(crate) stamp: FileStamp,
    /// True if any later change alters the stamp.
    pub(crate) settled: bool,
    pub(crate) language: Option<Arc<str>>,
}

/// A unit of search.
pub(crate) struct IndexDocument {
    pub(crate) body: DocumentBody,
    /// Digest of the text; documents with equal digests are shown once.
    pub(crate) digest: u64,
    /// Key of the text that is embedded.
    pub(crate) embedding_key: ContentKey,
}

/// Content of a document.
pub(crate) enum DocumentBody {
    Chunk {
        bytes: Range<u32>,
        /// Line numbers, starting at 1; the end is exclusive.
        lines: Range<u32>,
        /// Names that the chunk defines, one per line.
        names: Box<str>,
    },
    Discovery(Box<Discovery>),
    Session(Box<SessionText>),
}

impl IndexSource {
    pub(crate) fn path(&self) -> Option<&str> {
        match &self.origin {
            SourceOrigin::File(file) => Some(&file.path),
            SourceOrigin::Record(_) => None,
        }
    }

    pub(crate) fn file(&self) -> Option<&FileSource> {
        match &self.origin {
            SourceOrigin::File(file) => Some(file),
            SourceOrigin::Record(_) => None,
        }
    }
}

impl FileSource {
    /// Returns the modification time of the last listing.
    pub(crate) fn modified(&self) -> SystemTime {
        let distance = Duration::from_nanos(self.stamp.modified.unsigned_abs());
        let time = match self.stamp.modified {
            ..0 => SystemTime::UNIX_EPOCH.checked_sub(distance),
            0.. => SystemTime::UNIX_EPOCH.checked_add(distance),
        };
        time.unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

impl IndexDocument {
    /// Returns the kind of a discovery; `None` for other documents.
    pub(crate) fn kind(&self) -> Option<DiscoveryKind> {
        match &self.body {
            DocumentBody::Discovery(discovery) => Some(discovery.kind),
            DocumentBody::Chunk { .. } | DocumentBody::Session(_) => None,
        }
    }

    pub(crate) fn is_chunk(&self) -> bool {
        matches!(self.body, DocumentBody::Chunk { .. })
    }
}

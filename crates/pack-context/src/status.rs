//! Status and progress of the index, as reported to callers.

use serde::Serialize;

/// Build phase of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IndexPhase {
    /// The index was not started yet.
    #[default]
    Idle,
    /// Files are being listed, read and analyzed for the first time.
    Building,
    /// Every file is in the index.
    Ready,
}

/// Snapshot of the state of the index.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    pub phase: IndexPhase,
    /// Number of files in the index.
    pub files: usize,
    /// Number of searchable documents: chunks of files, discoveries and sessions.
    pub chunks: usize,
    pub discoveries: usize,
    pub vectors: VectorProgress,
    /// Embedding model; `None` if ranking is lexical only.
    pub model: Option<String>,
    /// Error of the last attempt to embed, if it failed.
    pub embedding_error: Option<String>,
    /// Size of the cache on disk.
    pub disk_bytes: u64,
    /// Number of changed files that are not analyzed yet.
    pub pending: usize,
    /// True if a file watch reports changes as they happen.
    pub watching: bool,
    /// Time of the last indexed change, RFC 3339.
    pub last_change: Option<String>,
}

/// Number of documents that have a vector, out of those that should.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VectorProgress {
    pub done: usize,
    pub all: usize,
}

/// Progress of [`crate::Index::run_to_completion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexProgress {
    /// Files are being listed; `files` were found so far.
    Listing {
        files: usize,
    },
    Analyzing {
        done: usize,
        all: usize,
    },
    Embedding {
        done: usize,
        all: usize,
    },
}

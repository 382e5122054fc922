//! What the index says of itself.

use serde::Serialize;

/// What the index is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Nothing was asked of it yet.
    #[default]
    Idle,
    /// Files are being listed, read and analysed for the first time.
    Building,
    /// Every file is in the index.
    Ready,
}

/// The index at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub phase: Phase,
    /// Files in the index.
    pub files: usize,
    /// Pieces of files, discoveries and sessions that a search can find.
    pub chunks: usize,
    pub discoveries: usize,
    pub vectors: Vectors,
    /// What makes the vectors; None where ranking goes by words alone.
    pub model: Option<String>,
    /// Why the last attempt to embed failed, where it did.
    pub embedding_error: Option<String>,
    /// The cache on disk.
    pub disk_bytes: u64,
    /// Files that are known to have changed and are not analysed yet.
    pub pending: usize,
    /// Whether changes are noticed as they happen.
    pub watching: bool,
    /// When the index last took in a change, RFC 3339.
    pub last_change: Option<String>,
}

/// How many of the chunks have a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Vectors {
    pub done: usize,
    pub all: usize,
}

/// How far [`crate::Index::complete`] has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Files are being listed; so many were found.
    Listing {
        files: usize,
    },
    Analysing {
        done: usize,
        all: usize,
    },
    Embedding {
        done: usize,
        all: usize,
    },
}

//! A source and its documents.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rank::Role;
use tree::Stamp;

use crate::discover::{Discovery, Kind};
use crate::index::cache::Key;
use crate::sessions::SessionText;

/// A file of the project, or one record that lies in no file.
pub(crate) struct Source {
    pub(crate) origin: Origin,
    pub(crate) role: Role,
    pub(crate) module: Option<Arc<str>>,
    pub(crate) documents: Vec<Document>,
}

pub(crate) enum Origin {
    File(FileSource),
    /// What keeps the record apart from others: `commit:…`, `store:…`, `session:…`.
    Record(Box<str>),
}

pub(crate) struct FileSource {
    pub(crate) path: Box<str>,
    /// As the listing saw it last.
    pub(crate) stamp: Stamp,
    pub(crate) greppable: bool,
    pub(crate) purpose: source::Role,
    /// None until it is analysed.
    pub(crate) known: Option<Known>,
}

/// What was read of a file.
pub(crate) struct Known {
    pub(crate) key: Key,
    /// The file's when it was read.
    pub(crate) stamp: Stamp,
    /// Whether a later change must show in the stamp.
    pub(crate) settled: bool,
    pub(crate) language: Option<Arc<str>>,
}

/// Something that a search finds.
pub(crate) struct Document {
    pub(crate) body: Body,
    /// Of the text: who says the same is shown once.
    pub(crate) digest: u64,
    /// Names the text that is embedded for it.
    pub(crate) embedded: Key,
}

pub(crate) enum Body {
    Piece {
        bytes: Range<u32>,
        /// Counted from 1; the end is the line after the last.
        lines: Range<u32>,
        /// The names that it defines, one on each line.
        names: Box<str>,
    },
    Discovery(Box<Discovery>),
    Session(Box<SessionText>),
}

impl Source {
    pub(crate) fn path(&self) -> Option<&str> {
        match &self.origin {
            Origin::File(file) => Some(&file.path),
            Origin::Record(_) => None,
        }
    }

    pub(crate) fn file(&self) -> Option<&FileSource> {
        match &self.origin {
            Origin::File(file) => Some(file),
            Origin::Record(_) => None,
        }
    }
}

impl FileSource {
    pub(crate) fn modified(&self) -> SystemTime {
        let distance = Duration::from_nanos(self.stamp.modified.unsigned_abs());
        let time = match self.stamp.modified {
            ..0 => SystemTime::UNIX_EPOCH.checked_sub(distance),
            0.. => SystemTime::UNIX_EPOCH.checked_add(distance),
        };
        time.unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

impl Document {
    pub(crate) fn kind(&self) -> Option<Kind> {
        match &self.body {
            Body::Discovery(discovery) => Some(discovery.kind),
            Body::Piece { .. } | Body::Session(_) => None,
        }
    }

    pub(crate) fn is_piece(&self) -> bool {
        matches!(self.body, Body::Piece { .. })
    }
}

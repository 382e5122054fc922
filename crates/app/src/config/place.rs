//! Where a value stands that is judged after the file was read, for the message about it.

use std::path::Path;

use super::error::Spot;
use super::{ConfigError, FILE_NAME, Source};

/// The project, and the file that configures it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub root: &'a Path,
    pub(super) source: Option<&'a Source>,
}

impl<'a> Place<'a> {
    pub(super) fn spot_of(self, path: &[&str]) -> Spot {
        match self.source {
            Some(source) => source.spot_of(path),
            // What came from elsewhere was checked there; this is only ever asked for values of the file.
            None => Spot { file: FILE_NAME.into(), line: 1 },
        }
    }

    /// A mistake at `path`.
    pub(super) fn wrong(self, path: &[&str], message: impl Into<String>) -> ConfigError {
        let (spot, key) = (self.spot_of(path), path.join("."));
        ConfigError::Value { spot, key, message: message.into() }
    }

    /// One of the tables `[[list]]`.
    pub(super) fn entry(self, list: &'static str, index: usize) -> Entry<'a> {
        Entry { place: self, list, index }
    }
}

/// One of several tables with the same name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) place: Place<'a>,
    list: &'static str,
    index: usize,
}

impl Entry<'_> {
    pub(super) fn spot_of(self, path: &[&str]) -> Spot {
        match self.place.source {
            Some(source) => source.spot_in(self.list, self.index, path),
            None => self.place.spot_of(&[self.list]),
        }
    }

    pub(super) fn wrong(self, path: &[&str], message: impl Into<String>) -> ConfigError {
        let key = std::iter::once(&self.list).chain(path).copied().collect::<Vec<_>>().join(".");
        ConfigError::Value { spot: self.spot_of(path), key, message: message.into() }
    }
}

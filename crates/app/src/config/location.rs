//! Locates values that are validated after parsing, for error messages.

use std::path::Path;

use super::error::ConfigLocation;
use super::{ConfigError, ConfigSource, FILE_NAME};

/// The root of the project and its configuration file.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceContext<'a> {
    pub root: &'a Path,
    pub(super) source: Option<&'a ConfigSource>,
}

impl<'a> SourceContext<'a> {
    /// Returns the location of the key at `path`.
    pub(super) fn locate_key(self, path: &[&str]) -> ConfigLocation {
        match self.source {
            Some(source) => source.locate_key(path),
            // Only values of the file are located; those of other layers were already validated.
            None => ConfigLocation { file: FILE_NAME.into(), line: 1 },
        }
    }

    /// Returns an error for the value at `path`.
    pub(super) fn invalid_value(self, path: &[&str], message: impl Into<String>) -> ConfigError {
        let (spot, key) = (self.locate_key(path), path.join("."));
        ConfigError::Value { spot, key, message: message.into() }
    }

    /// Returns the context of one of the tables `[[list]]`.
    pub(super) fn list_entry(self, list: &'static str, index: usize) -> SourceEntry<'a> {
        SourceEntry { context: self, list, index }
    }
}

/// One of the tables `[[list]]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceEntry<'a> {
    pub(super) context: SourceContext<'a>,
    list: &'static str,
    index: usize,
}

impl SourceEntry<'_> {
    /// Returns the location of the key at `path`.
    pub(super) fn locate_key(self, path: &[&str]) -> ConfigLocation {
        match self.context.source {
            Some(source) => source.locate_list_key(self.list, self.index, path),
            None => self.context.locate_key(&[self.list]),
        }
    }

    /// Returns an error for the value at `path` in this table.
    pub(super) fn invalid_value(self, path: &[&str], message: impl Into<String>) -> ConfigError {
        let key = std::iter::once(&self.list).chain(path).copied().collect::<Vec<_>>().join(".");
        ConfigError::Value { spot: self.locate_key(path), key, message: message.into() }
    }
}

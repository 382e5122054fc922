//! The `[audit]` table: the place of the keys, rotation and retention of the log, and signed checkpoints.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use link::resolve_real_path;
use serde::Deserialize;
use store::audit::{AuditKeyLocation, AuditRotation};

use super::ConfigError;
use super::location::SourceContext;
use super::values::EndpointUrl;
use crate::env::{EnvVar, Environment};

const TABLE: &str = "audit";
/// Smallest size at which a file may be closed. Smaller files would consist of their first lines.
const MIN_FILE_BYTES: u64 = 4096;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Raw values of the `[audit]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct AuditLayer {
    pub(super) key_file: Option<PathBuf>,
    max_file_bytes: Option<NonZeroU64>,
    max_file_days: Option<NonZeroU32>,
    keep_files: Option<NonZeroU32>,
    keep_days: Option<NonZeroU32>,
    seal: SealLayer,
}

/// Raw values of the `[audit.seal]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
struct SealLayer {
    to: Option<Vec<String>>,
    every_minutes: Option<NonZeroU32>,
    every_bytes: Option<NonZeroU64>,
    logs: Option<Vec<PathBuf>>,
    key_file: Option<PathBuf>,
}

/// The validated `[audit]` table.
#[derive(Clone, Debug)]
pub struct AuditSettings {
    pub(crate) keys: AuditKeyLocation,
    pub(crate) rotation: AuditRotation,
    pub seal: SealSettings,
}

/// The validated `[audit.seal]` table.
#[derive(Clone, Debug)]
pub struct SealSettings {
    /// Where a server writes checkpoints; nowhere if empty.
    pub to: Vec<SealTarget>,
    pub(crate) every: Duration,
    pub(crate) every_bytes: Option<u64>,
    /// Logs of other projects that a checkpoint names too.
    pub(crate) logs: Vec<PathBuf>,
    /// File of the signing key, if it is not in the key folder.
    pub(crate) key_file: Option<PathBuf>,
}

/// A place for checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SealTarget {
    /// A file, to which lines are appended, or an existing folder, in which each checkpoint is a file.
    Path(PathBuf),
    /// An HTTP endpoint, to which each checkpoint is posted.
    Url(EndpointUrl),
}

impl fmt::Display for SealTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.display().fmt(f),
            Self::Url(url) => f.write_str(&url.0),
        }
    }
}

impl SealTarget {
    /// Parses a target. A relative path is relative to `folder`.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, String> {
        if text.is_empty() {
            return Err("expected a path or a URL".to_owned());
        }
        match text.contains("://") {
            true => text.parse().map(Self::Url),
            false => Ok(Self::Path(folder.join(text))),
        }
    }
}

impl AuditLayer {
    /// Returns this layer with missing values taken from the lower one.
    pub(super) fn merge_over(self, lower: Self) -> Self {
        Self {
            key_file: self.key_file.or(lower.key_file),
            max_file_bytes: self.max_file_bytes.or(lower.max_file_bytes),
            max_file_days: self.max_file_days.or(lower.max_file_days),
            keep_files: self.keep_files.or(lower.keep_files),
            keep_days: self.keep_days.or(lower.keep_days),
            seal: SealLayer {
                to: self.seal.to.or(lower.seal.to),
                every_minutes: self.seal.every_minutes.or(lower.seal.every_minutes),
                every_bytes: self.seal.every_bytes.or(lower.seal.every_bytes),
                logs: self.seal.logs.or(lower.seal.logs),
                key_file: self.seal.key_file.or(lower.seal.key_file),
            },
        }
    }

    /// Creates a layer from the environment.
    pub(super) fn from_environment(here: &Path, environment: &Environment) -> Self {
        let key_file = environment.get(EnvVar::AuditKeyFile).map(|path| here.join(path));
        Self { key_file, ..Self::default() }
    }

    /// Validates the table. Paths are relative to the root. `key_folder` is the default place of the keys.
    pub(super) fn into_settings(
        self,
        place: SourceContext<'_>,
        key_folder: PathBuf,
    ) -> Result<AuditSettings, ConfigError> {
        const COMPLETE: &str = "defaults.toml sets it";
        let outside = |keys: &[&str], path: Option<PathBuf>| match path {
            Some(path) if resolve_real_path(&place.root.join(&path)).starts_with(place.root) => {
                Err(place.invalid_value(keys, "expected a path outside the project"))
            }
            path => Ok(path.map(|path| place.root.join(path))),
        };
        let key_file = outside(&[TABLE, "key_file"], self.key_file)?;
        let max_file_bytes = self.max_file_bytes.expect(COMPLETE).get();
        if max_file_bytes < MIN_FILE_BYTES {
            let message = format!("expected at least {MIN_FILE_BYTES}");
            return Err(place.invalid_value(&[TABLE, "max_file_bytes"], message));
        }
        let days = |days: Option<NonZeroU32>| days.map(|days| DAY * days.get());
        let seal = self.seal;
        let to = seal.to.unwrap_or_default().into_iter().map(|target| {
            SealTarget::parse(&target, place.root)
                .map_err(|message| place.invalid_value(&[TABLE, "seal", "to"], message))
        });
        Ok(AuditSettings {
            keys: AuditKeyLocation::new(key_folder).with_key_file(key_file),
            rotation: AuditRotation {
                max_file_bytes,
                max_file_age: days(self.max_file_days),
                keep_files: self.keep_files.map(NonZeroU32::get),
                keep_age: days(self.keep_days),
            },
            seal: SealSettings {
                to: to.collect::<Result<_, _>>()?,
                every: Duration::from_secs(60) * seal.every_minutes.expect(COMPLETE).get(),
                every_bytes: seal.every_bytes.map(NonZeroU64::get),
                logs: seal
                    .logs
                    .unwrap_or_default()
                    .into_iter()
                    .map(|log| place.root.join(log))
                    .collect(),
                key_file: outside(&[TABLE, "seal", "key_file"], seal.key_file)?,
            },
        })
    }
}

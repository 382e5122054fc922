//! How a log is kept: its keys, when a new file begins, and how long files are kept.

use std::sync::Arc;
use std::time::Duration;

use disk::{Disk, system_disk};

use super::keyring::AuditKeyLocation;

/// Options of an audit log.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    pub keys: AuditKeyLocation,
    pub rotation: AuditRotation,
    /// The disk, which tests replace.
    pub disk: Arc<dyn Disk>,
}

impl AuditOptions {
    /// Returns the default options, with the keys at this place.
    pub fn new(keys: AuditKeyLocation) -> Self {
        Self { keys, rotation: AuditRotation::default(), disk: system_disk() }
    }
}

/// When a log continues in a new file, and which files are removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRotation {
    /// Size at which a new file begins.
    pub max_file_bytes: u64,
    /// Age of the first line at which a new file begins. `None` for no limit.
    pub max_file_age: Option<Duration>,
    /// Maximum number of closed files. `None` keeps all.
    pub keep_files: Option<u32>,
    /// Maximum time since a file was closed. `None` keeps all.
    pub keep_age: Option<Duration>,
}

impl Default for AuditRotation {
    /// Returns files of 64 MiB, about 150,000 calls, which are kept forever.
    fn default() -> Self {
        Self { max_file_bytes: 64 << 20, max_file_age: None, keep_files: None, keep_age: None }
    }
}

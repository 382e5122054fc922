//! Private files: accessible only by their owner.
//!
//! Files that `vouch` writes are never opened through a symbolic link. A file that a user names may be one; what counts
//! is the file that was opened.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Permission bits of the group and of all others.
const FOREIGN_MODE: u32 = 0o077;
/// Maximum size of a private file: far more than any list of tokens needs.
const MAX_BYTES: u64 = 1024 * 1024;

/// An error while reading a private file.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    #[error("failed to read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is accessible by other users (mode {mode:03o})", path.display())]
    Exposed { path: PathBuf, mode: u32 },
    #[error("{} belongs to another user (uid {owner})", path.display())]
    ForeignOwner { path: PathBuf, owner: u32 },
    #[error("{} is over the limit of {MAX_BYTES} bytes", path.display())]
    TooLarge { path: PathBuf },
}

impl PrivateFileError {
    /// Returns a hint on how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Exposed { path, .. } => Some(format!("run `chmod 600 {}`", path.display())),
            Self::ForeignOwner { path, .. } => Some(format!(
                "copy it to a file of your own and run `chmod 600` on it, or run `chown` on {}",
                path.display()
            )),
            Self::Read { .. } | Self::TooLarge { .. } => None,
        }
    }
}

/// Reads a text file that must be private: owned by this user, and without any permission for others. The opened file is
/// checked, not its path, so it cannot be exchanged in between.
pub fn read_private_file(path: &Path) -> Result<String, PrivateFileError> {
    let failed = |source| PrivateFileError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let (mode, owner) = (metadata.mode() & 0o7777, metadata.uid());
    if owner != rustix::process::geteuid().as_raw() {
        return Err(PrivateFileError::ForeignOwner { path: path.to_owned(), owner });
    }
    if mode & FOREIGN_MODE != 0 {
        return Err(PrivateFileError::Exposed { path: path.to_owned(), mode });
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(PrivateFileError::TooLarge { path: path.to_owned() });
    }
    Ok(text)
}

/// Returns the options that open a private file for writing.
///
/// A missing file is created, and an existing one is not truncated.
pub(crate) fn open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// Returns the options that open a private file for reading.
pub(crate) fn read_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

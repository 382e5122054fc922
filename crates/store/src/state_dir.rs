//! The state directory `.vouch/`: creates it with private permissions, hides it from git, and names the files in it.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::StoreError;

/// The path of a state directory.
#[derive(Clone, Debug)]
pub struct StateDir {
    path: PathBuf,
}

impl StateDir {
    /// Opens the directory, creating it if it is missing. Errors if its parent directory does not exist.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            other => {
                other.map_err(|source| {
                    StoreError::from_io("create state directory", path, source)
                })?;
            }
        }
        // Symbolic links in the path of the directory are allowed; links inside the directory are not followed.
        let path = path
            .canonicalize()
            .map_err(|source| StoreError::from_io("open state directory", path, source))?;
        ignore_in_git(&path.join(".gitignore"))?;
        Ok(Self { path })
    }

    /// Returns the directory at `path` without creating or accessing it.
    ///
    /// It is for components that are configured before anything is written. Call [`StateDir::open`] before they write.
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database_path(&self) -> PathBuf {
        self.path.join("vouch.db")
    }

    pub fn audit_log_path(&self) -> PathBuf {
        self.path.join("audit.jsonl")
    }
}

fn ignore_in_git(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(|source| StoreError::from_io("create", path, source))
}

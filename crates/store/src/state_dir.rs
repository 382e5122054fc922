//! The state folder `.vouch/`: made private and invisible to git, and the names of the files in it.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::StoreError;

#[derive(Clone, Debug)]
pub struct StateDir {
    path: PathBuf,
}

impl StateDir {
    /// Opens the folder, making it first where it is missing. The folder above it must exist.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            other => {
                other.map_err(|source| StoreError::io("create the state folder", path, source))?;
            }
        }
        // Links above our own files are the operator's business; below this point none is followed.
        let path = path
            .canonicalize()
            .map_err(|source| StoreError::io("open the state folder", path, source))?;
        ignore_in_git(&path.join(".gitignore"))?;
        Ok(Self { path })
    }

    /// The folder by its name alone: nothing is made or looked at. For parts that are set up before anything is written;
    /// whoever puts them to work opens the folder first.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> PathBuf {
        self.path.join("vouch.db")
    }

    pub fn audit_log(&self) -> PathBuf {
        self.path.join("audit.jsonl")
    }
}

fn ignore_in_git(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(|source| StoreError::io("create", path, source))
}

//! The state directory of a project: creates it with private permissions, refuses one that other users control, and names
//! the files in it.
//!
//! It is outside the project, so that a clone cannot bring approvals, tokens or an audit log of its own.
//! `project_identity.rs` derives its name, `project_record.rs` notes which project it belongs to.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::Disk;

use crate::project_record;
use crate::{ProjectIdentity, StoreError};

/// Permission bits with which users other than the owner can change a directory.
const SHARED_WRITE: u32 = 0o022;
/// In a directory with this bit only the owner of a file may rename or delete it.
const STICKY: u32 = 0o1000;
/// The superuser can change every file, so its directories are as safe as our own.
const ROOT_USER: u32 = 0;

/// A state directory, and the disk that it is on.
#[derive(Clone, Debug)]
pub struct StateDir {
    path: PathBuf,
    disk: Arc<dyn Disk>,
}

impl StateDir {
    /// Opens the directory, creating it and its missing parents with mode 0700.
    ///
    /// Errors if the directory is a symbolic link, belongs to another user, or is writable for others; also if others could
    /// replace it, because its parent belongs to another user or is writable for others and not sticky.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_on_disk(path, disk::system_disk())
    }

    /// Opens the directory like [`StateDir::open`], on this disk.
    pub fn open_on_disk(path: impl AsRef<Path>, disk: Arc<dyn Disk>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        disk.create_folders(path, 0o700)
            .map_err(|source| StoreError::from_io("create state directory", path, source))?;
        let failed = |source| StoreError::from_io("open state directory", path, source);
        let absolute = std::path::absolute(path).map_err(failed)?;
        let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        // Links above the parent are the user's own. A link in place of the directory is refused below.
        let parent = parent.canonicalize().map_err(failed)?;
        check_parent(&parent, &parent.metadata().map_err(failed)?)?;
        let path = parent.join(name);
        check_directory(&path, &path.symlink_metadata().map_err(failed)?)?;
        Ok(Self { path, disk })
    }

    /// Opens the directory like [`StateDir::open`], for one project.
    ///
    /// A new directory is recorded as the project's. Errors if it is recorded as that of another project: approvals are
    /// bound to tools and arguments, so those of one project would be valid in the other.
    pub fn open_for_project(
        path: impl AsRef<Path>,
        project: &ProjectIdentity,
    ) -> Result<Self, StoreError> {
        let dir = Self::open(path)?;
        project_record::claim_directory(&dir, project)?;
        Ok(dir)
    }

    /// Returns the directory at `path` without creating or accessing it.
    ///
    /// It is for components that are configured before anything is written. Call [`StateDir::open`] before they write.
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), disk: disk::system_disk() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the disk for durable writes in the directory.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    pub fn database_path(&self) -> PathBuf {
        self.path.join("vouch.db")
    }

    pub fn audit_log_path(&self) -> PathBuf {
        self.path.join("audit.jsonl")
    }
}

/// Returns an error unless the directory is a real one that only this user can change.
fn check_directory(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    let path = || path.to_owned();
    if metadata.is_symlink() {
        return Err(StoreError::LinkedStateDir { path: path() });
    }
    if metadata.uid() != current_user() {
        return Err(StoreError::ForeignStateDir { path: path(), owner: metadata.uid() });
    }
    if metadata.mode() & SHARED_WRITE != 0 {
        return Err(StoreError::SharedStateDir { path: path() });
    }
    Ok(())
}

/// Returns an error if another user can replace the directories in this one.
fn check_parent(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    let owner = metadata.uid();
    if owner != current_user() && owner != ROOT_USER {
        return Err(StoreError::ForeignStateDir { path: path.to_owned(), owner });
    }
    if metadata.mode() & SHARED_WRITE != 0 && metadata.mode() & STICKY == 0 {
        return Err(StoreError::SharedStateDir { path: path.to_owned() });
    }
    Ok(())
}

fn current_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

//! Reads files of `<root>/.vouch/` without trusting what the folder contains.
//!
//! Everything is opened relative to a handle of its folder, never through a symbolic link and without waiting for a pipe.
//! The kind and the owner are checked on the open file, so nothing can be exchanged in between.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use disk::Disk;
use rustix::fs::{Dir, Mode, OFlags, openat};

/// Name of the folder.
pub(super) const NAME: &str = ".vouch";
/// Maximum number of entries of a folder; far more than tools of one server.
const MAX_ENTRIES: usize = 10_000;
/// Size of the buffer for copies.
const COPY_BYTES: usize = 64 * 1024;

/// The reason why a file of the folder is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum LegacyFileError {
    #[error("{} is a symbolic link", .0.display())]
    Link(PathBuf),
    #[error("{} is not a regular file or folder", .0.display())]
    Kind(PathBuf),
    #[error("{} belongs to another user", .0.display())]
    Owner(PathBuf),
    #[error("{} has more than {MAX_ENTRIES} entries", .0.display())]
    TooMany(PathBuf),
    #[error("failed to copy {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// An open folder, owned by this user.
pub(super) struct LegacyFolder {
    handle: OwnedFd,
    path: PathBuf,
}

/// The expected kind of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    File,
    Folder,
}

impl LegacyFolder {
    /// Opens `<root>/.vouch/`. Returns `None` if it does not exist.
    pub(super) fn open(root: &Path) -> Result<Option<Self>, LegacyFileError> {
        let at = File::open(root)
            .map_err(|source| LegacyFileError::Io { path: root.to_owned(), source })?;
        let root = Self { handle: at.into(), path: root.to_owned() };
        root.open_folder(NAME)
    }

    /// Copies a file to a new private file and to the disk. Returns false if it does not exist.
    pub(super) fn copy_file(
        &self,
        disk: &dyn Disk,
        name: &str,
        to: &Path,
    ) -> Result<bool, LegacyFileError> {
        let Some(mut file) = self.open_entry(name, EntryKind::File)? else { return Ok(false) };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options
            .open(to)
            .and_then(|copy| copy_content(disk, &mut file, &copy))
            .map_err(|source| self.failed(name, source))?;
        Ok(true)
    }

    /// Copies the files of the folders in the folder `name` to a new folder. Returns false if it does not exist.
    pub(super) fn copy_folders(
        &self,
        disk: &dyn Disk,
        name: &str,
        to: &Path,
    ) -> Result<bool, LegacyFileError> {
        let Some(outer) = self.open_folder(name)? else { return Ok(false) };
        outer.create_copy(to)?;
        for inner in outer.list_names()? {
            let target = to.join(&inner);
            let Some(folder) = outer.open_folder(&inner)? else { continue };
            folder.create_copy(&target)?;
            for file in folder.list_names()? {
                folder.copy_file(disk, &file, &target.join(&file))?;
            }
            folder.sync_copy(disk, &target)?;
        }
        outer.sync_copy(disk, to)?;
        Ok(true)
    }

    fn create_copy(&self, to: &Path) -> Result<(), LegacyFileError> {
        let created = DirBuilder::new().mode(0o700).create(to);
        created.map_err(|source| LegacyFileError::Io { path: self.path.clone(), source })
    }

    /// Makes the names in a copied folder durable, before the folder is moved into place.
    fn sync_copy(&self, disk: &dyn Disk, to: &Path) -> Result<(), LegacyFileError> {
        let synced = disk.sync_folder_at(to);
        synced.map_err(|source| LegacyFileError::Io { path: self.path.clone(), source })
    }

    fn open_folder(&self, name: &str) -> Result<Option<Self>, LegacyFileError> {
        let handle = self.open_entry(name, EntryKind::Folder)?;
        Ok(handle.map(|handle| Self { handle: handle.into(), path: self.path.join(name) }))
    }

    /// Opens an entry and checks its kind and owner. Returns `None` if it does not exist.
    fn open_entry(&self, name: &str, kind: EntryKind) -> Result<Option<File>, LegacyFileError> {
        let path = || self.path.join(name);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => File::from(handle),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(rustix::io::Errno::LOOP) => return Err(LegacyFileError::Link(path())),
            // A socket cannot be opened.
            Err(rustix::io::Errno::NXIO) => return Err(LegacyFileError::Kind(path())),
            Err(error) => return Err(self.failed(name, error.into())),
        };
        let metadata = file.metadata().map_err(|source| self.failed(name, source))?;
        let expected = match kind {
            EntryKind::File => metadata.is_file(),
            EntryKind::Folder => metadata.is_dir(),
        };
        if !expected {
            return Err(LegacyFileError::Kind(path()));
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(LegacyFileError::Owner(path()));
        }
        Ok(Some(file))
    }

    /// Returns the names in the folder that are UTF-8 and not hidden; ours are.
    fn list_names(&self) -> Result<Vec<String>, LegacyFileError> {
        let failed = |error: rustix::io::Errno| LegacyFileError::Io {
            path: self.path.clone(),
            source: error.into(),
        };
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if !name.starts_with('.') {
                names.push(name.to_owned());
            }
            if names.len() > MAX_ENTRIES {
                return Err(LegacyFileError::TooMany(self.path.clone()));
            }
        }
        Ok(names)
    }

    fn failed(&self, name: &str, source: io::Error) -> LegacyFileError {
        LegacyFileError::Io { path: self.path.join(name), source }
    }
}

/// Copies the content of a file to a new one and to the disk.
fn copy_content(disk: &dyn Disk, from: &mut File, to: &File) -> io::Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return disk.sync_all(to),
            Ok(length) => disk.write_all(to, &buffer[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

//! The path guard: opens files below one root folder, and no others.
//!
//! Access goes through a directory handle that cannot be left (`cap-std`; `openat2` with `RESOLVE_BENEATH` on Linux).
//! A path is walked one component at a time, each opened without following links. A link is read, and its target is
//! walked the same way. So every name on the way, requested or introduced by a link, is checked against the
//! [`DenyList`] *before* it is looked up, and the refusal of a denied name does not reveal if it exists. Concurrent
//! changes to the tree cannot help: each step starts from a folder that was reached through allowed names.
//!
//! Not covered: hard links (a second name of a file is that file), mounts below the root, and authorization of callers.
//!
//! `walk.rs` contains the walk, `cached.rs` its shortcut on Linux, `checked_open.rs` opens files whose names are already
//! checked, `resolve.rs` resolves paths without reading, `deny.rs` is the deny list, `source_check.rs` checks the content of
//! files that are allowed as source code only, `refusal.rs` has the errors.

#[cfg(all(target_os = "linux", not(vouch_portable)))]
mod cached;
mod checked_open;
mod deny;
mod refusal;
mod resolve;
mod source_check;
#[cfg(test)]
mod tests;
mod walk;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};
use disk::Disk;

pub use self::deny::{
    CONTRACT_PATTERNS, DenyList, HARMLESS_PATTERNS, SECRET_FILE_GROUPS, SecretFileGroup, fold_name,
    is_source_name, matches_copy, matches_name_pattern,
};
pub use self::refusal::PathRefusal;
pub use self::refusal::display_path;
pub use self::resolve::{FileKind, ResolvedPath};
pub use self::source_check::{SourceCheck, is_source_file};

/// Maximum length of a path on Linux; longer paths are refused without a lookup.
pub const MAX_PATH_BYTES: usize = 4096;
/// Maximum length of one name on common file systems.
pub const MAX_NAME_BYTES: usize = 255;

/// File access below a root folder that cannot be left, with a deny list.
#[derive(Debug)]
pub struct Guard {
    root: Dir,
    deny: DenyList,
    /// Decides on files that are allowed only as source code; without it they are denied.
    source_check: Option<SourceCheck>,
    disk: Arc<dyn Disk>,
    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    cached_reads_unsupported: cached::UnsupportedFlag,
}

/// A regular file below the root, open for reading.
#[derive(Debug)]
pub struct OpenedFile {
    pub file: File,
    /// Metadata of the opened handle; the path may name another file in the meantime.
    pub metadata: Metadata,
    /// The requested path without `.` and doubled slashes.
    pub path: String,
}

impl Guard {
    /// Opens the root. This is the only step that uses the ambient file-system authority of the process.
    pub fn new(root: &Path, deny: DenyList) -> io::Result<Self> {
        let root = Dir::open_ambient_dir(root, cap_std::ambient_authority())?;
        Ok(Self {
            root,
            deny,
            source_check: None,
            disk: disk::system_disk(),
            #[cfg(all(target_os = "linux", not(vouch_portable)))]
            cached_reads_unsupported: cached::UnsupportedFlag::default(),
        })
    }

    pub fn deny_list(&self) -> &DenyList {
        &self.deny
    }

    /// Sets the check of files whose name says "secret" and that are allowed as source code only.
    #[must_use]
    pub fn with_source_check(mut self, check: SourceCheck) -> Self {
        self.source_check = Some(check);
        self
    }

    /// Sets the disk on which folders are created.
    #[must_use]
    pub fn with_disk(mut self, disk: Arc<dyn Disk>) -> Self {
        self.disk = disk;
        self
    }

    /// Returns the disk for durable writes below the root.
    pub fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Checks the text of a path, which may name a folder, without file access. Returns its components without `.` and
    /// empty ones.
    pub fn check_path<'a>(&self, path: &'a str) -> Result<Vec<&'a str>, PathRefusal> {
        self.check_text(path, false)
    }

    fn check_text<'a>(&self, path: &'a str, is_file: bool) -> Result<Vec<&'a str>, PathRefusal> {
        if path.len() > MAX_PATH_BYTES {
            return Err(PathRefusal::LongPath);
        }
        if path.starts_with('/') {
            return Err(PathRefusal::Absolute);
        }
        let names: Vec<_> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.contains(&"..") {
            return Err(PathRefusal::ParentComponent);
        }
        self.deny
            .check_names(&names, is_file)
            .map_err(|pattern| PathRefusal::Denied { pattern })?;
        if path.contains(char::is_control) {
            return Err(PathRefusal::ControlCharacter);
        }
        if names.iter().any(|name| name.len() > MAX_NAME_BYTES) {
            return Err(PathRefusal::LongName);
        }
        Ok(names)
    }

    /// Like [`Guard::check_path`], for a path that must name a file.
    pub fn check_file<'a>(&self, path: &'a str) -> Result<Vec<&'a str>, PathRefusal> {
        let names = self.check_text(path, true)?;
        if names.is_empty() {
            return Err(PathRefusal::IsRoot);
        }
        if matches!(path.rsplit('/').next(), Some("" | ".")) {
            return Err(PathRefusal::TrailingSlash);
        }
        Ok(names)
    }

    /// Opens a regular file for reading.
    pub fn open_file(&self, path: &str) -> Result<OpenedFile, PathRefusal> {
        let names = self.check_file(path)?;
        let mut options = OpenOptions::new();
        options.read(true);
        let mut target = String::new();
        let (file, metadata) = walk::walk_path(
            self,
            &names,
            walk::WalkTarget::File,
            walk::MissingFolderPolicy::Refuse,
            |folder, name, above| {
                target = walk::join_names(above, name);
                open_without_following(folder, name.as_ref(), &mut options)
            },
        )
        .and_then(require_regular_file)?;
        let path = names.join("/");
        // A link may lead to a file that is allowed only as source code, or have such a name itself.
        self.check_source(&[&path, &target], &file)?;
        Ok(OpenedFile { file, metadata, path })
    }

    /// Makes the names of the folder at `path` and of its parents durable, also if another process created them.
    pub fn sync_folder_names(&self, path: &str) -> Result<(), PathRefusal> {
        let names = self.check_path(path)?;
        walk::walk_path(
            self,
            &names,
            walk::WalkTarget::Any,
            walk::MissingFolderPolicy::RefuseAndSync,
            |folder, name, _| folder.open_dir_nofollow(name).map(drop),
        )
    }

    /// Opens a folder, creating it and its parents if they are missing. New names are durable only after
    /// [`Guard::sync_folder_names`].
    pub fn open_or_create_folder(&self, path: &str) -> Result<Dir, PathRefusal> {
        let names = self.check_path(path)?;
        walk::walk_path(
            self,
            &names,
            walk::WalkTarget::Any,
            walk::MissingFolderPolicy::Create,
            |folder, name, _| folder.open_dir_nofollow(name),
        )
        .map_err(|refusal| match refusal {
            // A missing folder would have been created, so a file is in the way.
            PathRefusal::NotFound => PathRefusal::NotAFolder,
            other => other,
        })
    }
}

/// Opens `name` in `folder` if it is a regular file. A link is refused even if its target is inside the root.
pub fn open_regular_file(
    folder: &Dir,
    name: &str,
    options: &mut OpenOptions,
) -> Result<(File, Metadata), PathRefusal> {
    open_without_following(folder, name.as_ref(), options)
        .map_err(|error| match folder.read_link_contents(name) {
            Ok(_) => PathRefusal::IsLink,
            Err(_) => PathRefusal::from_io_error(error),
        })
        .and_then(require_regular_file)
}

/// Opens without following links. Non-blocking, so that a FIFO without a writer does not block the call.
fn open_without_following(
    folder: &Dir,
    name: &Path,
    options: &mut OpenOptions,
) -> io::Result<File> {
    let options = options.follow(FollowSymlinks::No).nonblock(true);
    folder.open_with(name, options).map(cap_std::fs::File::into_std)
}

/// Returns the file with its metadata if it is a regular file. The type is read from the handle, because the path could
/// name another file in the meantime.
fn require_regular_file(file: File) -> Result<(File, Metadata), PathRefusal> {
    let metadata = file.metadata().map_err(PathRefusal::from_io_error)?;
    let kind = metadata.file_type();
    let kind = match () {
        () if kind.is_file() => return Ok((file, metadata)),
        () if kind.is_dir() => "folder",
        () if kind.is_fifo() => "pipe",
        () if kind.is_socket() => "socket",
        () => "device",
    };
    Err(PathRefusal::NotAFile { kind })
}

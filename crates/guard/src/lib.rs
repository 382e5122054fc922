//! The path guard: opens files below one folder, and nothing else.
//!
//! Access goes through a directory handle that cannot be left (`cap-std`; `openat2` with `RESOLVE_BENEATH` on Linux).
//! A path is walked one component at a time, each opened without following a link; a link is read and its target
//! walked like the rest. So every name that is met on the way – asked for, or brought in by a link – is held against
//! the [`DenyList`] *before* it is looked up, and the answer for a denied name does not tell whether it exists.
//! Whatever somebody swaps during the walk, a step only ever starts from a folder that was reached by allowed names.
//!
//! Not owned here: hard links (a second name of a file is that file), mounts below the root, and who may call.
//!
//! `walk.rs` holds the walk, `cached.rs` its short cut on Linux, `listed.rs` the way for files that a walk has named,
//! `look.rs` says what is where, `deny.rs` holds the deny list, `refusal.rs` the answers.

#[cfg(all(target_os = "linux", not(vouch_portable)))]
mod cached;
mod deny;
mod listed;
mod look;
mod refusal;
mod walk;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};

pub use self::deny::DenyList;
pub use self::look::{Kind, Seen};
pub use self::refusal::Refusal;
pub use self::refusal::shown;
pub use self::walk::sync_folder;

/// What Linux takes for a path; longer ones are refused before they are looked at.
pub const MAX_PATH_BYTES: usize = 4096;
/// What file systems take for one name.
pub const MAX_NAME_BYTES: usize = 255;

/// A folder that cannot be left, with the names that may not be entered.
#[derive(Debug)]
pub struct Guard {
    root: Dir,
    deny: DenyList,
    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    uncached: cached::Unsupported,
}

/// A regular file below the root, open for reading.
#[derive(Debug)]
pub struct OpenedFile {
    pub file: File,
    /// Of the opened file, not of whatever its path names by now.
    pub metadata: Metadata,
    /// The path as asked for, without `.` and doubled slashes.
    pub path: String,
}

impl Guard {
    /// Opens the root; the only step that uses the process's own authority over the file system.
    pub fn new(root: &Path, deny: DenyList) -> io::Result<Self> {
        let root = Dir::open_ambient_dir(root, cap_std::ambient_authority())?;
        Ok(Self {
            root,
            deny,
            #[cfg(all(target_os = "linux", not(vouch_portable)))]
            uncached: cached::Unsupported::default(),
        })
    }

    pub fn deny(&self) -> &DenyList {
        &self.deny
    }

    /// All that the text of a path can tell, without touching a file: its names, normalised.
    pub fn check<'a>(&self, path: &'a str) -> Result<Vec<&'a str>, Refusal> {
        if path.len() > MAX_PATH_BYTES {
            return Err(Refusal::LongPath);
        }
        if path.starts_with('/') {
            return Err(Refusal::Absolute);
        }
        let names: Vec<_> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.contains(&"..") {
            return Err(Refusal::Parent);
        }
        for name in &names {
            self.deny.check(name).map_err(|pattern| Refusal::Denied { pattern })?;
        }
        if path.contains(char::is_control) {
            return Err(Refusal::ControlCharacter);
        }
        if names.iter().any(|name| name.len() > MAX_NAME_BYTES) {
            return Err(Refusal::LongName);
        }
        Ok(names)
    }

    /// Like [`Guard::check`], for a path that must name a file.
    pub fn check_file<'a>(&self, path: &'a str) -> Result<Vec<&'a str>, Refusal> {
        let names = self.check(path)?;
        if names.is_empty() {
            return Err(Refusal::Root);
        }
        if matches!(path.rsplit('/').next(), Some("" | ".")) {
            return Err(Refusal::TrailingSlash);
        }
        Ok(names)
    }

    /// Opens a regular file for reading.
    pub fn open_file(&self, path: &str) -> Result<OpenedFile, Refusal> {
        let names = self.check_file(path)?;
        let mut options = OpenOptions::new();
        options.read(true);
        let (file, metadata) =
            walk::walk(self, &names, walk::Missing::Refuse, |folder, name, _| {
                open_without_following(folder, name.as_ref(), &mut options)
            })
            .and_then(regular)?;
        Ok(OpenedFile { file, metadata, path: names.join("/") })
    }

    /// Opens a folder, making it and those above it where they are missing.
    pub fn open_or_make_folder(&self, path: &str) -> Result<Dir, Refusal> {
        let names = self.check(path)?;
        walk::walk(self, &names, walk::Missing::MakeFolder, |folder, name, _| {
            folder.open_dir_nofollow(name)
        })
        .map_err(|refusal| match refusal {
            // Nothing is missing where it would have been made: a file is in the way.
            Refusal::NotFound => Refusal::NotAFolder,
            other => other,
        })
    }
}

/// Opens `name` in `folder` if it is a regular file; a link is refused even where it stays inside.
pub fn open_regular(
    folder: &Dir,
    name: &str,
    options: &mut OpenOptions,
) -> Result<(File, Metadata), Refusal> {
    open_without_following(folder, name.as_ref(), options)
        .map_err(|error| match folder.read_link_contents(name) {
            Ok(_) => Refusal::Link,
            Err(_) => Refusal::of(error),
        })
        .and_then(regular)
}

/// Non-blocking, so that a FIFO without a writer does not hold the call.
fn open_without_following(
    folder: &Dir,
    name: &Path,
    options: &mut OpenOptions,
) -> io::Result<File> {
    let options = options.follow(FollowSymlinks::No).nonblock(true);
    folder.open_with(name, options).map(cap_std::fs::File::into_std)
}

/// The type is asked of the handle: a path could name something else by now.
fn regular(file: File) -> Result<(File, Metadata), Refusal> {
    let metadata = file.metadata().map_err(Refusal::of)?;
    let kind = metadata.file_type();
    let kind = match () {
        () if kind.is_file() => return Ok((file, metadata)),
        () if kind.is_dir() => "folder",
        () if kind.is_fifo() => "pipe",
        () if kind.is_socket() => "socket",
        () => "device",
    };
    Err(Refusal::NotAFile { kind })
}

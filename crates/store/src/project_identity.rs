//! The identity of a project folder, from which the name of its state directory is derived.
//!
//! ```text
//! <state home>/vouch/               0700, one folder per project
//!   <name>-<key>/                   StateDir
//!     project.json                  path, inode, birth time, creation time
//! ```
//!
//! The path alone is not an identity: a folder that later takes the same path is another project, and must not find the
//! approvals and tokens of the first one. The key therefore also covers the inode and, where the file system records one,
//! the birth time of the folder. The device number is left out, because it changes from mount to mount.

use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::hex;

/// Number of hexadecimal digits of the key: 128 bits, so that no other folder can be made to collide.
const KEY_DIGITS: usize = 32;
/// Maximum length of the readable part of a directory name.
const MAX_NAME_BYTES: usize = 48;

/// Path, inode and birth time of a project folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectIdentity {
    path: PathBuf,
    inode: u64,
    /// `None` if the file system does not record birth times.
    born: Option<Timestamp>,
}

impl ProjectIdentity {
    /// Reads the identity of a folder. The path must be canonical.
    pub fn read(folder: &Path) -> io::Result<Self> {
        Ok(Self::from_metadata(folder, &std::fs::metadata(folder)?))
    }

    fn from_metadata(path: &Path, metadata: &Metadata) -> Self {
        let born = metadata.created().ok().and_then(|time| Timestamp::try_from(time).ok());
        Self { path: path.to_owned(), inode: metadata.ino(), born }
    }

    /// Returns the canonical path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn inode(&self) -> u64 {
        self.inode
    }

    pub(crate) fn born(&self) -> Option<Timestamp> {
        self.born
    }

    /// Returns the name of the project's state directory: a readable name and a key of path, inode and birth time.
    pub fn directory_name(&self) -> String {
        let mut hash = Sha256::new();
        let path = self.path.as_os_str().as_bytes();
        hash.update(b"vouch project 1\0");
        hash.update(path.len().to_le_bytes());
        hash.update(path);
        hash.update(self.inode.to_le_bytes());
        if let Some(born) = self.born {
            hash.update(born.as_nanosecond().to_le_bytes());
        }
        let key = hex::encode(&hash.finalize());
        format!("{}-{}", readable_name(&self.path), &key[..KEY_DIGITS])
    }
}

/// Returns the folder's name with everything but ASCII letters, digits, `.`, `_` and `-` replaced.
fn readable_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = |char: char| match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' => char,
        _ => '_',
    };
    // A leading dot would hide the directory, a leading dash would read as an option.
    let name: String =
        name.trim_start_matches(['.', '-']).chars().map(plain).take(MAX_NAME_BYTES).collect();
    if name.is_empty() { "root".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(path: &str, inode: u64, born: Option<i64>) -> ProjectIdentity {
        let born = born.map(|second| Timestamp::from_second(second).expect("a valid time"));
        ProjectIdentity { path: path.into(), inode, born }
    }

    #[test]
    fn directory_name_depends_on_path_inode_and_birth_time() {
        let names = [
            identity("/a/app", 1, Some(1)),
            identity("/b/app", 1, Some(1)),
            identity("/a/app", 2, Some(1)),
            identity("/a/app", 1, Some(2)),
            identity("/a/app", 1, None),
        ]
        .map(|identity| identity.directory_name());
        for (index, name) in names.iter().enumerate() {
            assert!(name.starts_with("app-") && name.len() == 4 + KEY_DIGITS, "{name}");
            assert!(!names[..index].contains(name), "{name}");
        }
        assert_eq!(names[0], identity("/a/app", 1, Some(1)).directory_name(), "it is stable");
    }

    #[test]
    fn directory_name_is_one_plain_component() {
        for (path, readable) in [
            ("/", "root"),
            ("/..", "root"),
            ("/a/.config", "config"),
            ("/a/--help", "help"),
            ("/a/my project\n", "my_project_"),
            ("/a/größe", "gr__e"),
            ("/a/...", "root"),
        ] {
            let name = identity(path, 1, None).directory_name();
            assert_eq!(&name[..name.len() - KEY_DIGITS - 1], readable, "{path:?}");
        }
        let long = identity(&format!("/{}", "x".repeat(255)), 1, None).directory_name();
        assert_eq!(long.len(), MAX_NAME_BYTES + 1 + KEY_DIGITS);
    }

    #[test]
    fn folder_recreated_at_same_path_has_another_identity() {
        let base = tempfile::tempdir().expect("a folder");
        let path = base.path().join("app");
        std::fs::create_dir(&path).expect("a folder");
        let first = ProjectIdentity::read(&path).expect("it exists");
        assert_eq!(ProjectIdentity::read(&path).expect("it exists"), first);
        // The first folder stays, so that its inode cannot be used again.
        std::fs::rename(&path, base.path().join("moved")).expect("it can be moved");
        std::fs::create_dir(&path).expect("a folder");
        let second = ProjectIdentity::read(&path).expect("it exists");
        assert_ne!(second.directory_name(), first.directory_name());
    }
}

//! Files that a walk has named: opened in one step, by the names alone.
//!
//! A search opens thousands of files whose names its walk has held against the deny list already, each folder's once.
//! Here the kernel keeps the boundary (`openat2`: below the root, through no link), and no name is looked at twice.

use std::fs::{File, Metadata};

use crate::{Guard, Refusal};

impl Guard {
    /// Opens a regular file by a path whose names the caller has held against [`Guard::deny`]. No link is followed,
    /// not even one that stays inside: it could lead to a name that nobody has checked.
    pub fn open_listed(&self, path: &str) -> Result<(File, Metadata), Refusal> {
        #[cfg(all(target_os = "linux", not(vouch_portable)))]
        if let Some(answer) = in_one_step(self, path) {
            return answer;
        }
        let opened = self.open_file(path)?;
        Ok((opened.file, opened.metadata))
    }
}

/// None where the kernel has no `openat2`, or a sandbox forbids it.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
fn in_one_step(guard: &Guard, path: &str) -> Option<Result<(File, Metadata), Refusal>> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    // Non-blocking, for what has become a FIFO since it was listed.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(&guard.root, path, flags, Mode::empty(), resolve) {
        Ok(file) => Some(crate::regular(file.into())),
        Err(Errno::NOSYS | Errno::PERM) => None,
        Err(Errno::LOOP) => Some(Err(Refusal::Link)),
        Err(Errno::XDEV) => Some(Err(Refusal::LeadsOut)),
        Err(error) => Some(Err(Refusal::of(error.into()))),
    }
}

// The walk used elsewhere follows links that stay below the root, and checks each name.
#[cfg(all(test, not(vouch_portable)))]
mod tests {
    use std::fs;
    use std::io::Read;

    use super::*;
    use crate::DenyList;

    #[test]
    fn regular_files_without_a_link_on_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/file"), "text").unwrap();
        std::os::unix::fs::symlink("a", root.join("b")).unwrap();
        std::os::unix::fs::symlink("file", root.join("a/link")).unwrap();
        let guard = Guard::new(root, DenyList::default()).unwrap();

        let (mut file, metadata) = guard.open_listed("a/file").unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), metadata.len()), ("text", 4));

        let refusal = |path: &str| guard.open_listed(path).unwrap_err().to_string();
        let answers = ["b/file", "a/link", "a", "none", "../x", "/etc/passwd"].map(refusal);
        assert_eq!(
            answers,
            [
                "is a link, which is not followed here",
                "is a link, which is not followed here",
                "is a folder; only regular files can be used",
                "does not exist",
                "leads through a link out of the repository root (absolute links always do)",
                "leads through a link out of the repository root (absolute links always do)",
            ]
        );
    }
}

//! Opens files whose names are already checked against the deny list, in one system call.
//!
//! A search opens thousands of files, and its listing has already checked each folder name once. Here the kernel
//! enforces the boundary (`openat2`: below the root, through no link), and no name is checked twice.

use std::fs::{File, Metadata};

use crate::{Guard, PathRefusal};

impl Guard {
    /// Opens a regular file by a path whose names the caller has checked against [`Guard::deny_list`]. No link is
    /// followed, not even one whose target is inside the root: it could lead to an unchecked name.
    pub fn open_checked(&self, path: &str) -> Result<(File, Metadata), PathRefusal> {
        #[cfg(all(target_os = "linux", not(vouch_portable)))]
        if let Some(answer) = open_in_one_step(self, path) {
            return answer;
        }
        let opened = self.open_file(path)?;
        Ok((opened.file, opened.metadata))
    }
}

/// Returns `None` if the kernel has no `openat2`, or a sandbox forbids it.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
fn open_in_one_step(guard: &Guard, path: &str) -> Option<Result<(File, Metadata), PathRefusal>> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
    use rustix::io::Errno;

    // Non-blocking, in case the file was replaced by a FIFO after it was listed.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(&guard.root, path, flags, Mode::empty(), resolve) {
        Ok(file) => Some(crate::require_regular_file(file.into())),
        Err(Errno::NOSYS | Errno::PERM) => None,
        Err(Errno::LOOP) => Some(Err(PathRefusal::IsLink)),
        Err(Errno::XDEV) => Some(Err(PathRefusal::LeadsOut)),
        Err(error) => Some(Err(PathRefusal::from_io_error(error.into()))),
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
    fn opens_regular_files_and_refuses_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/file"), "text").unwrap();
        std::os::unix::fs::symlink("a", root.join("b")).unwrap();
        std::os::unix::fs::symlink("file", root.join("a/link")).unwrap();
        let guard = Guard::new(root, DenyList::default()).unwrap();

        let (mut file, metadata) = guard.open_checked("a/file").unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), metadata.len()), ("text", 4));

        let refusal = |path: &str| guard.open_checked(path).unwrap_err().to_string();
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

//! Opens files whose names are already checked against the deny list, in one system call.
//!
//! A search opens thousands of files, and its listing has already checked each folder name once. Here the kernel
//! enforces the boundary (`openat2`: below the root, through no link), and no name is checked twice. Without `openat2` the
//! folders are opened one by one, with the same result.

use std::fs::{File, Metadata};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, OpenOptions};

use crate::{Guard, PathRefusal};

impl Guard {
    /// Opens a regular file by a path whose names the caller has checked against [`Guard::deny_list`]. No link is
    /// followed, not even one whose target is inside the root: it could lead to an unchecked name.
    pub fn open_checked(&self, path: &str) -> Result<(File, Metadata), PathRefusal> {
        #[cfg(all(target_os = "linux", not(vouch_portable)))]
        let answer = open_in_one_step(self, path);
        #[cfg(not(all(target_os = "linux", not(vouch_portable))))]
        let answer = None;
        let (file, metadata) = answer.unwrap_or_else(|| open_step_by_step(self, path))?;
        self.check_source(&[path], &file)?;
        Ok((file, metadata))
    }
}

/// Opens each folder of the path and then the file, through no link.
fn open_step_by_step(guard: &Guard, path: &str) -> Result<(File, Metadata), PathRefusal> {
    let names = guard.check_file(path)?;
    let (name, folders) = names.split_last().ok_or(PathRefusal::IsRoot)?;
    let mut held: Option<Dir> = None;
    for name in folders {
        let folder = held.as_ref().unwrap_or(&guard.root);
        let next = folder.open_dir_nofollow(name);
        held = Some(next.map_err(|error| match folder.read_link_contents(name) {
            Ok(_) => PathRefusal::IsLink,
            Err(_) => PathRefusal::from_io_error(error),
        })?);
    }
    let folder = held.as_ref().unwrap_or(&guard.root);
    crate::open_regular_file(folder, name, OpenOptions::new().read(true))
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::DenyList;

    type Open = fn(&Guard, &str) -> Result<(File, Metadata), PathRefusal>;

    /// Both ways to open a file give the same answers, except for the text of some.
    fn check_open(open: Open, outside: [&str; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/c")).unwrap();
        fs::write(root.join("a/file"), "text").unwrap();
        fs::write(root.join("a/c/file"), "text").unwrap();
        for (target, link) in
            [("a", "b"), ("file", "a/link"), ("c", "a/d"), ("/etc", "out"), ("../a/file", "a/up")]
        {
            symlink(target, root.join(link)).unwrap();
        }
        let guard = Guard::new(root, DenyList::default()).unwrap();

        for path in ["a/file", "a/c/file"] {
            let (mut file, metadata) = open(&guard, path).unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!((text.as_str(), metadata.len()), ("text", 4), "{path}");
        }
        let refusal = |path: &str| open(&guard, path).unwrap_err().to_string();
        for path in ["b/file", "b/c/file", "a/d/file", "a/link", "a/up", "out/passwd"] {
            assert_eq!(refusal(path), "is a link, which is not followed here", "{path}");
        }
        assert_eq!(refusal("a"), "is a folder; only regular files can be used");
        assert_eq!(refusal("none"), "does not exist");
        assert_eq!(["../x", "/etc/passwd"].map(refusal), outside);
    }

    #[test]
    fn opens_regular_files_and_refuses_links_step_by_step() {
        let outside = [PathRefusal::ParentComponent, PathRefusal::Absolute];
        let outside = outside.map(|refusal| refusal.to_string());
        check_open(open_step_by_step, [&outside[0], &outside[1]]);
    }

    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    #[test]
    fn opens_regular_files_and_refuses_links() {
        let out = PathRefusal::LeadsOut.to_string();
        check_open(|guard, path| guard.open_checked(path), [&out, &out]);
    }
}

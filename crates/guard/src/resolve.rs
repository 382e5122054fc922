//! Resolves paths and lists folders without opening files for reading.

use std::ffi::{OsStr, OsString};
use std::io;

use cap_std::fs::Dir;
use rustix::io::Errno;

use crate::{Guard, PathRefusal, walk};

/// The type of the object that a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Folder,
    /// A pipe, socket or device.
    Other,
}

/// A path below the root after links were resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPath {
    pub kind: FileKind,
    /// The path from the root, without links.
    pub path: String,
}

impl Guard {
    /// Returns the type and link-free path of `path`. Links inside the root are followed; the empty path is the root.
    pub fn resolve_path(&self, path: &str) -> Result<ResolvedPath, PathRefusal> {
        let names = self.check_path(path)?;
        let found = self.resolve_names(&names);
        // Only a folder may be named like a secret. A missing file is refused like an existing one.
        let is_folder = found.as_ref().is_ok_and(|found| found.kind == FileKind::Folder);
        if !is_folder {
            let check = |names: &[&str]| self.deny.check_names(names, true);
            check(&names).map_err(|pattern| PathRefusal::Denied { pattern })?;
            if let Ok(found) = &found {
                let target: Vec<_> = found.path.split('/').collect();
                check(&target).map_err(|pattern| PathRefusal::LeadsToDenied { pattern })?;
            }
        }
        found
    }

    fn resolve_names(&self, names: &[&str]) -> Result<ResolvedPath, PathRefusal> {
        #[cfg(all(target_os = "linux", not(vouch_portable)))]
        if let Some(answer) = resolve_in_one_step(self, &names.join("/")) {
            return answer;
        }
        let (target, missing) = (walk::WalkTarget::Any, walk::MissingFolderPolicy::Refuse);
        walk::walk_path(self, names, target, missing, resolve_without_following)
    }

    /// Returns the allowed names in a folder, in no order. Names that are denied or not UTF-8 are left out.
    pub fn list_folder(&self, path: &str) -> Result<Vec<String>, PathRefusal> {
        let seen = self.resolve_path(path)?;
        if seen.kind != FileKind::Folder {
            return Err(PathRefusal::NotAFolder);
        }
        let names = self.check_path(&seen.path)?;
        let (target, missing) = (walk::WalkTarget::Any, walk::MissingFolderPolicy::Refuse);
        let folder = walk::walk_path(self, &names, target, missing, |folder, name, _| {
            cap_fs_ext::DirExt::open_dir_nofollow(folder, name)
        })?;
        let entries = folder.entries().map_err(PathRefusal::from_io_error)?.flatten();
        let names = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let path = format!("{}/{name}", seen.path);
            self.deny.check_entry(&path, !is_folder).is_ok().then_some(name)
        });
        Ok(names.collect())
    }
}

fn resolve_without_following(
    folder: &Dir,
    name: &OsStr,
    above: &[OsString],
) -> io::Result<ResolvedPath> {
    let metadata = folder.symlink_metadata(name)?;
    if metadata.is_symlink() {
        return Err(Errno::LOOP.into());
    }
    let names = above.iter().map(OsString::as_os_str).chain((name != ".").then_some(name));
    let names: Option<Vec<&str>> = names.map(OsStr::to_str).collect();
    let kind = match () {
        () if metadata.is_file() => FileKind::File,
        () if metadata.is_dir() => FileKind::Folder,
        () => FileKind::Other,
    };
    // A link may lead to a name that is not UTF-8, which no caller can request.
    Ok(ResolvedPath { kind, path: names.ok_or(Errno::NOENT)?.join("/") })
}

/// Returns `None` if the path contains a link, or the kernel does not support it.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
fn resolve_in_one_step(guard: &Guard, path: &str) -> Option<Result<ResolvedPath, PathRefusal>> {
    use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // `NOFOLLOW` would open a trailing link itself; without it the link is refused.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let shown = if path.is_empty() { "." } else { path };
    match openat2(&guard.root, shown, flags, Mode::empty(), resolve) {
        Ok(file) => {
            let kind = match FileType::from_raw_mode(fstat(&file).ok()?.st_mode) {
                FileType::RegularFile => FileKind::File,
                FileType::Directory => FileKind::Folder,
                _ => FileKind::Other,
            };
            Some(Ok(ResolvedPath { kind, path: path.to_owned() }))
        }
        Err(Errno::NOENT | Errno::NOTDIR) => Some(Err(PathRefusal::NotFound)),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::DenyList;

    #[test]
    fn resolves_paths_through_links_and_refuses_denied_ones() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("packages/a/src")).unwrap();
        fs::create_dir_all(root.join("node_modules/@x")).unwrap();
        fs::write(root.join("packages/a/src/index.ts"), "").unwrap();
        fs::write(root.join("packages/a/my-secret.ts"), "").unwrap();
        symlink("../../packages/a", root.join("node_modules/@x/a")).unwrap();
        symlink("../packages", root.join("packages/round")).unwrap();
        symlink("/etc", root.join("out")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let guard = Guard::new(&root, DenyList::default()).unwrap();
        let look = |path: &str| match guard.resolve_path(path) {
            Ok(seen) => format!("{path}: {:?} {}", seen.kind, seen.path),
            Err(refusal) => format!("{path} {refusal}"),
        };
        for expected in [
            ": Folder ",
            "packages/a/src: Folder packages/a/src",
            "packages/a/src/index.ts: File packages/a/src/index.ts",
            "packages/a/src/index.ts/more does not exist",
            "packages/b does not exist",
            "node_modules/@x/a/src/index.ts: File packages/a/src/index.ts",
            "node_modules/@x/a: Folder packages/a",
            "packages/round/round/a: Folder packages/a",
            "out/passwd leads through a link out of the repository root (absolute links always do)",
            "loop does not exist: its symbolic links form a loop",
            "packages/a/my-secret.ts is blocked by the rule `*secret*`",
            "../root contains `..`, which is not allowed; give the path from the repository root",
        ] {
            let path = expected.split([':', ' ']).next().unwrap();
            assert_eq!(look(path), expected);
        }

        let mut names = guard.list_folder("node_modules/@x/a").unwrap();
        names.sort();
        assert_eq!(names, ["src"]);
        assert!(matches!(
            guard.list_folder("packages/a/src/index.ts"),
            Err(PathRefusal::NotAFolder)
        ));
        assert_eq!(guard.list_folder("").unwrap().len(), 4);
    }
}

//! What is at a path, without opening it for reading.

use std::ffi::{OsStr, OsString};
use std::io;

use cap_std::fs::Dir;
use rustix::io::Errno;

use crate::{Guard, Refusal, walk};

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    /// A pipe, socket or device.
    Other,
}

/// Something below the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub kind: Kind,
    /// Its path below the root, without links.
    pub path: String,
}

impl Guard {
    /// What `path` names, links inside the root followed. The empty path is the root.
    pub fn look(&self, path: &str) -> Result<Seen, Refusal> {
        let names = self.check(path)?;
        #[cfg(all(target_os = "linux", not(vouch_portable)))]
        if let Some(answer) = in_one_step(self, &names.join("/")) {
            return answer;
        }
        walk::walk(self, &names, walk::Missing::Refuse, look_without_following)
    }

    /// The names in a folder that the deny list lets through, in no order; those that are not UTF-8 are left out.
    pub fn list(&self, path: &str) -> Result<Vec<String>, Refusal> {
        let seen = self.look(path)?;
        if seen.kind != Kind::Folder {
            return Err(Refusal::NotAFolder);
        }
        let names = self.check(&seen.path)?;
        let folder = walk::walk(self, &names, walk::Missing::Refuse, |folder, name, _| {
            cap_fs_ext::DirExt::open_dir_nofollow(folder, name)
        })?;
        let entries = folder.entries().map_err(Refusal::of)?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names.filter(|name| self.deny.check(name).is_ok()).collect())
    }
}

fn look_without_following(folder: &Dir, name: &OsStr, above: &[OsString]) -> io::Result<Seen> {
    let metadata = folder.symlink_metadata(name)?;
    if metadata.is_symlink() {
        return Err(Errno::LOOP.into());
    }
    let names = above.iter().map(OsString::as_os_str).chain((name != ".").then_some(name));
    let names: Option<Vec<&str>> = names.map(OsStr::to_str).collect();
    let kind = match () {
        () if metadata.is_file() => Kind::File,
        () if metadata.is_dir() => Kind::Folder,
        () => Kind::Other,
    };
    // A link may lead to a name that is not text, which nobody can ask for.
    Ok(Seen { kind, path: names.ok_or(Errno::NOENT)?.join("/") })
}

/// None where a link is on the way, or the kernel cannot do it.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
fn in_one_step(guard: &Guard, path: &str) -> Option<Result<Seen, Refusal>> {
    use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};

    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // `NOFOLLOW` would open a last link itself, where without it the link is refused.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let shown = if path.is_empty() { "." } else { path };
    match openat2(&guard.root, shown, flags, Mode::empty(), resolve) {
        Ok(file) => {
            let kind = match FileType::from_raw_mode(fstat(&file).ok()?.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Folder,
                _ => Kind::Other,
            };
            Some(Ok(Seen { kind, path: path.to_owned() }))
        }
        Err(Errno::NOENT | Errno::NOTDIR) => Some(Err(Refusal::NotFound)),
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
    fn what_a_path_names_and_where_it_really_is() {
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
        let look = |path: &str| match guard.look(path) {
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
            "loop does not exist: its links lead round in a circle",
            "packages/a/my-secret.ts is blocked by the rule `*secret*`",
            "../root holds `..`, which no path may; give the path from the repository root",
        ] {
            let path = expected.split([':', ' ']).next().unwrap();
            assert_eq!(look(path), expected);
        }

        let mut names = guard.list("node_modules/@x/a").unwrap();
        names.sort();
        assert_eq!(names, ["src"]);
        assert!(matches!(guard.list("packages/a/src/index.ts"), Err(Refusal::NotAFolder)));
        assert_eq!(guard.list("").unwrap().len(), 4);
    }
}

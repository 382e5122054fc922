//! Where the Git folder of a work tree is, believed only where the two name each other.
//!
//! A `.git` may be a file or a link that names a folder elsewhere, and an unpacked archive can bring one that names
//! somebody else's repository. Git makes such files for linked worktrees and for submodules, and in both the folder
//! that is named says in turn whose it is. So whatever leads out of the work tree has to lead back into it.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use gix::config::{File, Source};

/// Far more than Git writes into these files.
const MAX_BYTES: u64 = 8 * 1024;

/// What the `.git` of a work tree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitFolder {
    /// Inside the work tree.
    Own,
    /// Of a linked worktree; `common` is the folder of the repository that it belongs to.
    Linked { common: PathBuf },
    /// Of a submodule, below the folder of the repository that holds it.
    Submodule,
    /// It leads to what does not lead back, or to nothing.
    Elsewhere,
}

impl GitFolder {
    /// None where there is no `.git`. The path of the work tree has no links in it.
    pub(crate) fn of(worktree: &Path) -> Option<Self> {
        let pointer = worktree.join(".git");
        let metadata = pointer.symlink_metadata().ok()?;
        let believed = if metadata.is_file() {
            named_by(&pointer).and_then(|folder| leads_back(&pointer, &folder))
        } else {
            stays_inside(worktree, &pointer).then_some(Self::Own)
        };
        Some(believed.unwrap_or(Self::Elsewhere))
    }
}

/// The folder that a `.git` file names, believed or not.
pub(crate) fn named_by(pointer: &Path) -> Option<PathBuf> {
    let text = read(pointer)?;
    pointer.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

fn leads_back(pointer: &Path, folder: &Path) -> Option<GitFolder> {
    if let Some(back) = read(&folder.join("gitdir")) {
        let common = folder.join(read(&folder.join("commondir"))?).canonicalize().ok()?;
        // An archive may bring the named folder, too. What it cannot bring is a folder inside the other repository.
        let belongs = folder.starts_with(common.join("worktrees"));
        let same = folder.join(back).canonicalize().ok()? == pointer;
        return (belongs && same).then_some(GitFolder::Linked { common });
    }
    let back = folder.join(configured_worktree(folder)?).canonicalize().ok()?;
    let same = back == pointer.parent()? && !folder.join("commondir").exists();
    same.then_some(GitFolder::Submodule)
}

/// A folder that is there, or that a link inside the work tree names, and that takes its branches from no other.
fn stays_inside(worktree: &Path, pointer: &Path) -> bool {
    let inside = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(worktree));
    inside(pointer) && !pointer.join("commondir").exists()
}

/// `core.worktree` of a repository.
fn configured_worktree(folder: &Path) -> Option<PathBuf> {
    let config = File::from_path_no_includes(folder.join("config"), Source::Local).ok()?;
    let path = config.string("core.worktree")?;
    gix::path::from_bstr(path).ok().map(Cow::into_owned)
}

/// A small text of Git; None where it is long, or none.
pub(crate) fn read(path: &Path) -> Option<String> {
    let small = path.metadata().ok()?.len() <= MAX_BYTES;
    let text = small.then(|| fs::read_to_string(path).ok())??;
    Some(text.trim_end().to_owned())
}

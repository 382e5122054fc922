//! Finds the Git folder of a work tree, and trusts it only if the two refer to each other.
//!
//! A `.git` may be a file or a symbolic link that names a folder elsewhere. An unpacked archive can contain one that
//! names an unrelated repository. Git creates such files for linked worktrees and for submodules, and in both cases
//! the named folder refers back to the work tree. So a pointer that leaves the work tree is trusted only if the
//! target points back into it.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use gix::config::{File, Source};

/// Size limit of the files read here; far more than Git writes into them.
const MAX_BYTES: u64 = 8 * 1024;

/// Kind of the `.git` of a work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitFolder {
    /// A folder inside the work tree.
    Own,
    /// Git folder of a linked worktree; `common` is the Git folder of the repository that it belongs to.
    Linked { common: PathBuf },
    /// Git folder of a submodule, below the Git folder of the containing repository.
    Submodule,
    /// The target does not exist, or does not point back to this work tree.
    Untrusted,
}

impl GitFolder {
    /// Returns `None` if there is no `.git`. The path of the work tree must contain no symbolic links.
    pub(crate) fn from_worktree(worktree: &Path) -> Option<Self> {
        let pointer = worktree.join(".git");
        let metadata = pointer.symlink_metadata().ok()?;
        let verified = if metadata.is_file() {
            read_gitdir_pointer(&pointer)
                .and_then(|folder| verify_back_reference(&pointer, &folder))
        } else {
            is_inside_worktree(worktree, &pointer).then_some(Self::Own)
        };
        Some(verified.unwrap_or(Self::Untrusted))
    }
}

/// Returns the folder that a `.git` file names, without verifying that it points back.
pub(crate) fn read_gitdir_pointer(pointer: &Path) -> Option<PathBuf> {
    let text = read_small_text(pointer)?;
    pointer.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

fn verify_back_reference(pointer: &Path, folder: &Path) -> Option<GitFolder> {
    if let Some(back) = read_small_text(&folder.join("gitdir")) {
        let common =
            folder.join(read_small_text(&folder.join("commondir"))?).canonicalize().ok()?;
        // An archive may contain the named folder, too. It cannot contain a folder inside the other repository.
        let belongs = folder.starts_with(common.join("worktrees"));
        let same = folder.join(back).canonicalize().ok()? == pointer;
        return (belongs && same).then_some(GitFolder::Linked { common });
    }
    let back = folder.join(read_configured_worktree(folder)?).canonicalize().ok()?;
    let same = back == pointer.parent()? && !folder.join("commondir").exists();
    same.then_some(GitFolder::Submodule)
}

/// Returns true if the Git folder, with links resolved, is inside the work tree and does not share branches through
/// a `commondir`.
fn is_inside_worktree(worktree: &Path, pointer: &Path) -> bool {
    let inside = |path: &Path| path.canonicalize().is_ok_and(|path| path.starts_with(worktree));
    inside(pointer) && !pointer.join("commondir").exists()
}

/// Returns `core.worktree` from the repository's config.
fn read_configured_worktree(folder: &Path) -> Option<PathBuf> {
    let config = File::from_path_no_includes(folder.join("config"), Source::Local).ok()?;
    let path = config.string("core.worktree")?;
    gix::path::from_bstr(path).ok().map(Cow::into_owned)
}

/// Reads a small text file of Git; `None` if it is missing, too long or not UTF-8.
pub(crate) fn read_small_text(path: &Path) -> Option<String> {
    let small = path.metadata().ok()?.len() <= MAX_BYTES;
    let text = small.then(|| fs::read_to_string(path).ok())??;
    Some(text.trim_end().to_owned())
}

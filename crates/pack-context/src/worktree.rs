//! Finds the Git folder of a work tree, and trusts it only if the two refer to each other.
//!
//! A `.git` may be a file or a symbolic link that names a folder elsewhere. An unpacked archive can contain one that
//! names an unrelated repository. Git creates such files for linked worktrees and for submodules, and in both cases
//! the named folder refers back to the work tree. So a pointer is trusted only if the target points back to it, and a
//! symbolic link never is. `repository_bounds.rs` checks what is inside the folder.

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
    Linked { folder: PathBuf, common: PathBuf },
    /// Git folder of a submodule, below the Git folder of the containing repository.
    Submodule { folder: PathBuf },
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
            // A `commondir` would name another folder for the branches and objects.
            let is_own = metadata.is_dir() && pointer.join("commondir").symlink_metadata().is_err();
            is_own.then_some(Self::Own)
        };
        Some(verified.unwrap_or(Self::Untrusted))
    }

    /// Returns the folder with the HEAD of this work tree, or `None` if it is not trusted.
    pub(crate) fn head_folder(&self, worktree: &Path) -> Option<PathBuf> {
        match self {
            Self::Own => Some(worktree.join(".git")),
            Self::Linked { folder, .. } | Self::Submodule { folder } => Some(folder.clone()),
            Self::Untrusted => None,
        }
    }

    /// Returns the folder with the branches and objects, or `None` if it is not trusted.
    pub(crate) fn common_folder(&self, worktree: &Path) -> Option<PathBuf> {
        match self {
            Self::Linked { common, .. } => Some(common.clone()),
            Self::Own | Self::Submodule { .. } | Self::Untrusted => self.head_folder(worktree),
        }
    }
}

/// Returns the folder that a `.git` file names, without verifying that it points back.
fn read_gitdir_pointer(pointer: &Path) -> Option<PathBuf> {
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
        let folder = folder.to_owned();
        return (belongs && same).then_some(GitFolder::Linked { folder, common });
    }
    let back = folder.join(read_configured_worktree(folder)?).canonicalize().ok()?;
    let same = back == pointer.parent()? && !folder.join("commondir").exists();
    same.then(|| GitFolder::Submodule { folder: folder.to_owned() })
}

/// Returns `core.worktree` from the repository's config.
fn read_configured_worktree(folder: &Path) -> Option<PathBuf> {
    let path = folder.join("config");
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let config = File::from_path_no_includes(path, Source::Local).ok()?;
    let path = config.string("core.worktree")?;
    gix::path::from_bstr(path).ok().map(Cow::into_owned)
}

/// Reads a small text file of Git; `None` if it is missing, a link, a special file, too long or not UTF-8.
pub(crate) fn read_small_text(path: &Path) -> Option<String> {
    let metadata = path.symlink_metadata().ok()?;
    let is_small = metadata.is_file() && metadata.len() <= MAX_BYTES;
    let text = is_small.then(|| fs::read_to_string(path).ok())??;
    Some(text.trim_end().to_owned())
}

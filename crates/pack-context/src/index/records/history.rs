//! Detects new commits without reading one.

use std::path::{Component, Path, PathBuf};

use tree::FileStamp;

use crate::worktree::{GitFolder, read_small_text};

/// Fingerprint of the Git HEAD. It changes with every commit, checkout and reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitHeadState {
    head: String,
    /// Stamps of the HEAD reflog, which grows with every move of HEAD, of the ref that HEAD names, and of
    /// `packed-refs`.
    stamps: [Option<FileStamp>; 3],
}

impl GitHeadState {
    /// Reads the fingerprint; `None` if `root` is not in a repository.
    pub(super) fn read_from_root(root: &Path) -> Option<Self> {
        let git = find_head_folder(root)?;
        let head = read_small_text(&git.join("HEAD"))?;
        // A linked worktree keeps its branches in the main repository, but has its own reflog.
        let named = head.strip_prefix("ref:").map(str::trim).filter(|name| is_plain_path(name));
        let named = git.join(named.unwrap_or("HEAD"));
        let stamp = |path: PathBuf| Some(FileStamp::from_metadata(&path.symlink_metadata().ok()?));
        let stamps = [stamp(git.join("logs/HEAD")), stamp(named), stamp(git.join("packed-refs"))];
        Some(Self { head, stamps })
    }
}

/// Returns the Git folder with the HEAD of the repository around `root`, or `None` if there is none that is trusted.
fn find_head_folder(root: &Path) -> Option<PathBuf> {
    root.ancestors()
        .find_map(|folder| GitFolder::from_worktree(folder).map(|git| git.head_folder(folder)))?
}

/// Returns true if the name stays below the folder that it is joined to.
fn is_plain_path(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}

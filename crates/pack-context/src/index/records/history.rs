//! Detects new commits without reading one.

use std::path::{Path, PathBuf};

use tree::FileStamp;

use crate::worktree::{read_gitdir_pointer, read_small_text};

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
        let git = root.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
        let git = if git.is_file() { read_gitdir_pointer(&git)? } else { git };
        let head = read_small_text(&git.join("HEAD"))?;
        // A linked worktree keeps its branches in the main repository, but has its own reflog.
        let named = head
            .strip_prefix("ref:")
            .map_or_else(|| git.join("HEAD"), |name| git.join(name.trim()));
        let stamp = |path: PathBuf| Some(FileStamp::from_metadata(&path.metadata().ok()?));
        let stamps = [stamp(git.join("logs/HEAD")), stamp(named), stamp(git.join("packed-refs"))];
        Some(Self { head, stamps })
    }
}

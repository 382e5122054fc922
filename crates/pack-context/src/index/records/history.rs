//! Whether there are new commits, without reading one.

use std::path::{Path, PathBuf};

use tree::Stamp;

use crate::worktree::{named_by, read};

/// Where the history stands: changes with every commit, checkout and reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    head: String,
    /// Of the log of what HEAD was, which grows with every move of it, and of what HEAD names.
    stamps: [Option<Stamp>; 3],
}

impl Head {
    /// None where there is no repository.
    pub(super) fn of(root: &Path) -> Option<Self> {
        let git = root.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
        let git = if git.is_file() { named_by(&git)? } else { git };
        let head = read(&git.join("HEAD"))?;
        // In a linked worktree branches are kept with the main one; its log is its own.
        let named = head
            .strip_prefix("ref:")
            .map_or_else(|| git.join("HEAD"), |name| git.join(name.trim()));
        let stamp = |path: PathBuf| Some(Stamp::of(&path.metadata().ok()?));
        let stamps = [stamp(git.join("logs/HEAD")), stamp(named), stamp(git.join("packed-refs"))];
        Some(Self { head, stamps })
    }
}

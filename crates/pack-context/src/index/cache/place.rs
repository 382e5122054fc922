//! Where the cache is: in the state folder, or for a linked Git worktree in that of the main one.
//!
//! Worktrees of one repository hold mostly the same texts, and a vector is dear. The main worktree's state folder is used
//! only where the two name each other (`worktree.rs`): a `.git` file that came with strange sources cannot send us
//! elsewhere.

use std::path::{Path, PathBuf};

use store::StateDir;

use crate::worktree::GitFolder;

/// The folders that may hold the cache of a project, the best first. Nothing is made before it is needed.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    folders: Vec<PathBuf>,
}

impl Place {
    pub(crate) fn of(root: &Path, state: &StateDir, instead: Option<PathBuf>) -> Self {
        let own = state.path().to_owned();
        let folders = match instead {
            Some(folder) => vec![folder],
            None => shared(root, &own).into_iter().chain([own]).collect(),
        };
        Self { folders }
    }

    /// Makes the first of the folders that can be made.
    pub(super) fn make(&self) -> Option<PathBuf> {
        let made = self.folders.iter().map(StateDir::open);
        let opened = made.filter_map(|opened| {
            opened.inspect_err(|error| tracing::warn!(%error, "no place for the index cache")).ok()
        });
        opened.map(|state| state.path().to_owned()).next()
    }

    /// The first that is there.
    pub(super) fn find(&self) -> Option<&Path> {
        self.folders.iter().map(PathBuf::as_path).find(|folder| folder.is_dir())
    }
}

fn shared(root: &Path, own: &Path) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    // A state folder that was put elsewhere stays there.
    if own.parent()?.canonicalize().ok()? != root {
        return None;
    }
    Some(main_worktree(&root)?.join(own.file_name()?))
}

fn main_worktree(root: &Path) -> Option<PathBuf> {
    let Some(GitFolder::Linked { common }) = GitFolder::of(root) else { return None };
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_owned))?
}

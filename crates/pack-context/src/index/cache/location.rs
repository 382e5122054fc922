//! Location of the cache: the state folder, or for a linked Git worktree the state folder of the main worktree.
//!
//! Worktrees of one repository have mostly the same texts, and vectors are expensive to compute. The main worktree's
//! state folder is used only if the two refer to each other (`worktree.rs`). So a `.git` file in untrusted sources
//! cannot redirect the cache.

use std::path::{Path, PathBuf};

use store::{ProjectIdentity, StateDir};

use crate::worktree::GitFolder;

/// Candidate folders for the cache of a project, in order of preference. They are created only when needed.
#[derive(Clone, Debug)]
pub(crate) struct CacheLocation {
    folders: Vec<PathBuf>,
}

impl CacheLocation {
    pub(crate) fn from_state_dir(
        root: &Path,
        state: &StateDir,
        cache_folder: Option<PathBuf>,
    ) -> Self {
        let own = state.path().to_owned();
        let folders = match cache_folder {
            Some(folder) => vec![folder],
            None => find_shared_folder(root, &own).into_iter().chain([own]).collect(),
        };
        Self { folders }
    }

    /// Creates or opens the first folder that is usable, and returns its path.
    pub(super) fn create_folder(&self) -> Option<PathBuf> {
        let made = self.folders.iter().map(StateDir::open);
        let opened = made.filter_map(|opened| {
            opened
                .inspect_err(|error| tracing::warn!(%error, "failed to create index cache folder"))
                .ok()
        });
        opened.map(|state| state.path().to_owned()).next()
    }

    /// Returns the first folder that exists.
    pub(super) fn existing_folder(&self) -> Option<&Path> {
        self.folders.iter().map(PathBuf::as_path).find(|folder| folder.is_dir())
    }
}

/// Returns the state folder of the main worktree, if `root` is a linked worktree.
fn find_shared_folder(root: &Path, own: &Path) -> Option<PathBuf> {
    let root = root.canonicalize().ok()?;
    // Only a folder that is named for the project has a counterpart for another one. Any other was chosen explicitly.
    let name = ProjectIdentity::read(&root).ok()?.directory_name();
    if own.file_name()? != name.as_str() {
        return None;
    }
    let main = ProjectIdentity::read(&find_main_worktree(&root)?).ok()?;
    Some(own.with_file_name(main.directory_name()))
}

fn find_main_worktree(root: &Path) -> Option<PathBuf> {
    let Some(GitFolder::Linked { common, .. }) = GitFolder::from_worktree(root) else {
        return None;
    };
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_owned))?
}

//! Rule files that lie outside the watched folders: those of the folders above the root, the user's global excludes,
//! and the `info/exclude` of each repository in the tree. They change rarely and are few, so a barrier asks for their
//! stamps instead of watching whole folders (one of them may be `/tmp`) for their sake.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Stamp;
use crate::rules::RULE_FILES;

#[derive(Debug, Default)]
pub(super) struct Outside(BTreeMap<PathBuf, Option<Stamp>>);

impl Outside {
    /// What holds for the whole project.
    pub(super) fn of(root: &Path) -> Self {
        let mut files = Self::default();
        for folder in root.ancestors().skip(1) {
            RULE_FILES.iter().for_each(|name| files.note(folder.join(name)));
            files.note_repository(folder);
        }
        if let Some(excludes) = ignore::gitignore::gitconfig_excludes_path() {
            files.note(excludes);
        }
        files
    }

    /// Notes what a repository in this folder excludes; called before the folder is read.
    pub(super) fn note_repository(&mut self, folder: &Path) {
        if let Some(repository) = repository(&folder.join(".git")) {
            self.note(repository.join("info/exclude"));
        }
    }

    pub(super) fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, known)| stamp(path) != *known)
    }

    fn note(&mut self, path: PathBuf) {
        let stamp = stamp(&path);
        self.0.insert(path, stamp);
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    path.metadata().ok().as_ref().map(Stamp::of)
}

/// The folder with `info/exclude`: `.git` itself, or where the `.git` file of a linked worktree or submodule leads.
fn repository(git: &Path) -> Option<PathBuf> {
    if git.metadata().ok()?.is_dir() {
        return Some(git.to_owned());
    }
    let text = fs::read_to_string(git).ok()?;
    let own = git.parent()?.join(text.lines().next()?.strip_prefix("gitdir: ")?);
    match fs::read_to_string(own.join("commondir")) {
        Ok(common) => Some(own.join(common.lines().next()?)),
        Err(_) => Some(own),
    }
}

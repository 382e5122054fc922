//! Ignore files outside the watched folders: those above the root, the user's global excludes, and the `info/exclude`
//! of each repository in the tree.
//!
//! They are few and change rarely, so each barrier compares their stamps. Watching their folders would be costly: one
//! of them may be `/tmp`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::FileStamp;
use crate::rule_files::read_small_file;
use crate::rules::IGNORE_FILES;

/// Ignore files with their stamps; `None` for a missing file.
#[derive(Debug, Default)]
pub(super) struct ExternalRules(BTreeMap<PathBuf, Option<FileStamp>>);

impl ExternalRules {
    /// Tracks the ignore files that apply to the whole project.
    pub(super) fn from_root(root: &Path) -> Self {
        let mut files = Self::default();
        for folder in root.ancestors().skip(1) {
            IGNORE_FILES.iter().for_each(|name| files.track_file(folder.join(name)));
            files.track_repository(folder);
        }
        if let Some(excludes) = ignore::gitignore::gitconfig_excludes_path() {
            files.track_file(excludes);
        }
        files
    }

    /// Tracks the `info/exclude` of a repository in `folder`. Must be called before the folder is read.
    pub(super) fn track_repository(&mut self, folder: &Path) {
        if let Some(repository) = find_git_folder(&folder.join(".git")) {
            self.track_file(repository.join("info/exclude"));
        }
    }

    /// Returns true if any tracked file was added, changed or removed.
    pub(super) fn has_changed(&self) -> bool {
        self.0.iter().any(|(path, known)| read_stamp(path) != *known)
    }

    fn track_file(&mut self, path: PathBuf) {
        let stamp = read_stamp(&path);
        self.0.insert(path, stamp);
    }
}

fn read_stamp(path: &Path) -> Option<FileStamp> {
    path.metadata().ok().as_ref().map(FileStamp::from_metadata)
}

/// Returns the folder that contains `info/exclude`: `.git` itself, or the target of the `.git` file of a linked
/// worktree or submodule.
fn find_git_folder(git: &Path) -> Option<PathBuf> {
    if git.metadata().ok()?.is_dir() {
        return Some(git.to_owned());
    }
    let text = read_small_file(git)?;
    let own = git.parent()?.join(text.lines().next()?.strip_prefix("gitdir: ")?);
    match read_small_file(&own.join("commondir")) {
        Some(common) => Some(own.join(common.lines().next()?)),
        None => Some(own),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn finds_git_folder_and_reads_no_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join(".git");
        fs::write(&git, "gitdir: own\n").unwrap();
        assert_eq!(find_git_folder(&git), Some(folder.path().join("own")));
        fs::create_dir(folder.path().join("own")).unwrap();
        fs::write(folder.path().join("own/commondir"), "../main\n").unwrap();
        assert_eq!(find_git_folder(&git), Some(folder.path().join("own/../main")));
        fs::write(&git, format!("gitdir: {}", "x".repeat(10_000))).unwrap();
        assert_eq!(find_git_folder(&git), None);
        // Opening a pipe for reading waits for a writer.
        fs::remove_file(&git).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &git, rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(find_git_folder(&git), None);
    }
}

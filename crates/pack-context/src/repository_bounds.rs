//! Checks that a Git folder has no part elsewhere, so that reading it shows no other repository.
//!
//! An unpacked archive, or a folder that another user prepared, can contain a `.git` whose objects or branches are those of
//! a repository of this user: through `objects/info/alternates`, or through symbolic links anywhere in it. The library that
//! reads the history follows both. Git itself writes alternates only for `clone --shared` and `--reference`, and no links,
//! so a Git folder with either is not read at all. Hard links and bind mounts cannot be recognized.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the history is read from, besides the trees `objects` and `refs`. Other entries, such as `hooks`, may be links.
const FILES: [&str; 6] =
    ["HEAD", "commondir", "config", "config.worktree", "packed-refs", "shallow"];
const TREES: [&str; 2] = ["objects", "refs"];
/// File in which a repository names the object folders of others.
const ALTERNATES: &str = "objects/info/alternates";
/// Maximum number of entries below `objects` and `refs`. Git packs loose objects long before.
const MAX_ENTRIES: usize = 1_000_000;

/// The reason why a Git folder is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BoundsError {
    #[error("{} names the objects of another repository", .0.display())]
    Alternates(PathBuf),
    #[error("{} is a symbolic link or a special file", .0.display())]
    Link(PathBuf),
    #[error("{} belongs to another user", .0.display())]
    Owner(PathBuf),
    #[error("{} has too many entries", .0.display())]
    TooMany(PathBuf),
    #[error("failed to read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Returns an error if something that the history is read from is not a plain file or folder below `git`, or if the folder
/// belongs to a user other than this one and the owner of the project.
pub(crate) fn check_git_folder(git: &Path, project: &Path) -> Result<(), BoundsError> {
    let owner = read_owner(git)?;
    if owner != rustix::process::geteuid().as_raw() && owner != read_owner(project)? {
        return Err(BoundsError::Owner(git.to_owned()));
    }
    let alternates = git.join(ALTERNATES);
    if alternates.symlink_metadata().is_ok() {
        return Err(BoundsError::Alternates(alternates));
    }
    for path in FILES.map(|name| git.join(name)) {
        match path.symlink_metadata() {
            Ok(metadata) if !metadata.is_file() => return Err(BoundsError::Link(path)),
            _ => {}
        }
    }
    let mut budget = MAX_ENTRIES;
    for path in TREES.map(|name| git.join(name)) {
        match path.symlink_metadata() {
            Ok(metadata) if !metadata.is_dir() => return Err(BoundsError::Link(path)),
            Ok(_) => check_tree(path, &mut budget)?,
            Err(_) => {}
        }
    }
    Ok(())
}

/// Returns an error if the tree contains anything but plain files and folders.
fn check_tree(folder: PathBuf, budget: &mut usize) -> Result<(), BoundsError> {
    let mut open = vec![folder];
    while let Some(folder) = open.pop() {
        let failed = |source| BoundsError::Io { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            *budget = budget.checked_sub(1).ok_or_else(|| BoundsError::TooMany(folder.clone()))?;
            // The listing names the kind, so this costs no further access.
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if !kind.is_file() {
                return Err(BoundsError::Link(entry.path()));
            }
        }
    }
    Ok(())
}

fn read_owner(path: &Path) -> Result<u32, BoundsError> {
    let metadata = path.symlink_metadata();
    let failed = |source| BoundsError::Io { path: path.to_owned(), source };
    metadata.map(|metadata| metadata.uid()).map_err(failed)
}

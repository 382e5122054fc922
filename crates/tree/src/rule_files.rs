//! Checks the ignore files of a folder before the walk reads them.
//!
//! The library that walks opens them by itself: through any link, also if it is a device without an end, or a pipe without
//! a writer. A project of unknown origin must not make it read files elsewhere, so a folder with such a file is not
//! entered. Git does not follow such links either.

use std::fs;
use std::path::{Path, PathBuf};

use crate::rules::IGNORE_FILES;

/// Maximum size of an ignore file. The library holds all of its rules in memory.
const MAX_RULE_BYTES: u64 = 16 << 20;
/// Maximum size of a `.git` file and of what it refers to: two paths of the maximum length.
const MAX_POINTER_BYTES: u64 = 8 * 1024;

/// Returns true if the walk would read something outside of the project, or without an end, when it enters the root: for
/// the ignore files of the root, and of the folders above it. Links of the latter are those of the user.
pub(crate) fn has_unsafe_root(root: &Path) -> bool {
    let above = |folder: &Path| {
        let names = IGNORE_FILES.iter().chain(&[".git/info/exclude"]);
        names.map(|name| folder.join(name)).any(|file| is_unsafe_file(None, &file))
    };
    has_unsafe_rules(root, root) || root.ancestors().skip(1).any(above)
}

/// Returns true if the walk would read something outside of the project, or without an end, when it enters a folder. The
/// root must be canonical.
pub(crate) fn has_unsafe_rules(root: &Path, folder: &Path) -> bool {
    IGNORE_FILES.iter().any(|name| is_unsafe_file(Some(root), &folder.join(name)))
        || has_unsafe_git(root, folder)
}

/// Returns true if the `info/exclude` of a repository is unsafe, or if a `.git` names a repository outside that does not
/// have this folder as one of its worktrees.
pub(crate) fn has_unsafe_git(root: &Path, folder: &Path) -> bool {
    let git = folder.join(".git");
    let Ok(metadata) = git.symlink_metadata() else { return false };
    let is_linked_out =
        metadata.is_symlink() && !git.canonicalize().is_ok_and(|real| real.starts_with(root));
    if is_linked_out {
        return true;
    }
    // Of a link inside, the kind of its target counts.
    match git.metadata() {
        Ok(metadata) if metadata.is_dir() => is_unsafe_exclude(Some(root), &git),
        Ok(metadata) if metadata.is_file() => has_unsafe_pointer(root, folder, &git),
        _ => false,
    }
}

/// Returns true if a `.git` file leads to a repository whose rules must not be read.
fn has_unsafe_pointer(root: &Path, folder: &Path, git: &Path) -> bool {
    let Some(text) = read_small_file(git) else { return true };
    let named = text.lines().next().and_then(|line| line.strip_prefix("gitdir: "));
    let Some(named) = named.map(PathBuf::from) else { return false };
    // The library resolves a relative path against the current folder of this process, and Git against this folder.
    [named.clone(), folder.join(named)].iter().any(|own| {
        let common = own.join("commondir");
        if common.symlink_metadata().is_err() {
            // Submodules have none, and then nothing is read.
            return false;
        }
        let is_inside = own.canonicalize().is_ok_and(|real| real.starts_with(root));
        let bound = if is_inside { Some(root) } else { None };
        if !is_inside && !is_linked_worktree(own, git) {
            return true;
        }
        match read_small_file(&common) {
            Some(text) => {
                let common = own.join(text.lines().next().unwrap_or_default());
                is_unsafe_exclude(bound, &common)
            }
            None => true,
        }
    })
}

/// Returns true if the folder of a linked worktree refers back to its `.git` file.
fn is_linked_worktree(own: &Path, git: &Path) -> bool {
    let is_named = own.parent().is_some_and(|folder| folder.ends_with("worktrees"));
    let back = || read_small_file(&own.join("gitdir"));
    let refers_back = |text: String| {
        let back = own.join(text.trim_end()).canonicalize().ok();
        back.is_some() && back == git.canonicalize().ok()
    };
    is_named && back().is_some_and(refers_back)
}

fn is_unsafe_exclude(bound: Option<&Path>, git: &Path) -> bool {
    let exclude = git.join("info/exclude");
    let leaves = |bound: &Path| exclude.canonicalize().is_ok_and(|real| !real.starts_with(bound));
    bound.is_some_and(leaves) || is_unsafe_file(None, &exclude)
}

/// Returns true if a file must not be opened: it is a link that leaves the bound, a special file, or too large.
fn is_unsafe_file(bound: Option<&Path>, path: &Path) -> bool {
    let Ok(metadata) = path.symlink_metadata() else { return false };
    let is_unsafe = |metadata: &fs::Metadata| {
        // To read a folder fails at once.
        !metadata.is_dir() && (!metadata.is_file() || metadata.len() > MAX_RULE_BYTES)
    };
    if !metadata.is_symlink() {
        return is_unsafe(&metadata);
    }
    // A link that leads nowhere is not opened.
    let Ok(real) = path.canonicalize() else { return false };
    bound.is_some_and(|bound| !real.starts_with(bound))
        || real.symlink_metadata().is_ok_and(|metadata| is_unsafe(&metadata))
}

/// Reads a file that Git keeps to one line. A pipe would block, and a large file is not Git's.
pub(crate) fn read_small_file(path: &Path) -> Option<String> {
    let metadata = path.symlink_metadata().ok()?;
    let is_small = metadata.is_file() && metadata.len() <= MAX_POINTER_BYTES;
    is_small.then(|| fs::read_to_string(path).ok())?
}

//! Which files count: the one place that decides it, for walks, for single paths and for extra paths.
//!
//! A file counts when ripgrep would search it in a folder search (`.gitignore`, `.ignore`, `.rgignore`,
//! `.git/info/exclude` and the user's global excludes; no hidden names; regular files only, links are not followed),
//! when no folder above it is one of [`EXCLUDED_FOLDERS`], and when no name on its path is denied. Names that are not
//! UTF-8 or hold a control character do not count: no tool could be asked for them.

use std::ffi::OsStr;
use std::path::Path;

use guard::DenyList;
use ignore::{DirEntry, IncrementalIgnore, WalkBuilder};

/// Folders that are never entered, ignored or not.
pub const EXCLUDED_FOLDERS: [&str; 7] =
    ["node_modules", ".git", "dist", "build", ".next", ".context", ".vouch"];

/// Files whose content decides which other files count.
pub(crate) const RULE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// A walk below `start` by the rules of the project at `root`.
pub(crate) fn walk(
    root: &Path,
    start: &Path,
    filter: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let mut builder = WalkBuilder::new(start);
    builder
        // Rules hold in an unpacked archive as they do in a clone.
        .require_git(false)
        .add_custom_ignore_filename(".rgignore")
        // Global excludes are relative to the project, wherever this process was started.
        .current_dir(root)
        .filter_entry(filter);
    builder
}

/// A walk of an extra path: nothing is hidden or ignored there.
pub(crate) fn walk_everything(
    start: &Path,
    filter: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let mut builder = WalkBuilder::new(start);
    builder.standard_filters(false).filter_entry(filter);
    builder
}

/// Whether a name may be part of a path that counts, whatever the ignore files say.
pub(crate) fn name_counts(name: &OsStr, is_folder: bool, deny: &DenyList) -> bool {
    let Some(name) = name.to_str() else { return false };
    let excluded = is_folder && EXCLUDED_FOLDERS.contains(&name);
    !excluded && !name.contains(char::is_control) && deny.check(name).is_ok()
}

/// Like [`name_counts`] for all names of a path; the last one is a folder's if `is_folder`.
pub(crate) fn names_count(path: &str, is_folder: bool, deny: &DenyList) -> bool {
    let last = path.matches('/').count();
    path.split('/')
        .enumerate()
        .all(|(place, name)| name_counts(OsStr::new(name), is_folder || place < last, deny))
}

/// The rules for single paths. It reads ignore files once and keeps them: make a new one when they change.
pub(crate) struct OneByOne(IncrementalIgnore);

impl OneByOne {
    pub(crate) fn new(root: &Path) -> Self {
        let matcher = walk(root, root, |_| true).build_matchers().pop();
        Self(matcher.expect("a walk of one root has one matcher"))
    }

    /// Whether the ignore files and the rule about hidden names let the path through; names are not looked at.
    pub(crate) fn lets_through(&mut self, path: &str, is_folder: bool) -> bool {
        !self.0.matched(path, is_folder).is_ignore()
    }
}

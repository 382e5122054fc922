//! Which files count: the one place that decides it, for walks, for single paths and for extra paths.
//!
//! A file counts when ripgrep would search it in a folder search (`.gitignore`, `.ignore`, `.rgignore`,
//! `.git/info/exclude` and the user's global excludes; no hidden names; regular files only, links are not followed),
//! when no folder above it is one of [`EXCLUDED_FOLDERS`], and when no name on its path is denied. Names that are not
//! UTF-8 or hold a control character do not count: no tool could be asked for them.

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

/// What names alone decide, whatever the ignore files say.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    deny: DenyList,
    /// Folders that are not entered: by name anywhere, or by their path.
    excluded: Vec<String>,
}

impl Names {
    pub(crate) fn new(deny: DenyList) -> Self {
        Self { deny, excluded: EXCLUDED_FOLDERS.map(str::to_owned).into() }
    }

    pub(crate) fn exclude(&mut self, folder: &str) {
        self.excluded.push(folder.to_owned());
    }

    /// Whether the last name of a path may be part of one that counts.
    pub(crate) fn let_through(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_it = |folder: &String| folder == name || folder == path;
        if is_folder && self.excluded.iter().any(is_it) {
            return false;
        }
        !name.contains(char::is_control) && self.deny.check(name).is_ok()
    }

    /// Like [`Names::let_through`] for every name on the way.
    pub(crate) fn let_all_through(&self, path: &str, is_folder: bool) -> bool {
        let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        folders.all(|folder| self.let_through(folder, true)) && self.let_through(path, is_folder)
    }

    /// The same for an entry of a walk below `root`.
    pub(crate) fn let_entry_through(&self, entry: &DirEntry, root: &Path) -> bool {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
        path.is_some_and(|path| self.let_through(path, is_folder))
    }
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

//! Ignore rules: decides which files are included, for walks, single paths and extra paths.
//!
//! A file is included if all of these hold:
//!
//! - Ripgrep would search it in a folder search: it respects `.gitignore`, `.ignore`, `.rgignore`, `.git/info/exclude`
//!   and the user's global excludes, skips hidden names, reads regular files only, and follows no symbolic links.
//! - No folder above it is one of [`EXCLUDED_FOLDERS`].
//! - No component of its path is denied.
//! - No folder above it has an ignore file that leaves the project.
//! - Its path is UTF-8 without control characters. Tools could not refer to any other path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use guard::DenyList;
use ignore::{DirEntry, IncrementalIgnore, WalkBuilder};

use crate::rule_files::{has_unsafe_root, has_unsafe_rules};

/// Folders that are never entered, independent of ignore files.
pub const EXCLUDED_FOLDERS: [&str; 7] =
    ["node_modules", ".git", "dist", "build", ".next", ".context", ".vouch"];

/// Ignore files, whose content decides which other files are included.
pub(crate) const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// Returns a walk below `start` that follows the ignore rules of the project at `root`.
///
/// The walk reads the ignore files of the folders that `filter` lets it enter, and of `start`, which the caller checks with
/// [`refuses_entry`] and [`IgnoreMatcher`].
pub(crate) fn build_walk(
    root: &Path,
    start: &Path,
    filter: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let mut builder = WalkBuilder::new(start);
    builder
        // Ignore files also apply outside a git repository, for example in an unpacked archive.
        .require_git(false)
        .add_custom_ignore_filename(".rgignore")
        // Global excludes are relative to the project, not to the working directory of this process.
        .current_dir(root)
        .filter_entry(filter);
    builder
}

/// Returns a walk of an extra path, which includes hidden and ignored files.
pub(crate) fn build_unfiltered_walk(
    start: &Path,
    filter: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let mut builder = WalkBuilder::new(start);
    builder.standard_filters(false).filter_entry(filter);
    builder
}

/// Rules about names alone, independent of ignore files.
#[derive(Clone, Debug)]
pub(crate) struct NameRules {
    deny: DenyList,
    /// Folders that are not entered, each given by its name or by its path.
    excluded: Vec<String>,
}

impl NameRules {
    pub(crate) fn new(deny: DenyList) -> Self {
        Self { deny, excluded: EXCLUDED_FOLDERS.map(str::to_owned).into() }
    }

    pub(crate) fn exclude_folder(&mut self, folder: &str) {
        self.excluded.push(folder.to_owned());
    }

    /// Returns true if the last component of `path` is allowed. Earlier components must be allowed already.
    pub(crate) fn allows_name(&self, path: &str, is_folder: bool) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_match = |folder: &String| folder == name || folder == path;
        if is_folder && self.excluded.iter().any(is_match) {
            return false;
        }
        !name.contains(char::is_control) && self.deny.check_entry(path, !is_folder).is_ok()
    }

    /// Like [`NameRules::allows_name`], for every component of the path.
    pub(crate) fn allows_path(&self, path: &str, is_folder: bool) -> bool {
        let mut folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        folders.all(|folder| self.allows_name(folder, true)) && self.allows_name(path, is_folder)
    }

    /// Like [`NameRules::allows_name`], for an entry of a walk below `root`.
    pub(crate) fn allows_entry(&self, entry: &DirEntry, root: &Path) -> bool {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
        path.is_some_and(|path| self.allows_name(path, is_folder))
    }
}

/// Returns true for a folder of a walk whose ignore files must not be read. It is not entered.
pub(crate) fn refuses_entry(entry: &DirEntry, root: &Path) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir()) && has_unsafe_rules(root, entry.path())
}

/// Applies the ignore files to single paths. It caches the ignore files; create a new matcher when they change.
pub(crate) struct IgnoreMatcher {
    root: PathBuf,
    /// `None` if the ignore files of the root must not be read.
    matcher: Option<IncrementalIgnore>,
    /// Folders that were looked at; true for one whose ignore files must not be read.
    folders: BTreeMap<String, bool>,
}

impl IgnoreMatcher {
    pub(crate) fn new(root: &Path) -> Self {
        let build = || build_walk(root, root, |_| true).build_matchers().pop();
        let matcher =
            (!has_unsafe_root(root)).then(|| build().expect("a walk of one root has one matcher"));
        Self { root: root.to_owned(), matcher, folders: BTreeMap::new() }
    }

    /// Returns true if the path is neither ignored nor hidden, and no folder on the way is one that is not entered.
    /// [`NameRules`] are not checked.
    pub(crate) fn allows_path(&mut self, path: &str, is_folder: bool) -> bool {
        let Self { root, matcher: Some(matcher), folders } = self else { return false };
        let above = path.match_indices('/').map(|(end, _)| &path[..end]);
        for folder in above.chain(is_folder.then_some(path)) {
            let is_unsafe = match folders.get(folder) {
                Some(known) => *known,
                None => {
                    let found = has_unsafe_rules(root, &root.join(folder));
                    folders.insert(folder.to_owned(), found);
                    found
                }
            };
            if is_unsafe {
                return false;
            }
        }
        !matcher.matched(path, is_folder).is_ignore()
    }
}

//! The directory tree of a project: lists its files, watches them for changes, and searches them.
//!
//! - `rules.rs` decides which files are included; `rule_files.rs` checks the ignore files that it reads. `listing.rs` lists them with their stamps. `extra_paths.rs` resolves
//!   extra paths that any folder may contain.
//! - [`FileWatcher`] keeps such a list current and reports when it is up to date.
//! - [`grep`] searches file contents; [`trigram`] selects the files that can be skipped.
//!
//! This crate has no knowledge of databases, chunks, programming languages or MCP. Files are opened only relative to
//! the handle of the project root. Start at [`FileTree`].

mod entry;
mod extra_paths;
pub mod grep;
mod listing;
mod rule_files;
mod rules;
pub mod trigram;
mod watch;

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard::{DenyList, Guard, PathRefusal, SourceCheck};

pub use self::entry::{FileEntry, FileStamp, compare_paths};
pub use self::listing::FileListing;
pub use self::rules::EXCLUDED_FOLDERS;
pub use self::watch::{FileChange, FileWatcher, SettleOutcome};

/// An error while opening a project.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("failed to open project root `{root}` as a folder")]
    Root { root: String, source: io::Error },
    #[error("invalid extra path `{path}`: it {refusal}")]
    Extra { path: String, refusal: PathRefusal },
}

/// A project: its root, the guard that opens files below it, and the extra paths that are included although they are
/// hidden or ignored.
#[derive(Debug)]
pub struct FileTree {
    root: PathBuf,
    guard: Arc<Guard>,
    names: rules::NameRules,
    /// Extra paths relative to the root.
    extra: Vec<String>,
    /// Extra paths relative to every included folder.
    extra_anywhere: Vec<String>,
}

impl FileTree {
    /// Opens the project at `root`. `deny` is the deny list of tools that read files, plus `node_modules` if desired.
    ///
    /// Returns [`TreeError::Root`] if `root` is not a readable folder.
    pub fn new(root: &Path, deny: DenyList) -> Result<Self, TreeError> {
        let root_error = |source| TreeError::Root { root: root.display().to_string(), source };
        let root = root.canonicalize().map_err(root_error)?;
        let guard = Guard::new(&root, deny.clone()).map_err(root_error)?;
        let names = rules::NameRules::new(deny);
        let (extra, extra_anywhere) = Default::default();
        Ok(Self { root, guard: Arc::new(guard), names, extra, extra_anywhere })
    }

    /// Sets the check of files that the deny list allows as source code only. Without it they are not read.
    #[must_use]
    pub fn with_source_check(mut self, check: SourceCheck) -> Self {
        let guard = Arc::into_inner(self.guard).expect("no other owner before the tree is built");
        self.guard = Arc::new(guard.with_source_check(check));
        self
    }

    /// Adds folders that are never entered. A name excludes folders at any depth; a path from the root excludes one
    /// folder.
    #[must_use]
    pub fn with_excluded_folders<'a>(mut self, folders: impl IntoIterator<Item = &'a str>) -> Self {
        folders.into_iter().for_each(|folder| self.names.exclude_folder(folder.trim_matches('/')));
        self
    }

    /// Adds files and folders that are listed and watched although they are hidden or ignored. They do not become
    /// greppable, and need not exist yet. Denied names and excluded folders remain excluded.
    ///
    /// Returns [`TreeError::Extra`] if the guard refuses a path.
    pub fn with_extra_paths<'a>(
        mut self,
        paths: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, TreeError> {
        for path in paths {
            self.extra.push(self.validate_extra_path(path)?);
        }
        Ok(self)
    }

    /// Like [`FileTree::with_extra_paths`], for paths relative to any included folder, including the root.
    pub fn with_extra_paths_anywhere<'a>(
        mut self,
        paths: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, TreeError> {
        for path in paths {
            self.extra_anywhere.push(self.validate_extra_path(path)?);
        }
        Ok(self)
    }

    fn validate_extra_path(&self, path: &str) -> Result<String, TreeError> {
        let names = self.guard.check_path(path).and_then(|names| match names.is_empty() {
            true => Err(PathRefusal::IsRoot),
            false => Ok(names),
        });
        let names = names.map_err(|refusal| TreeError::Extra { path: path.to_owned(), refusal })?;
        Ok(names.join("/"))
    }

    pub fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }

    /// Returns the absolute path of the project. It must not be shown to callers of tools.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens a file by a path that a listing or a watcher returned.
    pub fn open(&self, path: &str) -> Result<(File, Metadata), PathRefusal> {
        self.guard.open_checked(path)
    }

    /// Converts a path from the root to an absolute path.
    fn absolute_path(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    /// Returns the path from the root, or `None` if `path` is outside the project or not UTF-8.
    fn relative_path<'a>(&self, path: &'a Path) -> Option<&'a str> {
        path.strip_prefix(&self.root).ok()?.to_str()
    }
}

/// Returns true if `path` is `folder` or is below it. The root is the empty path.
fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

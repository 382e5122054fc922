//! The files of a project: which there are, which changed, and which hold a text.
//!
//! - `rules.rs` decides which files count, `list.rs` lists them with their stamps, `anywhere.rs` knows the extra paths that
//!   any folder may have.
//! - [`Watch`] keeps such a list current, and knows when it is.
//! - [`grep`] searches, [`trigram`] says which files it can leave out.
//!
//! Not known here: databases, chunks, languages, MCP. Files are opened below the root's handle only.

mod anywhere;
mod entry;
pub mod grep;
mod list;
mod rules;
pub mod trigram;
mod watch;

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard::{DenyList, Guard, Refusal};

pub use self::entry::{Entry, Stamp, by_path};
pub use self::list::Listing;
pub use self::rules::EXCLUDED_FOLDERS;
pub use self::watch::{Change, Settled, Watch};

/// Why a project's files cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("project root `{root}` cannot be opened as a folder")]
    Root { root: String, source: io::Error },
    #[error("extra path `{path}` cannot be used: it {refusal}")]
    Extra { path: String, refusal: Refusal },
}

/// A project: its root, the guard that opens files below it, and the extra paths that count although they are hidden
/// or ignored.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
    guard: Arc<Guard>,
    names: rules::Names,
    extra: Vec<String>,
    /// The same below every folder that counts.
    extra_anywhere: Vec<String>,
}

impl Tree {
    /// The deny list is that of reading tools, with `node_modules` in it where that is wanted.
    pub fn new(root: &Path, deny: DenyList) -> Result<Self, TreeError> {
        let failed = |source| TreeError::Root { root: root.display().to_string(), source };
        let root = root.canonicalize().map_err(failed)?;
        let guard = Guard::new(&root, deny.clone()).map_err(failed)?;
        let names = rules::Names::new(deny);
        let (extra, extra_anywhere) = Default::default();
        Ok(Self { root, guard: Arc::new(guard), names, extra, extra_anywhere })
    }

    /// Adds folders that are never entered: a name holds anywhere, a path from the root for one folder.
    #[must_use]
    pub fn with_excluded<'a>(mut self, folders: impl IntoIterator<Item = &'a str>) -> Self {
        folders.into_iter().for_each(|folder| self.names.exclude(folder.trim_matches('/')));
        self
    }

    /// Adds files and folders that are listed and watched although they are hidden or ignored, and not greppable for
    /// it. They need not exist yet. Denied names and excluded folders stay out.
    pub fn with_extra<'a>(
        mut self,
        paths: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, TreeError> {
        for path in paths {
            self.extra.push(self.extra_path(path)?);
        }
        Ok(self)
    }

    /// The same for paths from any folder that counts, the root among them.
    pub fn with_extra_anywhere<'a>(
        mut self,
        paths: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, TreeError> {
        for path in paths {
            self.extra_anywhere.push(self.extra_path(path)?);
        }
        Ok(self)
    }

    fn extra_path(&self, path: &str) -> Result<String, TreeError> {
        let names = self.guard.check(path).and_then(|names| match names.is_empty() {
            true => Err(Refusal::Root),
            false => Ok(names),
        });
        let names = names.map_err(|refusal| TreeError::Extra { path: path.to_owned(), refusal })?;
        Ok(names.join("/"))
    }

    pub fn guard(&self) -> &Arc<Guard> {
        &self.guard
    }

    /// Where the project lies on this machine; not for callers' eyes.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens a file that a listing or a watch has named.
    pub fn open(&self, path: &str) -> Result<(File, Metadata), Refusal> {
        self.guard.open_listed(path)
    }

    /// The path on this machine of a path from the root.
    fn absolute(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }

    /// The path from the root, if it lies below and can be said.
    fn relative<'a>(&self, path: &'a Path) -> Option<&'a str> {
        path.strip_prefix(&self.root).ok()?.to_str()
    }
}

/// Whether `path` is `folder` or lies below it; the root is the empty path.
fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

//! Cached access to project files, and helpers for paths relative to the project root.

use std::collections::HashMap;
use std::hash::Hash;
use std::io::Read;
use std::sync::Arc;

use guard::{FileKind, Guard, ResolvedPath};
use parking_lot::Mutex;

/// Maximum size of a manifest or source file; longer files are not read.
const MAX_READ_BYTES: u64 = 1024 * 1024;
/// Maximum number of entries listed per folder.
const MAX_LISTED: usize = 20_000;

/// Project files, accessed through a [`Guard`] and cached.
pub(crate) struct ProjectFiles {
    guard: Arc<Guard>,
    seen: MemoMap<Option<ResolvedPath>>,
    texts: MemoMap<Option<Arc<str>>>,
    lists: MemoMap<Arc<[String]>>,
}

/// A thread-safe memo table that lives as long as the resolver.
pub(crate) struct MemoMap<V, K = String>(Mutex<HashMap<K, V>>);

impl<V, K> Default for MemoMap<V, K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<V: Clone, K: Hash + Eq> MemoMap<V, K> {
    /// Returns the cached value of a key, computing and storing it if absent.
    ///
    /// The lock is not held while computing, so two threads may compute the same value at once.
    pub(crate) fn get_or_compute<Q>(&self, key: &Q, find: impl FnOnce() -> V) -> V
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(found) = self.0.lock().get(key) {
            return found.clone();
        }
        let found = find();
        self.0.lock().insert(key.to_owned(), found.clone());
        found
    }
}

impl ProjectFiles {
    pub(crate) fn new(guard: Arc<Guard>) -> Self {
        Self {
            guard,
            seen: MemoMap::default(),
            texts: MemoMap::default(),
            lists: MemoMap::default(),
        }
    }

    pub(crate) fn stat_path(&self, path: &str) -> Option<ResolvedPath> {
        self.seen.get_or_compute(path, || self.guard.resolve_path(path).ok())
    }

    /// Returns the real path of a regular file, with links resolved, or `None` if there is no such file.
    pub(crate) fn find_file(&self, path: &str) -> Option<String> {
        self.stat_path(path).filter(|seen| seen.kind == FileKind::File).map(|seen| seen.path)
    }

    pub(crate) fn is_folder(&self, path: &str) -> bool {
        self.stat_path(path).is_some_and(|seen| seen.kind == FileKind::Folder)
    }

    /// Returns the text of a file, or `None` if it is missing, too long or not UTF-8.
    pub(crate) fn read_text(&self, path: &str) -> Option<Arc<str>> {
        self.find_file(path)?;
        self.texts.get_or_compute(path, || {
            let opened = self.guard.open_file(path).ok()?;
            let mut bytes = Vec::new();
            opened.file.take(MAX_READ_BYTES + 1).read_to_end(&mut bytes).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            (text.len() as u64 <= MAX_READ_BYTES).then(|| text.into())
        })
    }

    /// Returns the sorted entry names of a folder; empty if it cannot be listed.
    pub(crate) fn list_folder(&self, folder: &str) -> Arc<[String]> {
        self.lists.get_or_compute(folder, || {
            let mut names = self.guard.list_folder(folder).unwrap_or_default();
            names.sort();
            names.truncate(MAX_LISTED);
            names.into()
        })
    }
}

/// Joins `folder` and `relative` and removes `.` and `..`. Returns `None` if the path leaves the root.
pub(crate) fn join_path(folder: &str, relative: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in folder.split('/').chain(relative.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// Returns the path of an entry in a folder.
pub(crate) fn child_path(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Returns the parent folder of a path; the root is the empty path.
pub(crate) fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the ancestor folders of a file, nearest first, root last.
pub(crate) fn ancestor_folders(path: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(parent_folder(path));
    std::iter::from_fn(move || {
        let folder = next?;
        next = (!folder.is_empty()).then(|| parent_folder(folder));
        Some(folder)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_paths_and_lists_ancestors() {
        assert_eq!(join_path("a/b", "../c/./d").as_deref(), Some("a/c/d"));
        assert_eq!(join_path("a", "../..").as_deref(), None);
        assert_eq!(join_path("", "x").as_deref(), Some("x"));
        assert_eq!(ancestor_folders("a/b/c.rs").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(ancestor_folders("c.rs").collect::<Vec<_>>(), [""]);
    }
}

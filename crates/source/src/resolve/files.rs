//! The project's files as a resolver sees them: asked for once, then remembered.

use std::collections::HashMap;
use std::hash::Hash;
use std::io::Read;
use std::sync::Arc;

use guard::{Guard, Kind, Seen};
use parking_lot::Mutex;

/// Manifests and sources that are longer say nothing here.
const MAX_READ_BYTES: u64 = 1024 * 1024;
/// Entries of one folder that are looked at.
const MAX_LISTED: usize = 20_000;

pub(crate) struct Files {
    guard: Arc<Guard>,
    seen: Memory<Option<Seen>>,
    texts: Memory<Option<Arc<str>>>,
    lists: Memory<Arc<[String]>>,
}

/// What was found out under a key, for as long as the resolver lives.
pub(crate) struct Memory<V, K = String>(Mutex<HashMap<K, V>>);

impl<V, K> Default for Memory<V, K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<V: Clone, K: Hash + Eq> Memory<V, K> {
    /// Two threads may find out the same thing at once; nothing waits for the other.
    pub(crate) fn get_or<Q>(&self, key: &Q, find: impl FnOnce() -> V) -> V
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

impl Files {
    pub(crate) fn new(guard: Arc<Guard>) -> Self {
        Self { guard, seen: Memory::default(), texts: Memory::default(), lists: Memory::default() }
    }

    pub(crate) fn look(&self, path: &str) -> Option<Seen> {
        self.seen.get_or(path, || self.guard.look(path).ok())
    }

    /// The real path of a regular file.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        self.look(path).filter(|seen| seen.kind == Kind::File).map(|seen| seen.path)
    }

    pub(crate) fn is_folder(&self, path: &str) -> bool {
        self.look(path).is_some_and(|seen| seen.kind == Kind::Folder)
    }

    /// The text of a file that is not too long.
    pub(crate) fn read(&self, path: &str) -> Option<Arc<str>> {
        self.file(path)?;
        self.texts.get_or(path, || {
            let opened = self.guard.open_file(path).ok()?;
            let mut bytes = Vec::new();
            opened.file.take(MAX_READ_BYTES + 1).read_to_end(&mut bytes).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            (text.len() as u64 <= MAX_READ_BYTES).then(|| text.into())
        })
    }

    /// The names in a folder, in order; none if it cannot be listed.
    pub(crate) fn list(&self, folder: &str) -> Arc<[String]> {
        self.lists.get_or(folder, || {
            let mut names = self.guard.list(folder).unwrap_or_default();
            names.sort();
            names.truncate(MAX_LISTED);
            names.into()
        })
    }
}

/// `folder/relative` without `.` and `..`; None if that leads out of the root.
pub(crate) fn join(folder: &str, relative: &str) -> Option<String> {
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

/// A name directly in a folder.
pub(crate) fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// The folder that a path is in; the root is the empty path.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The folders around a file, the nearest first, the root last.
pub(crate) fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(parent(path));
    std::iter::from_fn(move || {
        let folder = next?;
        next = (!folder.is_empty()).then(|| parent(folder));
        Some(folder)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        assert_eq!(join("a/b", "../c/./d").as_deref(), Some("a/c/d"));
        assert_eq!(join("a", "../..").as_deref(), None);
        assert_eq!(join("", "x").as_deref(), Some("x"));
        assert_eq!(folders_above("a/b/c.rs").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(folders_above("c.rs").collect::<Vec<_>>(), [""]);
    }
}

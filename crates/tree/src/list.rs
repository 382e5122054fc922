//! Lists the files that count below a folder, with their stamps.
//!
//! A watch hooks in through [`Hook`]: it hears of each folder before the folder is read, so that nothing that happens
//! there afterwards is missed.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use crate::rules::{self, OneByOne};
use crate::{Entry, Stamp, Tree, by_path, is_within};

/// The files below a folder at one moment.
#[derive(Debug, Default)]
pub struct Listing {
    /// In the order of [`by_path`].
    pub entries: Vec<Entry>,
    /// Folders that the operating system would not let us read.
    pub unreadable: BTreeSet<String>,
}

/// Called with each folder that is about to be read, by its path from the root.
pub(crate) type Hook = Arc<dyn Fn(&str) + Send + Sync>;

impl Tree {
    /// All files that count.
    pub fn list(&self) -> Listing {
        self.list_below("", &(Arc::new(|_: &str| ()) as Hook))
    }

    /// The files that count below `folder`; none if it does not count itself, or is no folder.
    pub(crate) fn list_below(&self, folder: &str, before_reading: &Hook) -> Listing {
        let found = Arc::new(Mutex::new(Listing::default()));
        let entered = Arc::new(Mutex::new(Vec::new()));
        if self.folder_counts(folder) {
            let walk = |filter| rules::walk(&self.root, &self.absolute(folder), filter);
            let hook: Hook = {
                let (entered, before_reading) = (Arc::clone(&entered), Arc::clone(before_reading));
                Arc::new(move |path| {
                    before_reading(path);
                    entered.lock().push(path.to_owned());
                })
            };
            self.collect(folder, true, &hook, &found, walk);
        }
        let greppable: BTreeSet<Box<str>> =
            found.lock().entries.iter().map(|entry| entry.path.clone()).collect();
        let anywhere = self.extra_of(&entered.lock(), folder);
        for extra in self.extra.iter().chain(&anywhere) {
            self.list_extra(extra, folder, before_reading, &found);
        }
        let mut listing = std::mem::take(&mut *found.lock());
        listing.entries.retain(|entry| entry.greppable || !greppable.contains(&entry.path));
        listing.entries.sort_unstable_by(|left, right| by_path(&left.path, &right.path));
        listing.entries.dedup_by(|left, right| left.path == right.path);
        listing
    }

    /// The part of an extra path that lies below `folder`.
    fn list_extra(
        &self,
        extra: &str,
        folder: &str,
        before_reading: &Hook,
        found: &Arc<Mutex<Listing>>,
    ) {
        let start = if is_within(extra, folder) {
            // The folders on the way are read by nobody, but what appears in them matters.
            for (end, _) in extra.match_indices('/') {
                let above = &extra[..end];
                if is_within(above, folder) && self.is_folder(above) {
                    before_reading(above);
                }
            }
            extra
        } else if is_within(folder, extra) {
            folder
        } else {
            return;
        };
        if !self.names.let_all_through(start, self.is_folder(start)) {
            return;
        }
        let walk = |filter| rules::walk_everything(&self.absolute(start), filter);
        self.collect(start, false, before_reading, found, walk);
    }

    fn collect(
        &self,
        start: &str,
        greppable: bool,
        before_reading: &Hook,
        found: &Arc<Mutex<Listing>>,
        walk: impl FnOnce(Box<dyn Fn(&DirEntry) -> bool + Send + Sync>) -> WalkBuilder,
    ) {
        if self.is_folder(start) {
            before_reading(start);
        }
        let filter = {
            let (root, names) = (self.root.clone(), self.names.clone());
            let before_reading = Arc::clone(before_reading);
            move |entry: &DirEntry| {
                let counts = names.let_entry_through(entry, &root);
                if counts
                    && is_folder(entry)
                    && let Some(path) = relative(entry.path(), &root)
                {
                    before_reading(path);
                }
                counts
            }
        };
        let mut walk = walk(Box::new(filter));
        // Most listings after the first are of a small folder, for which more threads cost more than they give.
        walk.threads(if start.is_empty() { 0 } else { 1 });
        walk.build_parallel().run(|| {
            let mut own = Gathered { listing: Listing::default(), all: Arc::clone(found) };
            Box::new(move |entry| {
                match entry {
                    Ok(entry) => own.listing.entries.extend(self.entry(&entry, greppable)),
                    Err(error) => own.listing.unreadable.extend(self.unreadable(&error)),
                }
                WalkState::Continue
            })
        });
    }

    fn entry(&self, entry: &DirEntry, greppable: bool) -> Option<Entry> {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return None;
        }
        // A file that vanished meanwhile is no part of the listing.
        let stamp = Stamp::of(&entry.metadata().ok()?);
        Some(Entry { path: self.relative(entry.path())?.into(), stamp, greppable })
    }

    /// The folder that an error of a walk is about, unless it has only vanished or the error is about a rule file.
    pub(crate) fn unreadable(&self, error: &ignore::Error) -> Option<String> {
        if error.is_partial() {
            return None;
        }
        error.io_error().filter(|cause| cause.kind() != std::io::ErrorKind::NotFound)?;
        self.relative(path_of(error)?).map(str::to_owned)
    }

    pub(crate) fn folder_counts(&self, folder: &str) -> bool {
        folder.is_empty()
            || (self.names.let_all_through(folder, true)
                && self.is_folder(folder)
                && OneByOne::new(&self.root).lets_through(folder, true))
    }

    /// A folder itself, not a link to one.
    fn is_folder(&self, path: &str) -> bool {
        self.absolute(path).symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
    }
}

/// What one thread found; joined with the rest when the thread ends.
struct Gathered {
    listing: Listing,
    all: Arc<Mutex<Listing>>,
}

impl Drop for Gathered {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        all.entries.append(&mut self.listing.entries);
        all.unreadable.append(&mut self.listing.unreadable);
    }
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn relative<'a>(path: &'a Path, root: &Path) -> Option<&'a str> {
    path.strip_prefix(root).ok()?.to_str()
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}

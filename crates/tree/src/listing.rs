//! Lists the included files below a folder, with their stamps.
//!
//! A watcher passes a [`FolderHook`], which is called for each folder before the folder is read. No later change in the
//! folder can be missed.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ignore::{DirEntry, WalkBuilder, WalkState};
use parking_lot::Mutex;

use crate::rule_files::{has_unsafe_root, has_unsafe_rules};
use crate::rules::{self, IgnoreMatcher};
use crate::{FileEntry, FileStamp, FileTree, compare_paths, is_within};

/// The files below a folder at one moment.
#[derive(Debug, Default)]
pub struct FileListing {
    /// Ordered by [`compare_paths`].
    pub entries: Vec<FileEntry>,
    /// Folders that could not be read.
    pub unreadable: BTreeSet<String>,
}

/// Called with the path of each folder that is about to be read, relative to the root.
pub(crate) type FolderHook = Arc<dyn Fn(&str) + Send + Sync>;

impl FileTree {
    /// Returns all included files.
    pub fn list_files(&self) -> FileListing {
        self.list_below("", &(Arc::new(|_: &str| ()) as FolderHook))
    }

    /// Returns the included files below `folder`. The listing is empty if `folder` is excluded or not a folder.
    pub(crate) fn list_below(&self, folder: &str, before_reading: &FolderHook) -> FileListing {
        let found = Arc::new(Mutex::new(FileListing::default()));
        let entered = Arc::new(Mutex::new(Vec::new()));
        if self.is_unsafe_start(folder) {
            // It is watched, so that it is listed once the ignore files are gone.
            before_reading(folder);
            found.lock().unreadable.insert(folder.to_owned());
        } else if self.is_included_folder(folder) {
            let walk = |filter| rules::build_walk(&self.root, &self.absolute_path(folder), filter);
            let hook: FolderHook = {
                let (entered, before_reading) = (Arc::clone(&entered), Arc::clone(before_reading));
                Arc::new(move |path| {
                    before_reading(path);
                    entered.lock().push(path.to_owned());
                })
            };
            self.collect_entries(folder, true, &hook, &found, walk);
        }
        let greppable: BTreeSet<Box<str>> =
            found.lock().entries.iter().map(|entry| entry.path.clone()).collect();
        let anywhere = self.find_extra_paths(&entered.lock(), folder);
        for extra in self.extra.iter().chain(&anywhere) {
            self.list_extra(extra, folder, before_reading, &found);
        }
        let mut listing = std::mem::take(&mut *found.lock());
        listing.entries.retain(|entry| entry.greppable || !greppable.contains(&entry.path));
        listing.entries.sort_unstable_by(|left, right| compare_paths(&left.path, &right.path));
        listing.entries.dedup_by(|left, right| left.path == right.path);
        listing
    }

    /// Returns true if a walk must not start in a folder, because it would read ignore files elsewhere.
    pub(crate) fn is_unsafe_start(&self, folder: &str) -> bool {
        match folder.is_empty() {
            true => has_unsafe_root(&self.root),
            false => {
                self.names.allows_path(folder, true)
                    && self.is_folder(folder)
                    && has_unsafe_rules(&self.root, &self.absolute_path(folder))
            }
        }
    }

    /// Lists the part of an extra path that is below `folder`.
    fn list_extra(
        &self,
        extra: &str,
        folder: &str,
        before_reading: &FolderHook,
        found: &Arc<Mutex<FileListing>>,
    ) {
        let start = if is_within(extra, folder) {
            // The folders above the extra path are not read, but entries that appear in them matter.
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
        if !self.names.allows_path(start, self.is_folder(start)) {
            return;
        }
        let walk = |filter| rules::build_unfiltered_walk(&self.absolute_path(start), filter);
        self.collect_entries(start, false, before_reading, found, walk);
    }

    fn collect_entries(
        &self,
        start: &str,
        greppable: bool,
        before_reading: &FolderHook,
        found: &Arc<Mutex<FileListing>>,
        walk: impl FnOnce(Box<dyn Fn(&DirEntry) -> bool + Send + Sync>) -> WalkBuilder,
    ) {
        if self.is_folder(start) {
            before_reading(start);
        }
        let filter = {
            let (root, names) = (self.root.clone(), self.names.clone());
            let (before_reading, found) = (Arc::clone(before_reading), Arc::clone(found));
            move |entry: &DirEntry| {
                let mut counts = names.allows_entry(entry, &root);
                if counts && greppable && rules::refuses_entry(entry, &root) {
                    counts = false;
                    let path = strip_root(entry.path(), &root).map(str::to_owned);
                    path.iter().for_each(|path| before_reading(path));
                    found.lock().unreadable.extend(path);
                }
                if counts
                    && is_folder(entry)
                    && let Some(path) = strip_root(entry.path(), &root)
                {
                    before_reading(path);
                }
                counts
            }
        };
        let mut walk = walk(Box::new(filter));
        // Later listings are usually of one small folder, where extra threads cost more than they save.
        walk.threads(if start.is_empty() { 0 } else { 1 });
        walk.build_parallel().run(|| {
            let mut own = ThreadListing { listing: FileListing::default(), all: Arc::clone(found) };
            Box::new(move |entry| {
                match entry {
                    Ok(entry) => own.listing.entries.extend(self.read_entry(&entry, greppable)),
                    Err(error) => own.listing.unreadable.extend(self.unreadable_folder(&error)),
                }
                WalkState::Continue
            })
        });
    }

    fn read_entry(&self, entry: &DirEntry, greppable: bool) -> Option<FileEntry> {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return None;
        }
        // A file that was removed in the meantime is not listed.
        let stamp = FileStamp::from_metadata(&entry.metadata().ok()?);
        Some(FileEntry { path: self.relative_path(entry.path())?.into(), stamp, greppable })
    }

    /// Returns the folder that a walk failed to read. Returns `None` for removed folders and for errors in ignore
    /// files.
    pub(crate) fn unreadable_folder(&self, error: &ignore::Error) -> Option<String> {
        if error.is_partial() {
            return None;
        }
        error.io_error().filter(|cause| cause.kind() != std::io::ErrorKind::NotFound)?;
        self.relative_path(error_path(error)?).map(str::to_owned)
    }

    /// Returns true if files in `folder` are included, by its names and by the ignore files.
    pub(crate) fn is_included_folder(&self, folder: &str) -> bool {
        folder.is_empty()
            || (self.names.allows_path(folder, true)
                && self.is_folder(folder)
                && IgnoreMatcher::new(&self.root).allows_path(folder, true))
    }

    /// Returns true for a folder; false for a symbolic link to one.
    fn is_folder(&self, path: &str) -> bool {
        self.absolute_path(path).symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
    }
}

/// The entries that one thread found. They are appended to the shared listing on drop.
struct ThreadListing {
    listing: FileListing,
    all: Arc<Mutex<FileListing>>,
}

impl Drop for ThreadListing {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        all.entries.append(&mut self.listing.entries);
        all.unreadable.append(&mut self.listing.unreadable);
    }
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn strip_root<'a>(path: &'a Path, root: &Path) -> Option<&'a str> {
    path.strip_prefix(root).ok()?.to_str()
}

fn error_path(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            error_path(err)
        }
        _ => None,
    }
}

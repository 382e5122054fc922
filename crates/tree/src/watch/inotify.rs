//! File events on Linux: one inotify queue, with one watch for each folder.
//!
//! The `notify` crate is unsuitable. It also watches opens, and one search of a large tree causes more opens than the
//! queue holds. It reads the queue on its own thread, so a barrier would have to wait for the event of a cookie file.

use std::collections::{BTreeMap, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::remote::is_remote;
use crate::FileTree;
use crate::rules::IGNORE_FILES;

/// A path whose state must be checked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileEvent {
    File(String),
    /// A folder that was added or removed, or whose ignore rules changed.
    Folder(String),
    /// The root was moved or removed, or the queue failed: watching is no longer possible.
    RootLost,
}

/// Approximate maximum of events per read, twice the default queue length of the kernel. Above it, all files are
/// listed.
const MAX_EVENTS: usize = 32_768;

/// An inotify queue and its watches.
pub(super) struct EventSource {
    queue: Arc<OwnedFd>,
    folders: WatchedFolders,
}

/// Adds watches while folders are listed, from several threads.
#[derive(Clone)]
pub(super) struct WatchRegistrar {
    queue: Arc<OwnedFd>,
    added: Arc<Mutex<AddedWatches>>,
}

/// The watches added during one listing.
#[derive(Default)]
struct AddedWatches {
    folders: Vec<(i32, String)>,
    failed: Option<Errno>,
}

/// Bidirectional map of watch descriptors and folders.
#[derive(Default)]
struct WatchedFolders {
    paths: HashMap<i32, String>,
    watches: BTreeMap<String, i32>,
}

impl EventSource {
    /// Opens a queue. Returns `None` on a network file system, or if inotify is unavailable.
    pub(super) fn open(tree: &FileTree) -> Option<Self> {
        if is_remote(tree.root()) {
            tracing::info!("project is on a network file system; listing files for every search");
            return None;
        }
        match inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) {
            Ok(queue) => Some(Self { queue: Arc::new(queue), folders: WatchedFolders::default() }),
            Err(error) => {
                tracing::warn!(%error, "failed to watch files; listing files for every search instead");
                None
            }
        }
    }

    pub(super) fn queue(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.queue)
    }

    pub(super) fn new_registrar(&self) -> WatchRegistrar {
        WatchRegistrar { queue: Arc::clone(&self.queue), added: Arc::default() }
    }

    /// Takes over the watches added while `folder` was listed, and removes the old watches below it that were not
    /// re-added.
    ///
    /// Returns the reason if a folder could not be watched.
    pub(super) fn adopt(&mut self, folder: &str, watcher: &WatchRegistrar) -> Result<(), String> {
        let added = std::mem::take(&mut *watcher.added.lock());
        if let Some(error) = added.failed {
            return Err(format!("failed to watch a folder: {error}"));
        }
        let mut before = self.folders.take_within(folder);
        for (watch, path) in added.folders {
            before.retain(|old| *old != watch);
            self.folders.insert(watch, path);
        }
        self.remove_watches(before);
        Ok(())
    }

    /// Returns all queued events without blocking.
    pub(super) fn read_events(&mut self) -> Vec<FileEvent> {
        let mut events = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let queue = self.queue();
        let mut reader = inotify::Reader::new(&*queue, &mut buffer);
        for taken in 0.. {
            if taken >= MAX_EVENTS && reader.is_buffer_empty() {
                events.push(FileEvent::Folder(String::new()));
                break;
            }
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_bytes());
                    let (watch, flags) = (event.wd(), event.events());
                    // Files with names that are not UTF-8 are not included.
                    let name = name.map(std::str::from_utf8).transpose();
                    if let Ok(name) = name {
                        events.extend(self.convert_event(watch, flags, name));
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => {
                    tracing::warn!(%error, "failed to read file events");
                    events.push(FileEvent::RootLost);
                    break;
                }
            }
        }
        events
    }

    /// Converts a kernel event. Returns `None` if no path needs to be checked.
    fn convert_event(
        &mut self,
        watch: i32,
        flags: ReadFlags,
        name: Option<&str>,
    ) -> Option<FileEvent> {
        if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
            return Some(FileEvent::Folder(String::new()));
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.folders.remove(watch);
            return None;
        }
        let folder = self.folders.paths.get(&watch)?;
        let Some(name) = name else {
            // An event of the watched folder itself. Below the root, the parent folder reports it too.
            let gone = flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF);
            return (folder.is_empty() && gone).then_some(FileEvent::RootLost);
        };
        if IGNORE_FILES.contains(&name) || name == ".git" {
            return Some(FileEvent::Folder(folder.clone()));
        }
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        if !flags.contains(ReadFlags::ISDIR) {
            return Some(FileEvent::File(path));
        }
        if flags.intersects(ReadFlags::MOVED_FROM | ReadFlags::DELETE) {
            // Watches move with a folder, and would report events under its old path.
            let gone = self.folders.take_within(&path);
            self.remove_watches(gone);
        }
        Some(FileEvent::Folder(path))
    }

    fn remove_watches(&self, watches: Vec<i32>) {
        for watch in watches {
            // The kernel has already removed the watch of a deleted folder.
            let _ = inotify::remove_watch(&*self.queue, watch);
        }
    }
}

impl WatchRegistrar {
    pub(super) fn add_watch(&self, path: &str, absolute: &Path) {
        let mut flags = WatchFlags::CREATE
            | WatchFlags::MODIFY
            // Writes through a memory map are reported when the file is closed.
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        if path.is_empty() {
            flags |= WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        }
        let watch = inotify::add_watch(&*self.queue, absolute, flags);
        let mut added = self.added.lock();
        match watch {
            Ok(watch) => added.folders.push((watch, path.to_owned())),
            // Removed, replaced or unreadable: the listing will encounter the same state.
            Err(
                Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::NAMETOOLONG,
            ) => {}
            Err(error) => added.failed = Some(error),
        }
    }
}

impl WatchedFolders {
    fn insert(&mut self, watch: i32, path: String) {
        // A folder that was moved in the meantime can be seen under two paths; the later path wins.
        self.remove(watch);
        if let Some(other) = self.watches.insert(path.clone(), watch) {
            self.paths.remove(&other);
        }
        self.paths.insert(watch, path);
    }

    fn remove(&mut self, watch: i32) {
        if let Some(path) = self.paths.remove(&watch)
            && self.watches.get(&path) == Some(&watch)
        {
            self.watches.remove(&path);
        }
    }

    /// Removes a folder and all folders below it. Returns their watches.
    fn take_within(&mut self, folder: &str) -> Vec<i32> {
        let within: Vec<String> = if folder.is_empty() {
            self.watches.keys().cloned().collect()
        } else {
            // '0' comes right after '/'.
            let below = format!("{folder}/")..format!("{folder}0");
            let own = self.watches.get_key_value(folder).map(|(path, _)| path.clone());
            own.into_iter().chain(self.watches.range(below).map(|(path, _)| path.clone())).collect()
        };
        let mut taken = Vec::with_capacity(within.len());
        for path in within {
            if let Some(watch) = self.watches.remove(&path) {
                self.paths.remove(&watch);
                taken.push(watch);
            }
        }
        taken
    }
}

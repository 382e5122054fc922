//! The kernel's side on Linux: one inotify queue, one watch for each folder.
//!
//! Not the `notify` crate: it also asks for opens, of which one search of a big tree makes more than the queue holds, and
//! it reads the queue on a thread of its own, so that a barrier would have to wait for a file of its own to come by.

use std::collections::{BTreeMap, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::remote::is_remote;
use crate::Tree;
use crate::rules::RULE_FILES;

/// What to look at again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    File(String),
    /// A folder, new or gone or with other rules.
    Folder(String),
    /// The root itself: nothing can be watched from here on.
    Lost,
}

/// A read takes about this many events, twice what the kernel queues by default; with more, all files are listed.
const MAX_EVENTS: usize = 32_768;

pub(super) struct Source {
    queue: Arc<OwnedFd>,
    folders: Folders,
}

/// Sets watches while folders are listed, from many threads.
#[derive(Clone)]
pub(super) struct Watcher {
    queue: Arc<OwnedFd>,
    added: Arc<Mutex<Added>>,
}

#[derive(Default)]
struct Added {
    folders: Vec<(i32, String)>,
    failed: Option<Errno>,
}

/// Which watch is which folder's, both ways.
#[derive(Default)]
struct Folders {
    paths: HashMap<i32, String>,
    watches: BTreeMap<String, i32>,
}

impl Source {
    pub(super) fn open(tree: &Tree) -> Option<Self> {
        if is_remote(tree.root()) {
            tracing::info!(
                "the project lies on a network file system: every search lists its files"
            );
            return None;
        }
        match inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK) {
            Ok(queue) => Some(Self { queue: Arc::new(queue), folders: Folders::default() }),
            Err(error) => {
                tracing::warn!(%error, "files cannot be watched: every search lists them instead");
                None
            }
        }
    }

    pub(super) fn queue(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.queue)
    }

    pub(super) fn watcher(&self) -> Watcher {
        Watcher { queue: Arc::clone(&self.queue), added: Arc::default() }
    }

    /// Takes over what was added while `folder` was listed; folders below it that were not seen again are let go.
    pub(super) fn adopt(&mut self, folder: &str, watcher: &Watcher) -> Result<(), String> {
        let added = std::mem::take(&mut *watcher.added.lock());
        if let Some(error) = added.failed {
            return Err(format!("a folder cannot be watched: {error}"));
        }
        let mut before = self.folders.take_within(folder);
        for (watch, path) in added.folders {
            before.retain(|old| *old != watch);
            self.folders.insert(watch, path);
        }
        self.release(before);
        Ok(())
    }

    /// All that is queued now.
    pub(super) fn read(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let queue = self.queue();
        let mut reader = inotify::Reader::new(&*queue, &mut buffer);
        for taken in 0.. {
            if taken >= MAX_EVENTS && reader.is_buffer_empty() {
                events.push(Event::Folder(String::new()));
                break;
            }
            match reader.next() {
                Ok(event) => {
                    let name = event.file_name().map(|name| name.to_bytes());
                    let (watch, flags) = (event.wd(), event.events());
                    // Names that are not UTF-8 do not count.
                    let name = name.map(std::str::from_utf8).transpose();
                    if let Ok(name) = name {
                        events.extend(self.event(watch, flags, name));
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => {
                    tracing::warn!(%error, "file events cannot be read");
                    events.push(Event::Lost);
                    break;
                }
            }
        }
        events
    }

    fn event(&mut self, watch: i32, flags: ReadFlags, name: Option<&str>) -> Option<Event> {
        if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
            return Some(Event::Folder(String::new()));
        }
        if flags.contains(ReadFlags::IGNORED) {
            self.folders.remove(watch);
            return None;
        }
        let folder = self.folders.paths.get(&watch)?;
        let Some(name) = name else {
            // Of the folder itself; those below the root are told of by the folder above.
            let gone = flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF);
            return (folder.is_empty() && gone).then_some(Event::Lost);
        };
        if RULE_FILES.contains(&name) || name == ".git" {
            return Some(Event::Folder(folder.clone()));
        }
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        if !flags.contains(ReadFlags::ISDIR) {
            return Some(Event::File(path));
        }
        if flags.intersects(ReadFlags::MOVED_FROM | ReadFlags::DELETE) {
            // Watches move with a folder: left alone they would speak under a name that is no longer theirs.
            let gone = self.folders.take_within(&path);
            self.release(gone);
        }
        Some(Event::Folder(path))
    }

    fn release(&self, watches: Vec<i32>) {
        for watch in watches {
            // One that went with its folder is gone already.
            let _ = inotify::remove_watch(&*self.queue, watch);
        }
    }
}

impl Watcher {
    pub(super) fn add(&self, path: &str, absolute: &Path) {
        let mut flags = WatchFlags::CREATE
            | WatchFlags::MODIFY
            // A memory map that was written to shows here at the latest.
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
            // Gone or replaced since it was seen, or not to be read: the listing will see it the same way.
            Err(
                Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::NAMETOOLONG,
            ) => {}
            Err(error) => added.failed = Some(error),
        }
    }
}

impl Folders {
    fn insert(&mut self, watch: i32, path: String) {
        // One folder seen under two names, because it was moved meanwhile: the later name holds.
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

    /// Forgets a folder and all below it; gives their watches.
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

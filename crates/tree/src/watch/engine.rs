//! Turns events into changes.
//!
//! An event only says where to look: what is told is what is there when it is looked at. So events that come late, twice
//! or out of order (a folder moved twice before anybody looked) do no harm; the last look is the one that counts, and a
//! change after it makes another event.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::events::{Event, Source};
use super::outside::Outside;
use super::{Change, Settled};
use crate::list::Hook;
use crate::rules::OneByOne;
use crate::{Entry, Stamp, Tree, is_within};
use parking_lot::Mutex;

/// Over this many folders at once, one listing of everything is cheaper than one of each.
const MAX_LISTINGS: usize = 32;

pub(super) struct Engine {
    tree: Arc<Tree>,
    source: Option<Source>,
    on_change: Box<dyn FnMut(Change) + Send>,
    outside: Outside,
    /// The rules for single files, until a rule file or a folder changes.
    rules: Option<OneByOne>,
    /// Folders that could not be read.
    pub(super) unreadable: BTreeSet<String>,
}

impl Engine {
    pub(super) fn start(tree: Arc<Tree>, on_change: Box<dyn FnMut(Change) + Send>) -> Self {
        let mut engine = Self {
            source: Source::open(&tree),
            tree,
            on_change,
            outside: Outside::default(),
            rules: None,
            unreadable: BTreeSet::new(),
        };
        engine.list_again("");
        engine
    }

    pub(super) fn is_live(&self) -> bool {
        self.source.is_some()
    }

    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    pub(super) fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    pub(super) fn settle(&mut self) -> Settled {
        if self.source.is_none() {
            self.list_again("");
            return Settled::Listed;
        }
        self.take_events();
        if self.outside.have_changed() {
            self.list_again("");
        }
        if self.source.is_some() { Settled::Exact } else { Settled::Listed }
    }

    /// Empties the queue and tells what came of it.
    pub(super) fn take_events(&mut self) {
        let Some(source) = &mut self.source else { return };
        let mut files = BTreeSet::new();
        let mut folders = BTreeSet::new();
        for event in source.read() {
            match event {
                Event::File(path) => drop(files.insert(path)),
                Event::Folder(path) => drop(folders.insert(path)),
                Event::Lost => {
                    self.give_up("the root was moved or removed");
                    folders.insert(String::new());
                }
            }
        }
        if folders.len() > MAX_LISTINGS {
            folders = BTreeSet::from([String::new()]);
        }
        for folder in &folders {
            // A folder that lies in another of them has been listed with it.
            let covered = |other: &String| other != folder && is_within(folder, other);
            if !folders.iter().any(covered) {
                self.list_again(folder);
            }
        }
        for file in files {
            self.look_at(file);
        }
    }

    /// Lists a folder, watches what is in it, and tells.
    pub(super) fn list_again(&mut self, folder: &str) {
        self.rules = None;
        let everything = folder.is_empty();
        let outside = if everything {
            Outside::of(self.tree.root())
        } else {
            std::mem::take(&mut self.outside)
        };
        let outside = Arc::new(Mutex::new(outside));
        let watch = self.source.as_ref().map(Source::watcher);
        let hook: Hook = {
            let (tree, outside) = (Arc::clone(&self.tree), Arc::clone(&outside));
            let watch = watch.clone();
            Arc::new(move |path| {
                let absolute = tree.absolute(path);
                if let Some(watch) = &watch {
                    watch.add(path, &absolute);
                }
                outside.lock().note_repository(&absolute);
            })
        };
        let listing = self.tree.list_below(folder, &hook);
        self.outside = std::mem::take(&mut *outside.lock());
        if let (Some(source), Some(watch)) = (&mut self.source, watch)
            && let Err(reason) = source.adopt(folder, &watch)
        {
            self.give_up(&reason);
        }
        self.unreadable.retain(|path| !is_within(path, folder));
        self.unreadable.extend(listing.unreadable);
        (self.on_change)(Change::Folder { path: folder.to_owned(), entries: listing.entries });
    }

    /// Tells of one path, if a file there would count.
    fn look_at(&mut self, path: String) {
        if !self.tree.names.let_all_through(&path, false) {
            return;
        }
        let rules = self.rules.get_or_insert_with(|| OneByOne::new(self.tree.root()));
        let greppable = rules.lets_through(&path, false);
        let is_extra = self.tree.extra.iter().any(|extra| is_within(&path, extra));
        if !(greppable || is_extra || self.tree.is_extra_anywhere(&path, rules)) {
            return;
        }
        let change = match self.tree.absolute(&path).symlink_metadata() {
            Ok(metadata) if metadata.is_file() => {
                Change::Changed(Entry { path: path.into(), stamp: Stamp::of(&metadata), greppable })
            }
            _ => Change::Removed(path),
        };
        (self.on_change)(change);
    }

    fn give_up(&mut self, reason: &str) {
        tracing::warn!(reason, "file watching has stopped: every search lists the files instead");
        self.source = None;
    }
}

//! Turns file events into changes.
//!
//! An event only identifies a path. The reported change reflects the state of the file system when the event is
//! processed. Late, duplicate or reordered events are therefore harmless, for example after a folder was moved twice.
//! Every later change causes another event.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::events::{EventSource, FileEvent};
use super::external_rules::ExternalRules;
use super::{FileChange, SettleOutcome};
use crate::listing::FolderHook;
use crate::rule_files::has_unsafe_git;
use crate::rules::IgnoreMatcher;
use crate::{FileEntry, FileStamp, FileTree, is_within};
use parking_lot::Mutex;

/// Maximum number of folders listed one by one. For more, one listing of the whole project is cheaper.
const MAX_LISTINGS: usize = 32;

/// The state of a watcher.
pub(super) struct WatchEngine {
    tree: Arc<FileTree>,
    source: Option<EventSource>,
    on_change: Box<dyn FnMut(FileChange) + Send>,
    outside: ExternalRules,
    /// Matcher for single files; discarded when an ignore file or a folder changes.
    rules: Option<IgnoreMatcher>,
    /// Folders that could not be read.
    pub(super) unreadable: BTreeSet<String>,
}

impl WatchEngine {
    pub(super) fn start(tree: Arc<FileTree>, on_change: Box<dyn FnMut(FileChange) + Send>) -> Self {
        let mut engine = Self {
            source: EventSource::open(&tree),
            tree,
            on_change,
            outside: ExternalRules::default(),
            rules: None,
            unreadable: BTreeSet::new(),
        };
        engine.relist_folder("");
        engine
    }

    pub(super) fn is_live(&self) -> bool {
        self.source.is_some()
    }

    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    pub(super) fn source(&self) -> Option<&EventSource> {
        self.source.as_ref()
    }

    pub(super) fn settle(&mut self) -> SettleOutcome {
        if self.source.is_none() {
            self.relist_folder("");
            return SettleOutcome::Relisted;
        }
        self.process_events();
        if self.outside.has_changed() {
            self.relist_folder("");
        }
        if self.source.is_some() { SettleOutcome::Exact } else { SettleOutcome::Relisted }
    }

    /// Drains the event queue and reports the resulting changes.
    pub(super) fn process_events(&mut self) {
        let Some(source) = &mut self.source else { return };
        let mut files = BTreeSet::new();
        let mut folders = BTreeSet::new();
        for event in source.read_events() {
            match event {
                FileEvent::File(path) => drop(files.insert(path)),
                FileEvent::Folder(path) => drop(folders.insert(path)),
                FileEvent::RootLost => {
                    self.stop_watching("project root was moved or removed");
                    folders.insert(String::new());
                }
            }
        }
        if folders.len() > MAX_LISTINGS {
            folders = BTreeSet::from([String::new()]);
        }
        for folder in &folders {
            // A folder inside another changed folder is listed together with it.
            let covered = |other: &String| other != folder && is_within(folder, other);
            if !folders.iter().any(covered) {
                self.relist_folder(folder);
            }
        }
        for file in files {
            self.check_file(file);
        }
    }

    /// Lists a folder, watches its subfolders, and reports its files.
    pub(super) fn relist_folder(&mut self, folder: &str) {
        self.rules = None;
        let everything = folder.is_empty();
        let outside = if everything {
            ExternalRules::from_root(self.tree.root())
        } else {
            std::mem::take(&mut self.outside)
        };
        let outside = Arc::new(Mutex::new(outside));
        let watch = self.source.as_ref().map(EventSource::new_registrar);
        let hook: FolderHook = {
            let (tree, outside) = (Arc::clone(&self.tree), Arc::clone(&outside));
            let watch = watch.clone();
            Arc::new(move |path| {
                let absolute = tree.absolute_path(path);
                if let Some(watch) = &watch {
                    watch.add_watch(path, &absolute);
                }
                if !has_unsafe_git(tree.root(), &absolute) {
                    outside.lock().track_repository(&absolute);
                }
            })
        };
        let listing = self.tree.list_below(folder, &hook);
        self.outside = std::mem::take(&mut *outside.lock());
        if let (Some(source), Some(watch)) = (&mut self.source, watch)
            && let Err(reason) = source.adopt(folder, &watch)
        {
            self.stop_watching(&reason);
        }
        self.unreadable.retain(|path| !is_within(path, folder));
        self.unreadable.extend(listing.unreadable);
        (self.on_change)(FileChange::FolderListed {
            path: folder.to_owned(),
            entries: listing.entries,
        });
    }

    /// Reports the state of one path, if a file there would be included.
    fn check_file(&mut self, path: String) {
        if !self.tree.names.allows_path(&path, false) {
            return;
        }
        let rules = self.rules.get_or_insert_with(|| IgnoreMatcher::new(self.tree.root()));
        let greppable = rules.allows_path(&path, false);
        let is_extra = self.tree.extra.iter().any(|extra| is_within(&path, extra));
        if !(greppable || is_extra || self.tree.is_extra_anywhere(&path, rules)) {
            return;
        }
        let change = match self.tree.absolute_path(&path).symlink_metadata() {
            Ok(metadata) if metadata.is_file() => FileChange::Changed(FileEntry {
                path: path.into(),
                stamp: FileStamp::from_metadata(&metadata),
                greppable,
            }),
            _ => FileChange::Removed(path),
        };
        (self.on_change)(change);
    }

    fn stop_watching(&mut self, reason: &str) {
        tracing::warn!(reason, "file watching stopped; listing files for every search instead");
        self.source = None;
    }
}

//! Replaces `inotify.rs` on systems without events that support a barrier. There, every barrier lists the files.

use std::convert::Infallible;
use std::path::Path;

use crate::FileTree;

pub(super) enum FileEvent {
    File(String),
    Folder(String),
    RootLost,
}

/// An event source that is never available.
pub(super) struct EventSource(Infallible);

#[derive(Clone)]
pub(super) struct WatchRegistrar(Infallible);

impl EventSource {
    pub(super) fn open(_: &FileTree) -> Option<Self> {
        None
    }

    pub(super) fn new_registrar(&self) -> WatchRegistrar {
        WatchRegistrar(self.0)
    }

    pub(super) fn read_events(&mut self) -> Vec<FileEvent> {
        match self.0 {}
    }

    pub(super) fn adopt(&mut self, _: &str, _: &WatchRegistrar) -> Result<(), String> {
        match self.0 {}
    }
}

impl WatchRegistrar {
    pub(super) fn add_watch(&self, _: &str, _: &Path) {
        match self.0 {}
    }
}

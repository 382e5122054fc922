//! The store, opened by the first use: a pack that is only listed makes no state folder.

use std::sync::OnceLock;

use parking_lot::Mutex;
use store::{ContextStore, StateDir, StoreError};

/// What is kept for one project. Where the store cannot be used the pack goes on without a memory; the log says why, once.
pub(crate) struct Kept {
    folder: StateDir,
    store: OnceLock<ContextStore>,
    /// Openers go one by one; true once opening failed.
    failed: Mutex<bool>,
}

impl Kept {
    pub(crate) fn new(folder: &StateDir) -> Self {
        Self { folder: folder.clone(), store: OnceLock::new(), failed: Mutex::default() }
    }

    /// Asks the store, if there is one: asking makes none. None also where it fails.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&ContextStore) -> Result<T, StoreError>,
    ) -> Option<T> {
        if self.store.get().is_none() && !self.folder.database().exists() {
            return None;
        }
        self.tell(question)
    }

    /// Tells the store, which is made where it is missing. None where it fails.
    pub(crate) fn tell<T>(
        &self,
        action: impl FnOnce(&ContextStore) -> Result<T, StoreError>,
    ) -> Option<T> {
        let done = action(self.open()?);
        done.inspect_err(
            |error| tracing::warn!(%error, "what callers do could not be kept or read"),
        )
        .ok()
    }

    fn open(&self) -> Option<&ContextStore> {
        if let Some(store) = self.store.get() {
            return Some(store);
        }
        let mut failed = self.failed.lock();
        if *failed || self.store.get().is_some() {
            return self.store.get();
        }
        match StateDir::open(self.folder.path()).and_then(|folder| ContextStore::open(&folder)) {
            Ok(store) => Some(self.store.get_or_init(|| store)),
            Err(error) => {
                tracing::warn!(%error, "sessions and added discoveries are not available");
                *failed = true;
                None
            }
        }
    }
}

//! Opens the context store on first use, so that listing a pack creates no state folder.

use std::sync::OnceLock;

use parking_lot::Mutex;
use store::{ContextStore, StateDir, StoreError};

/// The context store of one project, opened on first use.
///
/// If the store cannot be opened, the pack works without it, and the reason is logged once.
pub(crate) struct LazyContextStore {
    folder: StateDir,
    store: OnceLock<ContextStore>,
    /// Serializes opening; true once opening failed.
    failed: Mutex<bool>,
}

impl LazyContextStore {
    pub(crate) fn new(folder: &StateDir) -> Self {
        Self { folder: folder.clone(), store: OnceLock::new(), failed: Mutex::default() }
    }

    /// Runs a query on the store without creating it; returns `None` if the store does not exist or the query fails.
    pub(crate) fn with_existing_store<T>(
        &self,
        query: impl FnOnce(&ContextStore) -> Result<T, StoreError>,
    ) -> Option<T> {
        if self.store.get().is_none() && !self.folder.database_path().exists() {
            return None;
        }
        self.with_store(query)
    }

    /// Runs an action on the store, creating it if missing; returns `None` if it fails.
    pub(crate) fn with_store<T>(
        &self,
        action: impl FnOnce(&ContextStore) -> Result<T, StoreError>,
    ) -> Option<T> {
        action(self.open_store()?)
            .inspect_err(|error| tracing::warn!(%error, "failed to access the session store"))
            .ok()
    }

    fn open_store(&self) -> Option<&ContextStore> {
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
                tracing::warn!(%error, "sessions and added discoveries are unavailable");
                *failed = true;
                None
            }
        }
    }
}

//! The catalog that is served now, and how another takes its place.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::call::Subject;
use crate::catalog::{Catalog, Entry};
use crate::limits::Limits;

pub(super) struct Live {
    now: RwLock<Arc<Catalog>>,
    /// Held by whoever publishes, so that the last to come is the one that stays.
    limits: Mutex<Limits>,
    changes: watch::Sender<u64>,
}

impl Live {
    pub(super) fn new(catalog: Catalog) -> Self {
        let mut limits = Limits::default();
        catalog.limit_by(&mut limits);
        Self {
            now: RwLock::new(Arc::new(catalog)),
            limits: Mutex::new(limits),
            changes: watch::Sender::new(0),
        }
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        // A catalog is replaced whole, so there is no half of one to be seen, here and below.
        Arc::clone(&self.now.read())
    }

    pub(super) fn resolve(&self, subject: &Subject) -> Option<Arc<Entry>> {
        self.now.read().resolve(subject).cloned()
    }

    pub(super) fn publish(&self, catalog: Catalog) {
        let mut limits = self.limits.lock();
        catalog.limit_by(&mut limits);
        let catalog = Arc::new(catalog);
        let before = {
            let mut now = self.now.write();
            std::mem::replace(&mut *now, Arc::clone(&catalog))
        };
        if !before.offers_the_same_as(&catalog) {
            self.changes.send_modify(|number| *number += 1);
        }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

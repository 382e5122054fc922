//! The catalog that is served now, and its replacement.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::call::CallSubject;
use crate::catalog::{Catalog, CatalogEntry};
use crate::limits::{RateClock, RateLimitRegistry};

/// Holds the served catalog and notifies about changes.
pub(super) struct LiveCatalog {
    current: RwLock<Arc<Catalog>>,
    /// Locked while publishing, so that concurrent publications are applied in order.
    limits: Mutex<RateLimitRegistry>,
    changes: watch::Sender<u64>,
}

impl LiveCatalog {
    pub(super) fn new(catalog: Catalog, clock: RateClock) -> Self {
        let mut limits = RateLimitRegistry::with_clock(clock);
        catalog.assign_rate_limits(&mut limits);
        Self {
            current: RwLock::new(Arc::new(catalog)),
            limits: Mutex::new(limits),
            changes: watch::Sender::new(0),
        }
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        // A catalog is replaced as a whole, so a poisoned lock still holds a valid one, here and below.
        Arc::clone(&self.current.read())
    }

    pub(super) fn resolve(&self, subject: &CallSubject) -> Option<Arc<CatalogEntry>> {
        self.current.read().resolve(subject).cloned()
    }

    pub(super) fn publish(&self, catalog: Catalog) {
        let mut limits = self.limits.lock();
        catalog.assign_rate_limits(&mut limits);
        let catalog = Arc::new(catalog);
        let before = {
            let mut current = self.current.write();
            std::mem::replace(&mut *current, Arc::clone(&catalog))
        };
        if !before.has_same_contracts_as(&catalog) {
            self.changes.send_modify(|number| *number += 1);
        }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

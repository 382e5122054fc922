//! The health of what a pipeline depends on, for readiness checks.

use super::{Pipeline, STATE_KEY};

impl Pipeline {
    /// Returns true if the audit log can be written. A log that failed before is tried again, because a server that is
    /// not ready may get no call that would try it.
    pub(crate) async fn is_audit_writable(&self) -> bool {
        self.audit.is_healthy() || (self.audit.flush().await.is_ok() && self.audit.is_healthy())
    }

    /// Returns true if the store answers a query.
    pub(crate) async fn is_store_available(&self) -> bool {
        match self.store.get_or_create_secret(STATE_KEY).await {
            Ok(_) => true,
            Err(error) => {
                tracing::debug!(%error, "the store does not answer");
                false
            }
        }
    }
}

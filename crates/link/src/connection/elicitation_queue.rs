//! Runs elicitable calls one at a time, for a server whose requests do not identify the call they belong to.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};

/// Maximum time a call waits for its turn. The call ahead may be waiting for a person, or its server may be waiting for
/// this very call, so after the limit the call proceeds anyway. A server request that arrives while two such calls run is
/// ambiguous and is declined.
const TURN_LIMIT: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct ElicitationQueue(Arc<Mutex<()>>);

impl ElicitationQueue {
    /// Waits for a turn, which lasts until the returned guard is dropped. Returns `None` after the time limit.
    pub(super) async fn wait_for_turn(&self) -> Option<OwnedMutexGuard<()>> {
        tokio::time::timeout(TURN_LIMIT, self.0.clone().lock_owned()).await.ok()
    }
}

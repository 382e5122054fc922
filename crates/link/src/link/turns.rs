//! Calls that may be asked, one after another, for a server whose questions do not say which call they are about.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};

/// How long a call waits for its turn. The one that has it may wait for a person, or at its server for this very call: so
/// the others go on then. A question that comes while there are two could be about either, and is put to nobody.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Turns(Arc<Mutex<()>>);

impl Turns {
    /// Waits for a turn, which lasts as long as what comes back.
    pub(super) async fn take(&self) -> Option<OwnedMutexGuard<()>> {
        tokio::time::timeout(PATIENCE, self.0.clone().lock_owned()).await.ok()
    }
}

//! Ctrl-C and SIGTERM: the first of either asks the server to finish, the second ends the process.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::context::NoticeSink;
use crate::failure::{Explain, Result};

/// A token that is cancelled by the first signal.
pub(super) fn listen(notices: Arc<dyn NoticeSink>, abort: fn() -> !) -> Result<CancellationToken> {
    let failed = "cannot listen for signals";
    let mut interrupt = signal(SignalKind::interrupt()).explain(failed)?;
    let mut terminate = signal(SignalKind::terminate()).explain(failed)?;
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {
                notices.note(format_args!(
                    "\nfinishing the calls in flight; press Ctrl-C again to stop at once"
                ));
            }
            _ = terminate.recv() => {}
        }
        stopping.cancel();
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        abort()
    });
    Ok(stop)
}

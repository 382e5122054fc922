//! Handles Ctrl-C and SIGTERM: the first signal asks the server to finish, the second ends the process.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::context::NoticeSink;
use crate::failure::{FailureExt, Result};

/// Returns a token that the first signal cancels. The second signal calls `abort`.
pub(super) fn listen_for_signals(
    notices: Arc<dyn NoticeSink>,
    abort: fn() -> !,
) -> Result<CancellationToken> {
    let failed = "failed to listen for signals";
    let mut interrupt = signal(SignalKind::interrupt()).explain(failed)?;
    let mut terminate = signal(SignalKind::terminate()).explain(failed)?;
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {
                notices.note(format_args!(
                    "\nfinishing calls in flight; press Ctrl-C again to stop immediately"
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

//! Handles signals: SIGINT and SIGTERM ask the server to finish, a second one ends the process, and SIGHUP asks it to
//! reload its configuration.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::context::NoticeSink;
use crate::failure::{FailureExt, Result};

/// Time from the first signal after which the process ends in any case. Calls, connections and upstreams have their own,
/// shorter limits; this one holds if a thread is blocked.
const EXIT_LIMIT: Duration = Duration::from_millis(9500);

/// The signals that a server reacts to.
#[derive(Clone)]
pub struct ServerSignals {
    /// Cancelled by the first SIGINT or SIGTERM.
    pub stop: CancellationToken,
    /// Counts the requests to reload.
    pub reload: watch::Receiver<u64>,
}

/// Starts to handle signals. The second SIGINT or SIGTERM calls `abort`, as does the exit limit.
///
/// A stdio server does not reload: it belongs to one client, and SIGHUP ends it with the terminal.
pub(super) fn listen_for_signals(
    notices: Arc<dyn NoticeSink>,
    stdio: bool,
    abort: fn() -> !,
) -> Result<ServerSignals> {
    let failed = "failed to listen for signals";
    let mut interrupt = signal(SignalKind::interrupt()).explain(failed)?;
    let mut terminate = signal(SignalKind::terminate()).explain(failed)?;
    let (reload_sender, reload) = watch::channel(0);
    if !stdio {
        let mut hangup = signal(SignalKind::hangup()).explain(failed)?;
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                reload_sender.send_modify(|count| *count += 1);
            }
        });
    }
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
        // A thread of its own: the threads of the runtime may be blocked.
        let watchdog = std::thread::Builder::new().name("vouch-exit".into());
        let _ = watchdog.spawn(move || {
            std::thread::sleep(EXIT_LIMIT);
            abort()
        });
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        abort()
    });
    Ok(ServerSignals { stop, reload })
}

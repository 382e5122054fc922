//! Handles signals: SIGINT and SIGTERM ask the server to finish, a second one ends the process, and SIGHUP asks it to
//! reload its configuration.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
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
///
/// Signals have a thread and a runtime of their own, because the threads of the server may be blocked, such as by a file
/// system that does not answer.
pub(super) fn listen_for_signals(
    notices: Arc<dyn NoticeSink>,
    stdio: bool,
    abort: fn() -> !,
) -> Result<ServerSignals> {
    let failed = "failed to listen for signals";
    let stop = CancellationToken::new();
    let (reload_sender, reload) = watch::channel(0);
    let (started_sender, started) = mpsc::channel();
    let stopping = stop.clone();
    let work = move || {
        let listening = Builder::new_current_thread().enable_all().build().and_then(|runtime| {
            let guard = runtime.enter();
            let signals = ReceivedSignals::register(stdio)?;
            drop(guard);
            Ok((runtime, signals))
        });
        let (listening, result) = match listening {
            Ok(listening) => (Some(listening), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // The receiver waits for it.
        let _ = started_sender.send(result);
        if let Some((runtime, signals)) = listening {
            runtime.block_on(signals.follow(notices, &reload_sender, &stopping));
            abort()
        }
    };
    std::thread::Builder::new().name("vouch-signals".into()).spawn(work).explain(failed)?;
    started.recv().explain(failed)?.explain(failed)?;
    Ok(ServerSignals { stop, reload })
}

/// The signals of this process.
struct ReceivedSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
}

impl ReceivedSignals {
    fn register(stdio: bool) -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: if stdio { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// Passes signals on. Returns when the process must end at once.
    async fn follow(
        mut self,
        notices: Arc<dyn NoticeSink>,
        reload: &watch::Sender<u64>,
        stop: &CancellationToken,
    ) {
        loop {
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = hangup => reload.send_modify(|count| *count += 1),
                _ = self.interrupt.recv() => {
                    stop.cancel();
                    print_interrupt_note(notices);
                    break;
                }
                _ = self.terminate.recv() => break,
            }
        }
        stop.cancel();
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = tokio::time::sleep(EXIT_LIMIT) => {}
        }
    }
}

/// Prints what happens now, on a thread of its own: a terminal that accepts nothing must not keep the process from ending.
fn print_interrupt_note(notices: Arc<dyn NoticeSink>) {
    let print = move || {
        notices.note(format_args!(
            "\nfinishing calls in flight; press Ctrl-C again to stop immediately"
        ));
    };
    // Without a thread, the note is left out.
    let _ = std::thread::Builder::new().name("vouch-notice".into()).spawn(print);
}

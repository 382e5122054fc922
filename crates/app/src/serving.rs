//! Serves a pipeline: logging and telemetry, signals, transports, and an orderly shutdown.
//!
//! [`serve_project`] and [`serve_gateway`] run within [`run_server`]. The command prints the banner.

mod gateway;
mod project;
mod signals;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use contract::Caller;
use runtime::Pipeline;
use runtime::transports::http::{HttpError, HttpTransport};
use runtime::transports::mcp::{McpService, ServerIdentity};
use runtime::transports::stdio;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

pub use self::gateway::serve_gateway;
pub use self::project::serve_project;
use crate::config::Settings;
use crate::context::AppContext;
use crate::failure::FailureKind;
use crate::failure::{Failure, FailureExt, Result};
use crate::project::http_options;
use crate::telemetry::Telemetry;

/// The number of threads that serve HTTP connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServingThreads {
    EveryCore,
    /// For a gateway, where each call also wakes another process. On two cores, one thread used 140 µs of CPU time per
    /// call through the gateway instead of 200 (bench gateway).
    HalfOfCores,
}

impl ServingThreads {
    fn runtime_builder(self) -> Builder {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = if self == Self::HalfOfCores { (cores / 2).max(1) } else { cores };
        // A single thread can be the current one.
        if threads == 1 {
            return Builder::new_current_thread();
        }
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads);
        builder
    }
}

/// The parts of serving that the binary supplies: the log format, and the immediate exit.
pub struct ServeHooks<L> {
    /// Starts logging; spans are sent to the collector if one is configured.
    pub start_logging: L,
    /// Ends the process after the second signal.
    pub abort: fn() -> !,
}

/// Runs `work` on a new runtime, with logging, telemetry and signal handling.
///
/// The first signal cancels the token passed to `work`.
pub fn run_server<L>(
    app: &AppContext,
    settings: &Settings,
    stdio: bool,
    threads: ServingThreads,
    hooks: ServeHooks<L>,
    work: impl AsyncFnOnce(CancellationToken) -> Result,
) -> Result
where
    L: FnOnce(Option<&Telemetry>) -> Result,
{
    // One client on one connection needs one thread: with it, and with pipes read without a helper thread, a call of
    // `hello` used 94 µs of CPU time instead of 246 (bench calls).
    let mut runtime = if stdio { Builder::new_current_thread() } else { threads.runtime_builder() };
    let runtime = runtime.enable_all().build().explain("failed to start the async runtime")?;
    let served = runtime.block_on(async {
        let telemetry = settings.otlp_endpoint.as_deref().map(Telemetry::start).transpose()?;
        (hooks.start_logging)(telemetry.as_ref())?;
        // Signals are handled before the banner is printed, because its reader may send one at once.
        let stop = signals::listen_for_signals(Arc::clone(&app.notices), hooks.abort)?;
        let served = work(stop).await;
        if let Some(telemetry) = telemetry {
            telemetry.shutdown().await;
        }
        served
    });
    // The thread that reads stdin cannot be woken and must not keep the process alive.
    runtime.shutdown_background();
    served
}

/// The presentation of a server to its clients and to the user.
pub struct ServeOptions<F> {
    /// Name, version and instructions that clients see.
    pub server_info: ServerIdentity,
    /// Command with its port flag, for hints: `vouch serve --port`.
    pub port_flag: &'static str,
    /// Called once the server is up, with its address; `None` over stdio.
    pub banner: F,
}

/// Serves over stdio or HTTP until `stop` is cancelled, or until the stdio client disconnects.
pub async fn serve_transport(
    settings: &Settings,
    stdio: bool,
    pipeline: &Arc<Pipeline>,
    welcome: ServeOptions<impl FnOnce(Option<SocketAddr>)>,
    stop: CancellationToken,
) -> Result {
    let ServeOptions { server_info: face, port_flag, banner } = welcome;
    if stdio {
        banner(None);
        let door = McpService::new(Arc::clone(pipeline), face, Caller::new("stdio"));
        return Ok(stdio::serve_stdio(door, stop).await?);
    }
    let options = http_options(settings)?;
    let door = HttpTransport::bind(Arc::clone(pipeline), face, options)
        .await
        .map_err(|error| listen_failure(error, port_flag))?;
    banner(Some(door.address()));
    Ok(door.serve(stop).await?)
}

/// Converts a failure to listen, with a hint that names the command's port flag.
pub(crate) fn listen_failure(error: HttpError, port_flag: &str) -> Failure {
    let hint = match &error {
        HttpError::TokenRequired(_) => Some(("omit `--no-token`".to_owned(), FailureKind::Usage)),
        HttpError::Bind { source, .. } => match source.kind() {
            std::io::ErrorKind::AddrInUse => Some((
                format!("another program uses the port; take a free one: {port_flag} 0"),
                FailureKind::Operation,
            )),
            std::io::ErrorKind::AddrNotAvailable => Some((
                "omit `--host`; this machine does not have that address".to_owned(),
                FailureKind::Operation,
            )),
            std::io::ErrorKind::PermissionDenied => Some((
                format!("choose a port above 1023: {port_flag} 8377"),
                FailureKind::Operation,
            )),
            _ => None,
        },
        HttpError::Serve(_) => None,
    };
    let failure = Failure::from(error);
    match hint {
        Some((hint, exit)) => failure.with_hint(hint).with_kind(exit),
        None => failure,
    }
}

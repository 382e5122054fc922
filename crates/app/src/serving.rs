//! Serves a pipeline: logging and telemetry, signals, transports, and an orderly shutdown.
//!
//! [`serve_project`] and [`serve_gateway`] run within [`run_server`]. The command prints the banner.

mod gateway;
mod project;
pub(crate) mod readiness;
mod reload;
mod signals;
mod socket_activation;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use contract::Caller;
use runtime::Pipeline;
use runtime::transports::http::{HttpError, HttpTransport, ReadinessCheck, TlsError};
use runtime::transports::mcp::{McpService, ServerIdentity};
use runtime::transports::stdio;
use tokio::runtime::Builder;

pub use self::gateway::serve_gateway;
pub use self::project::serve_project;
use self::readiness::ConfigurationCheck;
pub use self::reload::ConfigReloader;
use self::reload::LiveServer;
pub use self::signals::ServerSignals;
use crate::config::Settings;
use crate::context::AppContext;
use crate::failure::FailureKind;
use crate::failure::{Failure, FailureExt, Result};
use crate::project::{descriptor_limit, http_options};
use crate::telemetry::Telemetry;

/// Maximum time for calls to finish after their transport has ended.
const FINISH_LIMIT: Duration = Duration::from_millis(500);

/// Descriptors that the process must be allowed for each thread. A thread that serves connections holds four, so all of them
/// take at most an eighth.
const DESCRIPTORS_PER_THREAD: usize = 32;

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
        let threads = if self == Self::HalfOfCores { cores / 2 } else { cores };
        let threads = threads.min(descriptor_limit() / DESCRIPTORS_PER_THREAD).max(1);
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
/// The signals are passed to `work`.
pub fn run_server<L>(
    app: &AppContext,
    settings: &Settings,
    stdio: bool,
    threads: ServingThreads,
    hooks: ServeHooks<L>,
    work: impl AsyncFnOnce(ServerSignals) -> Result,
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
        let signals = signals::listen_for_signals(Arc::clone(&app.notices), stdio, hooks.abort)?;
        let served = work(signals).await;
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

/// A transport that is ready to serve.
enum ServerTransport {
    Stdio(McpService),
    Http(Box<HttpTransport>, LiveServer),
}

/// Opens the transport and calls the banner. `checks` are the readiness checks besides disk, audit log and store.
async fn open_transport(
    settings: &Settings,
    stdio: bool,
    pipeline: &Arc<Pipeline>,
    welcome: ServeOptions<impl FnOnce(Option<SocketAddr>)>,
    checks: &[Arc<dyn ReadinessCheck>],
    configuration: Arc<ConfigurationCheck>,
) -> Result<ServerTransport> {
    let ServeOptions { server_info, port_flag, banner } = welcome;
    let pipeline = Arc::clone(pipeline);
    if stdio {
        banner(None);
        let service = McpService::new(pipeline, server_info, Caller::new("stdio"));
        return Ok(ServerTransport::Stdio(service));
    }
    let mut options = http_options(settings)?;
    options.readiness.extend(checks.iter().map(Arc::clone));
    let transport = match socket_activation::take_listener()? {
        Some(listener) => {
            HttpTransport::from_listener(Arc::clone(&pipeline), server_info, options, listener)
        }
        None => HttpTransport::bind(Arc::clone(&pipeline), server_info, options).await,
    };
    let transport = transport.map_err(|error| listen_failure(error, port_flag))?;
    banner(Some(transport.address()));
    socket_activation::notify_ready();
    let live = LiveServer { control: transport.control(), pipeline, configuration };
    Ok(ServerTransport::Http(Box::new(transport), live))
}

impl ServerTransport {
    /// Serves until `stop` is cancelled, or until the stdio client disconnects. `reload` is called on every request to
    /// reload, one at a time.
    async fn serve(
        self,
        signals: ServerSignals,
        mut reload: impl AsyncFnMut(&LiveServer) -> Result,
    ) -> Result {
        let ServerSignals { stop, reload: mut requests } = signals;
        let (transport, live) = match self {
            Self::Stdio(service) => return Ok(stdio::serve_stdio(service, stop).await?),
            Self::Http(transport, live) => (transport, live),
        };
        let mut served = pin!(transport.serve(stop.clone()));
        let mut follow = pin!(async {
            while requests.changed().await.is_ok() && !stop.is_cancelled() {
                let result = reload(&live).await;
                live.report(&result);
            }
            std::future::pending::<()>().await
        });
        tokio::select! {
            served = &mut served => Ok(served?),
            () = &mut follow => Ok(()),
        }
    }
}

/// Waits, for a bounded time, until no call is in flight and the audit log is on disk.
async fn finish_calls(pipeline: &Pipeline) {
    let _ = tokio::time::timeout(FINISH_LIMIT, pipeline.drain()).await;
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
        HttpError::Tls(error) => Some((tls_hint(error), FailureKind::Usage)),
    };
    let failure = Failure::from(error);
    match hint {
        Some((hint, exit)) => failure.with_hint(hint).with_kind(exit),
        None => failure,
    }
}

fn tls_hint(error: &TlsError) -> String {
    match error {
        TlsError::PrivateKey(error) => {
            error.hint().unwrap_or_else(|| "pass the private key with `--tls-key`".to_owned())
        }
        _ => "pass a certificate with its chain and the key that belongs to it, both in PEM format"
            .to_owned(),
    }
}

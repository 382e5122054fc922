//! Serving a pipeline: log and telemetry, signals, the doors, and an orderly end. What is behind the pipeline, and what is
//! said when it is up, is the command's.

mod gateway;
mod project;
mod signals;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;

use contract::Caller;
use runtime::Pipeline;
use runtime::doors::http::{HttpDoor, HttpError};
use runtime::doors::mcp::{Face, McpDoor};
use runtime::doors::stdio;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

pub use self::gateway::serve_gateway;
pub use self::project::serve_project;
use crate::config::Settings;
use crate::context::AppContext;
use crate::failure::FailureKind;
use crate::failure::{Explain, Failure, Result};
use crate::project::http_options;
use crate::telemetry::Telemetry;

/// How many threads serve connections over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    EveryCore,
    /// Where each call wakes another process, too. On two cores, one thread took 140 µs of processor time for a call
    /// through the gateway instead of 200 (bench gateway).
    HalfTheCores,
}

impl Threads {
    fn builder(self) -> Builder {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = if self == Self::HalfTheCores { (cores / 2).max(1) } else { cores };
        // With one, the thread that we are on will do.
        if threads == 1 {
            return Builder::new_current_thread();
        }
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads);
        builder
    }
}

/// The parts of serving that belong to the binary: how log lines look, and how the process ends at once.
pub struct ServeHooks<L> {
    /// Starts logging, with spans sent to the collector where one is configured.
    pub start_logging: L,
    /// Ends the process after the second signal.
    pub abort: fn() -> !,
}

/// Runs what serves until it is done, with all that belongs around it. `work` is given the token that a signal cancels.
pub fn run<L>(
    app: &AppContext,
    settings: &Settings,
    stdio: bool,
    threads: Threads,
    hooks: ServeHooks<L>,
    work: impl AsyncFnOnce(CancellationToken) -> Result,
) -> Result
where
    L: FnOnce(Option<&Telemetry>) -> Result,
{
    // One client on one connection needs one thread: with it, and pipes read without a helper thread, a call of `hello`
    // took 94 µs of processor time instead of 246 (bench calls).
    let mut runtime = if stdio { Builder::new_current_thread() } else { threads.builder() };
    let runtime = runtime.enable_all().build().explain("cannot start the asynchronous runtime")?;
    let served = runtime.block_on(async {
        let telemetry = settings.otlp_endpoint.as_deref().map(Telemetry::start).transpose()?;
        (hooks.start_logging)(telemetry.as_ref())?;
        // Before the first line that says we are here: whoever reads it may send a signal.
        let stop = signals::listen(Arc::clone(&app.notices), hooks.abort)?;
        let served = work(stop).await;
        if let Some(telemetry) = telemetry {
            telemetry.shutdown().await;
        }
        served
    });
    // The thread that reads standard input cannot be woken; it must not keep the process.
    runtime.shutdown_background();
    served
}

/// What a door says and is called.
pub struct Welcome<F> {
    /// The name, version and instructions that clients see.
    pub face: Face,
    /// The command and its flag for the port: `vouch serve --port`.
    pub port_flag: &'static str,
    /// Says that it is up, and where; on standard input and output there is no address.
    pub banner: F,
}

/// Serves until `stop`, or until the client on standard input goes.
pub async fn doors(
    settings: &Settings,
    stdio: bool,
    pipeline: &Arc<Pipeline>,
    welcome: Welcome<impl FnOnce(Option<SocketAddr>)>,
    stop: CancellationToken,
) -> Result {
    let Welcome { face, port_flag, banner } = welcome;
    if stdio {
        banner(None);
        let door = McpDoor::new(Arc::clone(pipeline), face, Caller::new("stdio"));
        return Ok(stdio::serve(door, stop).await?);
    }
    let options = http_options(settings)?;
    let door = HttpDoor::bind(Arc::clone(pipeline), face, options)
        .await
        .map_err(|error| cannot_listen(error, port_flag))?;
    banner(Some(door.address()));
    Ok(door.serve(stop).await?)
}

/// What is to be done, with the command and the flag by which a port is chosen.
pub(crate) fn cannot_listen(error: HttpError, port_flag: &str) -> Failure {
    let hint = match &error {
        HttpError::TokenRequired(_) => Some((
            "(umask 077; mkdir -p .vouch; openssl rand -hex 32 > .vouch/tokens), then add: --token-file .vouch/tokens"
                .to_owned(),
            FailureKind::Usage,
        )),
        HttpError::Bind { source, .. } => match source.kind() {
            std::io::ErrorKind::AddrInUse => Some((
                format!("something else listens there; take a free port: {port_flag} 0"),
                FailureKind::Operation,
            )),
            std::io::ErrorKind::AddrNotAvailable => {
                Some(("this machine has no such address; leave --host out".to_owned(), FailureKind::Operation))
            }
            std::io::ErrorKind::PermissionDenied => Some((
                format!("ports below 1024 are for the administrator: {port_flag} 8377"),
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

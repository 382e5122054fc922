//! Serving a pipeline: log and telemetry, signals, the doors, and an orderly end. What is behind the pipeline, and what is
//! said when it is up, is the command's.

mod signals;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use contract::Caller;
use runtime::Pipeline;
use runtime::doors::http::{HttpDoor, HttpError};
use runtime::doors::mcp::{Face, McpDoor};
use runtime::doors::stdio;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::commands::Context;
use crate::config::{Host, Layer, Settings};
use crate::exit::Exit;
use crate::logging::{self, LogFormat};
use crate::project;
use crate::report::{Explain, Failure, Result};
use crate::telemetry::Telemetry;
use crate::ui;

/// The flags of every command that serves.
#[derive(Debug, clap::Args)]
pub(crate) struct DoorFlags {
    /// Address to listen on [default: 127.0.0.1]
    ///
    /// Beyond loopback a token is required.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "stdio")]
    host: Option<Host>,

    /// Serve on standard input and output instead
    #[arg(long)]
    pub(crate) stdio: bool,

    /// File with the bearer tokens, one a line
    ///
    /// With a name before the token where there are several callers: `ci 3f9a…`. The file lies in .vouch, which no tool
    /// can read, or outside the project. Instead of a file, VOUCH_TOKEN can hold one token.
    #[arg(long, value_name = "FILE", conflicts_with = "stdio")]
    token_file: Option<PathBuf>,

    /// How log lines look
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
}

impl DoorFlags {
    pub(crate) fn layer(&self, port: Option<u16>) -> Layer {
        Layer::from_server(self.host, port, self.token_file.clone())
    }
}

/// How many threads serve connections over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
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

/// Runs what serves until it is done, with all that belongs around it. `work` is given the token that a signal cancels.
pub(crate) fn run(
    ctx: &Context,
    settings: &Settings,
    flags: &DoorFlags,
    threads: Threads,
    work: impl AsyncFnOnce(CancellationToken) -> Result,
) -> Result<Exit> {
    // One client on one connection needs one thread: with it, and pipes read without a helper thread, a call of `hello`
    // took 94 µs of processor time instead of 246 (bench calls).
    let mut runtime = if flags.stdio { Builder::new_current_thread() } else { threads.builder() };
    let runtime = runtime.enable_all().build().explain("cannot start the asynchronous runtime")?;
    let served = runtime.block_on(async {
        let telemetry = settings.otlp_endpoint.as_deref().map(Telemetry::start).transpose()?;
        logging::init(ctx, flags.log_format, telemetry.as_ref())?;
        // Before the first line that says we are here: whoever reads it may send a signal.
        let stop = signals::listen(ctx.ui)?;
        let served = work(stop).await;
        if let Some(telemetry) = telemetry {
            telemetry.shutdown().await;
        }
        served
    });
    // The thread that reads standard input cannot be woken; it must not keep the process.
    runtime.shutdown_background();
    served.map(|()| Exit::Success)
}

/// What a door says and is called.
pub(crate) struct Welcome<F> {
    pub(crate) face: Face,
    /// The command and its flag for the port: `vouch serve --port`.
    pub(crate) port_flag: &'static str,
    /// Says that it is up, and where; on standard input and output there is no address.
    pub(crate) banner: F,
}

/// Serves until `stop`, or until the client on standard input goes.
pub(crate) async fn doors(
    ctx: &Context,
    settings: &Settings,
    flags: &DoorFlags,
    pipeline: &Arc<Pipeline>,
    welcome: Welcome<impl FnOnce(Option<SocketAddr>)>,
    stop: CancellationToken,
) -> Result {
    let Welcome { face, port_flag, banner } = welcome;
    if flags.stdio {
        if ui::err_is_terminal() && !ctx.ui.is_quiet() {
            banner(None);
        }
        let door = McpDoor::new(Arc::clone(pipeline), face, Caller::new("stdio"));
        return Ok(stdio::serve(door, stop).await?);
    }
    let options = project::http_options(settings)?;
    let door = HttpDoor::bind(Arc::clone(pipeline), face, options)
        .await
        .map_err(|error| cannot_listen(error, port_flag))?;
    if !ctx.ui.is_quiet() {
        banner(Some(door.address()));
    }
    Ok(door.serve(stop).await?)
}

/// What is to be done, with the command and the flag by which a port is chosen.
pub(crate) fn cannot_listen(error: HttpError, port_flag: &str) -> Failure {
    let hint = match &error {
        HttpError::TokenRequired(_) => Some((
            "(umask 077; mkdir -p .vouch; openssl rand -hex 32 > .vouch/tokens), then add: --token-file .vouch/tokens"
                .to_owned(),
            Exit::Usage,
        )),
        HttpError::Bind { source, .. } => match source.kind() {
            std::io::ErrorKind::AddrInUse => Some((
                format!("something else listens there; take a free port: {port_flag} 0"),
                Exit::Failed,
            )),
            std::io::ErrorKind::AddrNotAvailable => {
                Some(("this machine has no such address; leave --host out".to_owned(), Exit::Failed))
            }
            std::io::ErrorKind::PermissionDenied => Some((
                format!("ports below 1024 are for the administrator: {port_flag} 8377"),
                Exit::Failed,
            )),
            _ => None,
        },
        HttpError::Serve(_) => None,
    };
    let failure = Failure::from(error);
    match hint {
        Some((hint, exit)) => failure.with_hint(hint).with_exit(exit),
        None => failure,
    }
}

//! `vouch serve`: the tools of this folder, over streamable HTTP and REST, or over stdio.

mod banner;
mod campaign;
mod signals;

use std::path::PathBuf;
use std::sync::Arc;

use contract::Caller;
use runtime::Pipeline;
use runtime::doors::http::{HttpDoor, HttpError};
use runtime::doors::mcp::McpDoor;
use runtime::doors::stdio;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::campaign::served::Campaigns;
use crate::commands::Context;
use crate::config::{Host, Layer, Pack, Settings};
use crate::exit::Exit;
use crate::logging::{self, LogFormat};
use crate::project::{self, Project};
use crate::report::{Explain, Failure, Result};
use crate::telemetry::Telemetry;
use crate::ui;
use campaign::CampaignFlags;

/// Serve the tools of this folder over MCP
///
/// Over HTTP: MCP at /mcp, REST below /v1/tools, /openapi.json, /metrics and /healthz. With --stdio: MCP on standard
/// input and output, for a client that starts `vouch` itself.
///
/// With --packs campaign it fuzzes contracts, and its tools watch and steer that.
///
/// Ctrl-C or SIGTERM finishes the calls in flight; a second one stops at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch serve
  vouch serve --port 0
  vouch serve --stdio
  vouch serve --host 0.0.0.0 --token-file .vouch/tokens
  vouch serve --stdio --packs campaign --target contracts/Token.sol --corpus-dir corpus")]
pub(crate) struct Args {
    /// Address to listen on [default: 127.0.0.1]
    ///
    /// Beyond loopback a token is required.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "stdio")]
    host: Option<Host>,

    /// Port to listen on; 0 takes a free one [default: 8377]
    #[arg(long, value_name = "PORT", conflicts_with = "stdio")]
    port: Option<u16>,

    /// Serve on standard input and output instead
    #[arg(long)]
    stdio: bool,

    /// File with the bearer tokens, one a line
    ///
    /// With a name before the token where there are several callers: `ci 3f9a…`. The file lies in .vouch, which no tool
    /// can read, or outside the project. Instead of a file, VOUCH_TOKEN can hold one token.
    #[arg(long, value_name = "FILE", conflicts_with = "stdio")]
    token_file: Option<PathBuf>,

    /// Which tools to offer, whatever the configuration says; several are separated by commas
    #[arg(long, value_name = "PACK", value_enum, value_delimiter = ',')]
    packs: Vec<Pack>,

    /// How log lines look
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,

    #[command(flatten)]
    campaign: CampaignFlags,
}

pub(crate) fn run(ctx: &Context, args: Args) -> Result<Exit> {
    let Args { host, port, stdio, token_file, log_format, packs, campaign } = args;
    let mut layer = Layer::from_server(host, port, token_file);
    if !packs.is_empty() {
        layer = layer.with_packs(packs);
    }
    let mut settings = ctx.settings_with(layer)?;
    campaign.apply(&mut settings)?;
    // One client on one connection needs one thread: with it, and pipes read without a helper thread, a call of `hello`
    // took 94 µs of processor time instead of 246 (bench calls).
    let mut runtime =
        if stdio { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    let runtime = runtime.enable_all().build().explain("cannot start the asynchronous runtime")?;
    let served = runtime.block_on(serve(ctx, &settings, stdio, log_format));
    // The thread that reads standard input cannot be woken; it must not keep the process.
    runtime.shutdown_background();
    served.map(|()| Exit::Success)
}

async fn serve(ctx: &Context, settings: &Settings, stdio: bool, log_format: LogFormat) -> Result {
    let telemetry = settings.otlp_endpoint.as_deref().map(Telemetry::start).transpose()?;
    logging::init(ctx, log_format, telemetry.as_ref())?;
    // Before the first line that says we are here: whoever reads it may send a signal.
    let stop = signals::listen(ctx.ui)?;
    let Project { pipeline, context, seats } = project::project(settings).await?;
    let campaigns = Campaigns::begin(ctx, &settings.campaign, &seats)?;
    if let Some(pack) = &context {
        pack.start();
    }
    let served = if stdio {
        over_stdio(ctx, settings, &pipeline, stop).await
    } else {
        over_http(ctx, settings, Arc::clone(&pipeline), stop).await
    };
    campaigns.end().await;
    pipeline.drain().await;
    if let Some(telemetry) = telemetry {
        telemetry.shutdown().await;
    }
    served
}

async fn over_http(
    ctx: &Context,
    settings: &Settings,
    pipeline: Arc<Pipeline>,
    stop: CancellationToken,
) -> Result {
    let options = project::http_options(settings)?;
    let door = HttpDoor::bind(Arc::clone(&pipeline), project::face(settings), options)
        .await
        .map_err(|error| cannot_listen(error, "vouch serve --port"))?;
    if !ctx.ui.is_quiet() {
        banner::http(ctx, settings, pipeline.catalog(), door.address());
    }
    door.serve(stop).await?;
    Ok(())
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

async fn over_stdio(
    ctx: &Context,
    settings: &Settings,
    pipeline: &Arc<Pipeline>,
    stop: CancellationToken,
) -> Result {
    if ui::err_is_terminal() && !ctx.ui.is_quiet() {
        banner::stdio(ctx, settings, pipeline.catalog());
    }
    let door = McpDoor::new(Arc::clone(pipeline), project::face(settings), Caller::new("stdio"));
    stdio::serve(door, stop).await?;
    Ok(())
}

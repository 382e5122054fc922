//! The flags of every command that serves, and the terminal's part of serving.

use std::net::SocketAddr;
use std::path::PathBuf;

use app::config::{Host, Layer, Settings};
use app::serving::{self, ServeHooks, Threads};
use tokio_util::sync::CancellationToken;

use crate::commands::Context;
use crate::exit::Exit;
use crate::logging::{self, LogFormat};
use crate::report::Result;
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

/// Runs `work` until it is done, with logging and signals set up.
pub(crate) fn run(
    ctx: &Context,
    settings: &Settings,
    flags: &DoorFlags,
    threads: Threads,
    work: impl AsyncFnOnce(CancellationToken) -> Result,
) -> Result<Exit> {
    let hooks = ServeHooks {
        start_logging: |telemetry: Option<&_>| logging::init(ctx, flags.log_format, telemetry),
        abort: || std::process::exit(Exit::Interrupted.code().into()),
    };
    serving::run(&ctx.app, settings, flags.stdio, threads, hooks, work)?;
    Ok(Exit::Success)
}

/// Shows a banner where a person reads it: never with `--quiet`, and on standard input and output only on a terminal.
pub(crate) fn show_banner(
    ctx: &Context,
    address: Option<SocketAddr>,
    print: impl FnOnce(Option<SocketAddr>),
) {
    if !ctx.ui.is_quiet() && (address.is_some() || ui::err_is_terminal()) {
        print(address);
    }
}

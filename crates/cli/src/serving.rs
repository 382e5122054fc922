//! Flags and setup shared by `vouch serve` and `vouch gateway`: transport, logging, signals and the banner.

use std::net::SocketAddr;
use std::path::PathBuf;

use app::config::{ConfigLayer, ListenHost, Settings};
use app::project;
use app::serving::{self, ServeHooks, ServerSignals, ServingThreads};
use store::ProjectToken;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::logging::{self, LogFormat};
use crate::report::Result;
use crate::ui;

/// Flags of every command that runs a server.
#[derive(Debug, clap::Args)]
pub(crate) struct ServerArgs {
    /// Address to listen on [default: 127.0.0.1]
    ///
    /// Any address other than loopback requires a token. Without --tls-cert it is sent in clear text.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "stdio")]
    host: Option<ListenHost>,

    /// Serve on standard input and output instead of HTTP
    #[arg(long)]
    pub(crate) stdio: bool,

    /// File with the bearer tokens, one per line [default: the token of this project]
    ///
    /// To distinguish callers, put a name before the token: `ci 3f9a…`. The file must be private (chmod 600), and
    /// outside the project, where tools cannot read it. VOUCH_TOKEN can hold a single token instead.
    #[arg(long, value_name = "FILE", conflicts_with = "stdio")]
    token_file: Option<PathBuf>,

    /// Accept requests without a token
    ///
    /// Every user and program of this machine can then call the tools.
    #[arg(long, conflicts_with_all = ["stdio", "token_file"])]
    no_token: bool,

    /// Certificate with its chain in PEM format, to serve HTTPS
    ///
    /// It is loaded again when the file changes.
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with = "stdio")]
    tls_cert: Option<PathBuf>,

    /// Private key of the certificate in PEM format
    ///
    /// The file must be private (chmod 600), and outside the project, where tools cannot read it.
    #[arg(long, value_name = "FILE", requires = "tls_cert", conflicts_with = "stdio")]
    tls_key: Option<PathBuf>,

    /// Format of log lines
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    log_format: LogFormat,
}

impl ServerArgs {
    /// Returns these flags as a layer of the configuration.
    pub(crate) fn to_layer(&self, port: Option<u16>) -> ConfigLayer {
        ConfigLayer::from_server_flags(self.host, port, self.token_file.clone())
            .without_token(self.no_token)
            .with_tls(self.tls_cert.clone(), self.tls_key.clone())
    }

    /// Creates the token of the project if the server needs it. Returns it if it was created now, to be shown once.
    pub(crate) fn create_missing_token(&self, settings: &Settings) -> Result<Option<ProjectToken>> {
        if self.stdio { Ok(None) } else { project::create_missing_token(settings) }
    }
}

/// Runs `work` to completion, with logging and signal handling set up.
pub(crate) fn run_server(
    ctx: &CommandContext,
    settings: &Settings,
    flags: &ServerArgs,
    threads: ServingThreads,
    work: impl AsyncFnOnce(ServerSignals) -> Result,
) -> Result<ExitStatus> {
    let hooks = ServeHooks {
        start_logging: |telemetry: Option<&_>| {
            logging::init_logging(ctx, flags.log_format, telemetry)
        },
        abort: || std::process::exit(ExitStatus::Interrupted.code().into()),
    };
    serving::run_server(&ctx.app, settings, flags.stdio, threads, hooks, work)?;
    Ok(ExitStatus::Success)
}

/// Prints a banner, except with `--quiet`. A server on stdio prints it only if standard error is a terminal.
pub(crate) fn show_banner(
    ctx: &CommandContext,
    address: Option<SocketAddr>,
    print: impl FnOnce(Option<SocketAddr>),
) {
    if !ctx.ui.is_quiet() && (address.is_some() || ui::is_stderr_terminal()) {
        print(address);
    }
}

//! `vouch check`: lints the tools of any MCP server. It lists the tools and does not call them.

mod print;

use std::path::PathBuf;
use std::time::Duration;

use admit::conformance::{ConformanceReport, ServerId, to_upstream_name};
use app::check::drafts::OverlayDrafts;
use app::check::target::{CheckTarget, CheckTargetOptions};
use app::config::Settings;
use app::upstreams;
use clap::ValueEnum;
use link::{Connection, ProtocolDeviations, ServerInfo};
use lint::Severity;
use serde_json::Value;

use crate::commands::CommandContext;
use crate::commands::sandbox_flags::SandboxFlags;
use crate::exit::ExitStatus;
use crate::logging;
use crate::report::{Failure, Result};

/// Maximum time to list the tools, in addition to the connect timeout.
const LISTING_TIMEOUT: Duration = Duration::from_secs(30);

/// Check the tools of an MCP server against the lint rules
///
/// The server is a program to start (after `--`), a URL, or the name of an upstream in vouch.toml. Its tools are listed
/// and checked against the rules that `vouch explain` lists. No tool is called.
///
/// A program runs in the same sandbox as an upstream: by default it may read this folder, write nothing and use no
/// network; grant more with --read, --write and --allow-host, or --network for any host. Its environment contains only the variables of --env and
/// those needed to find programs. Values of --env and --header may refer to secrets: ${NAME} is replaced by a variable,
/// ${file:PATH} by the content of a file. Quote them for the shell.
///
/// Exits with 0 if no finding reaches the severity of --deny, 1 if one does, 3 if the server cannot be reached.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "vouch check [OPTIONS] <URL|UPSTREAM>\n       vouch check [OPTIONS] -- <COMMAND>...",
    after_help = "\
Examples:
  vouch check -- node server.js
  vouch check --network --write ~/.npm -- npx -y @modelcontextprotocol/server-memory
  vouch check --allow-host api.github.com:443 --memory 1GB -- node server.js
  vouch check https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  vouch check files --deny warning
  vouch check files --sarif > vouch.sarif
  vouch check --fix-overlay contracts -- node server.js"
)]
pub(crate) struct CheckArgs {
    /// URL of the server, or name of an upstream
    #[arg(
        value_name = "URL|UPSTREAM",
        required_unless_present = "command",
        conflicts_with = "command"
    )]
    server: Option<String>,

    /// Use the HTTP+SSE transport that preceded streamable HTTP (before 2025)
    #[arg(long, conflicts_with = "command")]
    sse: bool,

    /// Add a header to every request, as 'Name: value'
    #[arg(long, value_name = "HEADER", conflicts_with = "command")]
    header: Vec<String>,

    /// Set an environment variable of the program
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "server")]
    env: Vec<String>,

    /// Let the program read this folder, instead of the current one
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    read: Vec<PathBuf>,

    /// Let the program write to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    write: Vec<PathBuf>,

    /// Let the program use the network
    #[arg(long, conflicts_with = "server")]
    network: bool,

    /// Run the program without a sandbox
    #[arg(long, conflicts_with_all = ["server", "read", "write", "network"])]
    no_sandbox: bool,

    #[command(flatten)]
    sandbox: SandboxFlags,

    /// Connect timeout in seconds [default: the upstream's setting, else 30]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    timeout: Option<u32>,

    /// Lowest severity that fails the check
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t)]
    deny: DenySeverity,

    /// Print JSON
    #[arg(long, conflicts_with = "sarif")]
    json: bool,

    /// Print SARIF 2.1.0, for code scanning
    #[arg(long)]
    sarif: bool,

    /// File that SARIF findings are attached to [default: vouch.toml, if it exists]
    ///
    /// Some SARIF viewers, such as GitHub, show only findings with a file.
    #[arg(long, value_name = "FILE", requires = "sarif")]
    location: Option<String>,

    /// Write a draft overlay to this folder for each tool that needs one
    ///
    /// The files are `DIR/<upstream>/<tool>.json`. Parts that must be completed by hand are listed.
    #[arg(long, value_name = "DIR")]
    fix_overlay: Option<PathBuf>,

    /// Replace existing overlays
    #[arg(long, requires = "fix_overlay")]
    force: bool,

    /// Program to start, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl CheckArgs {
    /// Returns the options of the server that the flags name.
    fn to_target_options(&self) -> CheckTargetOptions {
        CheckTargetOptions {
            server: self.server.clone(),
            sse: self.sse,
            header: self.header.clone(),
            env: self.env.clone(),
            read: self.read.clone(),
            write: self.write.clone(),
            network: self.sandbox.network(self.network),
            is_landlock: self.sandbox.is_landlock(),
            limits: self.sandbox.limits(),
            no_sandbox: self.no_sandbox,
            timeout: self.timeout,
            command: self.command.clone(),
        }
    }
}

/// Value of `--deny`: findings of this severity or worse fail the check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DenySeverity {
    /// Findings that make a contract unusable or dangerous
    #[default]
    Error,
    /// Also findings that leave a contract ambiguous
    Warning,
    /// All findings
    Note,
}

impl DenySeverity {
    fn severity(self) -> Severity {
        match self {
            Self::Error => Severity::Error,
            Self::Warning => Severity::Warning,
            Self::Note => Severity::Note,
        }
    }
}

pub(crate) fn run_check(ctx: &CommandContext, args: &CheckArgs) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    logging::init_logging_if_requested(ctx)?;
    args.sandbox.check(!args.command.is_empty())?;
    let target = CheckTarget::resolve(&ctx.app, &args.to_target_options(), settings)?;
    let settings = &*target.settings;
    let (server, tools) = ctx.block_on(list_tools(ctx, &target))?;
    let (report, upstream) = build_report(args, &target, server, &tools);
    let drafts = match &args.fix_overlay {
        Some(folder) => {
            Some(OverlayDrafts::write(settings, &report, folder, &upstream, args.force)?)
        }
        None => None,
    };
    if args.json {
        print::print_json(ctx, &report, drafts.as_ref())?;
    } else if args.sarif {
        print::print_sarif(
            ctx,
            &report,
            sarif_location(args, settings).as_deref(),
            drafts.as_ref(),
        )?;
    } else {
        print::print_table(ctx, &report, drafts.as_ref())?;
    }
    let is_denied = report.worst_severity().is_some_and(|worst| worst <= args.deny.severity());
    Ok(if is_denied { ExitStatus::Negative } else { ExitStatus::Success })
}

/// Connects, lists the tools and closes the connection, which also ends a started program.
async fn list_tools(
    ctx: &CommandContext,
    target: &CheckTarget,
) -> Result<(ServerInfo, Vec<Value>)> {
    let link = Connection::new(target.options.clone());
    let limit = target.options.connect_timeout + LISTING_TIMEOUT;
    let listed = tokio::time::timeout(limit, async {
        let server = link.connect().await?;
        Ok((server, link.list_tools().await?))
    });
    let listed = match listed.await {
        Ok(listed) => listed.map_err(|error| target.connect_failure(&error)),
        Err(_) => {
            let message = format!("the server did not list its tools within {} s", limit.as_secs());
            Err(Failure::new(message))
        }
    };
    let (stderr, oddities) = (link.stderr_tail(), link.deviations());
    link.close().await;
    if listed.is_err() && !stderr.is_empty() {
        ctx.ui.print_note(format_args!(
            "last output of the server:\n{}\n",
            upstreams::format_stderr_tail(&stderr)
        ));
    }
    let ProtocolDeviations { garbage, .. } = oddities;
    if garbage > 0 {
        ctx.ui.print_note(format_args!(
            "{garbage} lines of its output are not MCP messages; clients may disconnect. Logs belong on standard error.\n"
        ));
    }
    listed
}

/// Returns the report and the upstream name that its remedies and overlays use.
fn build_report(
    args: &CheckArgs,
    target: &CheckTarget,
    server: ServerInfo,
    tools: &[Value],
) -> (ConformanceReport, String) {
    let settings = &*target.settings;
    let name = target.upstream.clone().unwrap_or_else(|| to_upstream_name(&server.name));
    let contracts = match &args.fix_overlay {
        Some(folder) => folder.display().to_string(),
        None => upstreams::display_path(settings, &settings.gateway.contracts),
    };
    let upstream = admit::UpstreamIdentity::new(name.clone()).with_contracts(contracts);
    let ServerInfo { name: server_name, version, protocol, .. } = server;
    let id = ServerId { name: server_name, version, protocol, target: target.location.clone() };
    (ConformanceReport::for_upstream(id, &upstream, tools), name)
}

/// Returns the file of SARIF findings: `--location`, else the configuration file.
fn sarif_location(args: &CheckArgs, settings: &Settings) -> Option<String> {
    let file = || settings.config_file().map(|file| upstreams::display_path(settings, file));
    args.location.clone().or_else(file)
}

//! `vouch check`: the linter for anybody's server. It lists the tools and calls none of them.

mod print;

use std::path::PathBuf;
use std::time::Duration;

use admit::conformance::{Report, ServerId, upstream_name};
use app::check::drafts::Drafts;
use app::check::target::{Target, TargetOptions};
use app::config::Settings;
use app::upstreams;
use clap::ValueEnum;
use link::{Link, Oddities, Server};
use lint::Severity;
use serde_json::Value;

use crate::commands::Context;
use crate::exit::Exit;
use crate::logging;
use crate::report::{Failure, Result};

/// For a listing, on top of the time to connect.
const LISTING_LIMIT: Duration = Duration::from_secs(30);

/// Check what another MCP server says of its tools
///
/// Either a program that is started, after `--`, or the URL of a server, or the name of an upstream in vouch.toml. Its
/// tools are listed and held against the rules of `vouch explain`; none is called.
///
/// A program runs as an upstream does: under Landlock, where it may read this folder, write nothing and use no network,
/// unless --read, --write and --network say otherwise, and with an environment that holds what --env says and what finds
/// programs. Values of --env and --header may refer to secrets: ${NAME} is a variable, ${file:PATH} a file's content;
/// quote them for the shell.
///
/// Exits with 0 if nothing is as bad as --deny says, 1 if something is, 3 if the server cannot be reached.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "vouch check [OPTIONS] <URL|UPSTREAM>\n       vouch check [OPTIONS] -- <COMMAND>...",
    after_help = "\
Examples:
  vouch check -- node server.js
  vouch check --network --write ~/.npm -- npx -y @modelcontextprotocol/server-memory
  vouch check https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'
  vouch check files --deny warning
  vouch check files --sarif > vouch.sarif
  vouch check --fix-overlay contracts -- node server.js"
)]
pub(crate) struct Args {
    /// The server: its URL, or the name of an upstream
    #[arg(
        value_name = "URL|UPSTREAM",
        required_unless_present = "command",
        conflicts_with = "command"
    )]
    server: Option<String>,

    /// The URL speaks the transport of before 2025
    #[arg(long, conflicts_with = "command")]
    sse: bool,

    /// A header of every request, as 'Name: value'
    #[arg(long, value_name = "HEADER", conflicts_with = "command")]
    header: Vec<String>,

    /// A variable of the program's environment
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "server")]
    env: Vec<String>,

    /// A folder that the program may read, instead of this one
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    read: Vec<PathBuf>,

    /// A folder that the program may write
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    write: Vec<PathBuf>,

    /// Let the program use the network
    #[arg(long, conflicts_with = "server")]
    network: bool,

    /// Let the program do everything that you may
    #[arg(long, conflicts_with_all = ["server", "read", "write", "network"])]
    no_sandbox: bool,

    /// How long the server has to start, in seconds [default: 30, or what the upstream's table says]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    timeout: Option<u32>,

    /// The least severity that fails the check
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t)]
    deny: Deny,

    /// Print JSON
    #[arg(long, conflicts_with = "sarif")]
    json: bool,

    /// Print SARIF 2.1.0, for code scanning
    #[arg(long)]
    sarif: bool,

    /// File at which SARIF shows the findings [default: vouch.toml, if there is one]
    ///
    /// Some readers of SARIF, such as GitHub, show only what has a file.
    #[arg(long, value_name = "FILE", requires = "sarif")]
    location: Option<String>,

    /// Write a draft overlay for each tool that needs one, below this folder
    ///
    /// As DIR/<upstream>/<tool>.json. What no program can know is left for a person, and listed.
    #[arg(long, value_name = "DIR")]
    fix_overlay: Option<PathBuf>,

    /// Replace overlays that are there
    #[arg(long, requires = "fix_overlay")]
    force: bool,

    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Args {
    /// The server that the flags name.
    fn target(&self) -> TargetOptions {
        TargetOptions {
            server: self.server.clone(),
            sse: self.sse,
            header: self.header.clone(),
            env: self.env.clone(),
            read: self.read.clone(),
            write: self.write.clone(),
            network: self.network,
            no_sandbox: self.no_sandbox,
            timeout: self.timeout,
            command: self.command.clone(),
        }
    }
}

/// Findings as bad as this fail the check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// What makes a contract unusable or dangerous
    #[default]
    Error,
    /// Also what leaves a caller guessing
    Warning,
    /// Everything
    Note,
}

impl Deny {
    fn severity(self) -> Severity {
        match self {
            Self::Error => Severity::Error,
            Self::Warning => Severity::Warning,
            Self::Note => Severity::Note,
        }
    }
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    logging::init_if_asked(ctx)?;
    let target = Target::of(&ctx.app, &args.target(), settings)?;
    let settings = &*target.settings;
    let (server, tools) = ctx.block_on(listing(ctx, &target))?;
    let (report, upstream) = report(args, &target, server, &tools);
    let drafts = match &args.fix_overlay {
        Some(folder) => Some(Drafts::write(&report, folder, &upstream, args.force)?),
        None => None,
    };
    if args.json {
        print::json(ctx, &report, drafts.as_ref())?;
    } else if args.sarif {
        print::sarif(ctx, &report, location(args, settings).as_deref(), drafts.as_ref())?;
    } else {
        print::table(ctx, &report, drafts.as_ref())?;
    }
    let is_denied = report.worst().is_some_and(|worst| worst <= args.deny.severity());
    Ok(if is_denied { Exit::No } else { Exit::Success })
}

/// Connects, lists, and ends the connection, and with it the program.
async fn listing(ctx: &Context, target: &Target) -> Result<(Server, Vec<Value>)> {
    let link = Link::new(target.options.clone());
    let limit = target.options.connect_timeout + LISTING_LIMIT;
    let listed = tokio::time::timeout(limit, async {
        let server = link.connect().await?;
        Ok((server, link.tools().await?))
    });
    let listed = match listed.await {
        Ok(listed) => listed.map_err(|error| target.unreachable(&error)),
        Err(_) => {
            let message = format!("it did not list its tools within {} s", limit.as_secs());
            Err(Failure::new(message))
        }
    };
    let (said, oddities) = (link.stderr(), link.oddities());
    link.close().await;
    if listed.is_err() && !said.is_empty() {
        ctx.ui.note(format_args!("the last that it said:\n{}\n", upstreams::last_words(&said)));
    }
    let Oddities { garbage, .. } = oddities;
    if garbage > 0 {
        ctx.ui.note(format_args!(
            "{garbage} lines of its output are no messages; clients may stop there. Logs belong on standard error.\n"
        ));
    }
    listed
}

/// The report, and the name that its remedies and overlays go by.
fn report(args: &Args, target: &Target, server: Server, tools: &[Value]) -> (Report, String) {
    let settings = &*target.settings;
    let name = target.upstream.clone().unwrap_or_else(|| upstream_name(&server.name));
    let contracts = match &args.fix_overlay {
        Some(folder) => folder.display().to_string(),
        None => upstreams::shown(settings, &settings.gateway.contracts),
    };
    let upstream = admit::Upstream::new(name.clone()).with_contracts(contracts);
    let Server { name: called, version, protocol, .. } = server;
    let id = ServerId { name: called, version, protocol, target: target.shown.clone() };
    (Report::for_upstream(id, &upstream, tools), name)
}

fn location(args: &Args, settings: &Settings) -> Option<String> {
    let file = || settings.config_file().map(|file| upstreams::shown(settings, file));
    args.location.clone().or_else(file)
}

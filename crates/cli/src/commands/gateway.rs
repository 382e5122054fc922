//! `vouch gateway`: serves the tools of upstream servers that keep their contracts, over HTTP, REST or stdio.

mod banner;

use std::sync::Arc;

use app::config::ToolPack;
use app::serving::{ConfigReloader, ServingThreads, serve_gateway};
use app::upstreams;
use gateway::Gateway;
use runtime::Catalog;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::{Failure, Result};
use crate::serving::{self, ServerArgs, show_banner};
use crate::values;

const DEFAULT_PORT: u16 = 8379;

/// Serve the tools of other MCP servers, enforcing their contracts
///
/// The upstream servers are configured in vouch.toml (see `vouch upstream add`). Their tools are named
/// `<server>__<tool>`. A tool without a valid contract is not served, nor is one whose definition differs from its pin in
/// vouch.lock; run `vouch upstream tools` to see the reasons. The arguments and the result of every call are checked
/// against the contract.
///
/// Over HTTP, serves MCP at /mcp, REST below /v1/tools, /openapi.json, /metrics, /healthz
/// and /readyz. With --stdio, serves MCP
/// on standard input and output, for a client that starts `vouch`.
///
/// On Ctrl-C or SIGTERM, finishes the running calls and stops the upstream servers; a second signal stops immediately. SIGHUP
/// reloads the configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch gateway
  vouch gateway --stdio
  vouch gateway --packs repo,context
  vouch gateway --learn")]
pub(crate) struct GatewayArgs {
    /// Port to listen on; 0 chooses a free port [default: 8379]
    #[arg(long, value_name = "PORT", conflicts_with = "stdio")]
    port: Option<u16>,

    #[command(flatten)]
    server: ServerArgs,

    /// Built-in tool packs to serve as well, separated by commas [default: none]
    #[arg(long, value_name = "PACK", value_parser = values::pack_parser(), value_delimiter = ',')]
    packs: Vec<ToolPack>,

    /// Keep samples of answers, for `vouch learn`
    ///
    /// They are stored in the state folder, which neither tools nor sandboxed servers can read.
    #[arg(long)]
    learn: bool,
}

pub(crate) fn run_gateway(ctx: &CommandContext, args: GatewayArgs) -> Result<ExitStatus> {
    let GatewayArgs { port, server, packs, learn } = args;
    if packs.contains(&ToolPack::Campaign) {
        return Err(Failure::usage("the gateway does not support the `campaign` pack")
            .with_hint("add it as an upstream: vouch upstream add fuzz --no-sandbox -- vouch serve --stdio --packs campaign"));
    }
    let layer = server.to_layer(port).with_packs(packs).with_default_port(DEFAULT_PORT);
    let settings = Arc::new(ctx.app.settings_with(layer.clone())?);
    let mut options = upstreams::resolve_upstreams(&ctx.app, &settings, &[])?.require_all()?;
    let new_token = server.create_missing_token(&settings)?;
    options.samples = learn.then(|| upstreams::samples_folder(&settings));
    serving::run_server(ctx, &settings, &server, ServingThreads::HalfOfCores, async |signals| {
        let banner = |gateway: &Gateway, catalog: &Catalog, address| {
            show_banner(ctx, address, |address| {
                let token = new_token.as_ref();
                banner::print_banner(ctx, &settings, gateway, catalog, address, token);
            });
        };
        let reloader = ConfigReloader { app: &ctx.app, flags: layer };
        serve_gateway(reloader, &settings, server.stdio, options, banner, signals).await
    })
}

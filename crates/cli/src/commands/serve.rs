//! `vouch serve`: serves the tools of this project over streamable HTTP and REST, or over stdio.

mod banner;
mod campaign;

use app::config::ToolPack;
use app::serving::{ConfigReloader, ServingThreads, serve_project};
use runtime::Catalog;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::Result;
use crate::serving::{self, ServerArgs, show_banner};
use crate::values;
pub(crate) use banner::{write_connect_help, write_header, write_token};
use campaign::ServeCampaignArgs;

/// Serve the tools of this project over MCP
///
/// Over HTTP, serves MCP at /mcp, REST below /v1/tools, /openapi.json, /metrics, /healthz
/// and /readyz. With --stdio, serves MCP
/// on standard input and output, for a client that starts `vouch`.
///
/// With --packs campaign, runs fuzz campaigns and serves tools that observe and steer them.
///
/// On Ctrl-C or SIGTERM, finishes the running calls; a second signal stops immediately. SIGHUP reloads the
/// configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch serve
  vouch serve --port 0
  vouch serve --stdio
  vouch serve --host 0.0.0.0 --token-file ~/vouch-tokens
  vouch serve --stdio --packs campaign --target contracts/Token.sol --corpus-dir corpus")]
pub(crate) struct ServeArgs {
    /// Port to listen on; 0 chooses a free port [default: 8377]
    #[arg(long, value_name = "PORT", conflicts_with = "stdio")]
    port: Option<u16>,

    #[command(flatten)]
    server: ServerArgs,

    /// Tool packs to serve, separated by commas; overrides the configuration
    #[arg(long, value_name = "PACK", value_parser = values::pack_parser(), value_delimiter = ',')]
    packs: Vec<ToolPack>,

    #[command(flatten)]
    campaign: ServeCampaignArgs,
}

pub(crate) fn run_serve(ctx: &CommandContext, args: ServeArgs) -> Result<ExitStatus> {
    let ServeArgs { port, server, packs, campaign } = args;
    let mut layer = server.to_layer(port);
    if !packs.is_empty() {
        layer = layer.with_packs(packs);
    }
    let mut settings = ctx.app.settings_with(layer.clone())?;
    campaign.apply_to(&mut settings)?;
    let new_token = server.create_missing_token(&settings)?;
    serving::run_server(ctx, &settings, &server, ServingThreads::EveryCore, async |signals| {
        let banner = |catalog: &Catalog, address| {
            show_banner(ctx, address, |address| {
                banner::print_banner(ctx, &settings, catalog, address, new_token.as_ref());
            });
        };
        let reloader = ConfigReloader { app: &ctx.app, flags: layer };
        serve_project(reloader, &settings, server.stdio, banner, signals).await
    })
}

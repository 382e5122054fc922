//! `vouch serve`: the tools of this folder, over streamable HTTP and REST, or over stdio.

mod banner;
mod campaign;

use app::config::Pack;
use app::serving::{Threads, serve_project};
use runtime::Catalog;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::Result;
use crate::serving::{self, DoorFlags, show_banner};
use crate::values;
pub(crate) use banner::{connect, head};
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
    /// Port to listen on; 0 takes a free one [default: 8377]
    #[arg(long, value_name = "PORT", conflicts_with = "stdio")]
    port: Option<u16>,

    #[command(flatten)]
    door: DoorFlags,

    /// Which tools to offer, whatever the configuration says; several are separated by commas
    #[arg(long, value_name = "PACK", value_parser = values::pack(), value_delimiter = ',')]
    packs: Vec<Pack>,

    #[command(flatten)]
    campaign: CampaignFlags,
}

pub(crate) fn run(ctx: &Context, args: Args) -> Result<Exit> {
    let Args { port, door, packs, campaign } = args;
    let mut layer = door.layer(port);
    if !packs.is_empty() {
        layer = layer.with_packs(packs);
    }
    let mut settings = ctx.app.settings_with(layer)?;
    campaign.apply(&mut settings)?;
    serving::run(ctx, &settings, &door, Threads::EveryCore, async |stop| {
        let banner = |catalog: &Catalog, address| {
            show_banner(ctx, address, |address| banner::print(ctx, &settings, catalog, address));
        };
        serve_project(&ctx.app, &settings, door.stdio, banner, stop).await
    })
}

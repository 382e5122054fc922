//! `vouch gateway`: the tools of other servers, those of them that keep their contracts, through every front door.

mod banner;

use std::sync::Arc;

use app::config::Pack;
use app::serving::{Threads, serve_gateway};
use app::upstreams;
use gateway::Gateway;
use runtime::Catalog;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Failure, Result};
use crate::serving::{self, DoorFlags, show_banner};
use crate::values;

const PORT: u16 = 8379;

/// Serve the tools of other servers that keep their contracts
///
/// The servers are named in vouch.toml (vouch upstream add). Their tools are called <server>__<tool>. A tool without a
/// sound contract, or whose definition changed since it was pinned in vouch.lock, is not offered; `vouch upstream tools`
/// says why. What goes in and what comes out is checked against the contract, each time.
///
/// Over HTTP: MCP at /mcp, REST below /v1/tools, /openapi.json, /metrics and /healthz. With --stdio: MCP on standard
/// input and output, for a client that starts `vouch` itself.
///
/// Ctrl-C or SIGTERM finishes the calls in flight; a second one stops at once. The servers that it started end with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch gateway
  vouch gateway --stdio
  vouch gateway --packs repo,context
  vouch gateway --learn")]
pub(crate) struct Args {
    /// Port to listen on; 0 takes a free one [default: 8379]
    #[arg(long, value_name = "PORT", conflicts_with = "stdio")]
    port: Option<u16>,

    #[command(flatten)]
    door: DoorFlags,

    /// Tools of our own to offer as well; several are separated by commas [default: none]
    #[arg(long, value_name = "PACK", value_parser = values::pack(), value_delimiter = ',')]
    packs: Vec<Pack>,

    /// Keep answers to draft contracts from, for `vouch learn`
    ///
    /// They lie in the state folder, which no tool and no server in its sandbox can read.
    #[arg(long)]
    learn: bool,
}

pub(crate) fn run(ctx: &Context, args: Args) -> Result<Exit> {
    let Args { port, door, packs, learn } = args;
    if packs.contains(&Pack::Campaign) {
        return Err(Failure::usage("campaigns are served by `vouch serve` and `vouch fuzz`")
            .with_hint("as an upstream of this gateway: vouch upstream add fuzz --no-sandbox -- vouch serve --stdio --packs campaign"));
    }
    let layer = door.layer(port).with_packs(packs).with_default_port(PORT);
    let settings = Arc::new(ctx.app.settings_with(layer)?);
    let mut options = upstreams::lower(&ctx.app, &settings, &[])?.complete()?;
    options.samples = learn.then(|| upstreams::samples(&settings));
    serving::run(ctx, &settings, &door, Threads::HalfTheCores, async |stop| {
        let banner = |gateway: &Gateway, catalog: &Catalog, address| {
            show_banner(ctx, address, |address| {
                banner::print(ctx, &settings, gateway, catalog, address);
            });
        };
        serve_gateway(&ctx.app, &settings, door.stdio, options, banner, stop).await
    })
}

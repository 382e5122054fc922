//! `vouch gateway`: the tools of other servers, those of them that keep their contracts, through every front door.

mod banner;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use app::config::{Pack, Settings};
use app::project::{self, Project};
use app::serving::{Threads, Welcome, doors};
use app::upstreams;
use gateway::Gateway;
use runtime::Pipeline;
use runtime::doors::mcp::Face;
use tokio_util::sync::CancellationToken;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Failure, Result};
use crate::serving::{self, DoorFlags, show_banner};
use crate::values;

const PORT: u16 = 8379;
/// How long servers are waited for before clients are let in; who comes later joins later.
const SETTLE: Duration = Duration::from_secs(3);
/// How often it is seen who came later.
const PACE: Duration = Duration::from_millis(500);

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
        serve(ctx, &settings, &door, options, stop).await
    })
}

async fn serve(
    ctx: &Context,
    settings: &Arc<Settings>,
    door: &DoorFlags,
    options: gateway::Options,
    stop: CancellationToken,
) -> Result {
    let (gateway, project) = project::with_upstreams(settings, options).await?;
    let Project { pipeline, context, .. } = &project;
    gateway.keep(pipeline);
    tokio::select! {
        () = stop.cancelled() => {}
        () = gateway.settle(SETTLE) => {}
    }
    gateway.publish(pipeline);
    let served = async {
        upstreams::check(&ctx.app, settings, &gateway, &pipeline.catalog())?;
        let missing = upstreams::absent(settings, Some(&gateway));
        if let Some(pack) = context {
            pack.start();
        }
        let welcome = Welcome {
            face: face(&gateway, settings),
            port_flag: "vouch gateway --port",
            banner: |address| {
                show_banner(ctx, address, |address| {
                    banner::print(ctx, settings, &gateway, &pipeline.catalog(), address);
                });
            },
        };
        let mut served = pin!(doors(settings, door.stdio, pipeline, welcome, stop.clone()));
        tokio::select! {
            served = &mut served => served,
            wrong = latecomers(ctx, settings, &gateway, pipeline, missing) => {
                // Who is in the middle of a call gets an answer.
                stop.cancel();
                served.await.and(Err(wrong))
            }
        }
    };
    let served = served.await;
    pipeline.drain().await;
    gateway.close().await;
    served
}

/// Holds the configuration against servers that come after clients were let in. What would have stopped the start stops
/// it now: a rule that reads what no tool has would deny calls, or let them pass, and nobody would know why.
async fn latecomers(
    ctx: &Context,
    settings: &Settings,
    gateway: &Gateway,
    pipeline: &Pipeline,
    mut missing: Vec<&str>,
) -> Failure {
    while !missing.is_empty() {
        tokio::time::sleep(PACE).await;
        let still = upstreams::absent(settings, Some(gateway));
        if still == missing {
            continue;
        }
        missing = still;
        gateway.publish(pipeline);
        if let Err(wrong) = upstreams::check(&ctx.app, settings, gateway, &pipeline.catalog()) {
            tracing::error!("{}; it stops here", wrong.one_line());
            return wrong;
        }
    }
    std::future::pending().await
}

/// What it says it is.
fn face(gateway: &Gateway, settings: &Settings) -> Face {
    let names: Vec<_> = gateway.upstreams().iter().map(|upstream| upstream.name()).collect();
    let separator = &settings.gateway.separator;
    let face = project::face(settings);
    Face {
        instructions: Some(format!(
            "Tools of several MCP servers ({}), each called <server>{separator}<tool>. Every call and every answer is \
             checked against the tool's contract; a refused call says which rule it broke and what to change. Some calls \
             wait for a person's approval.",
            names.join(", ")
        )),
        ..face
    }
}

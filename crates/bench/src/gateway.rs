//! Time that a gateway adds to a call: ours with both validations on, next to peers that validate nothing.
//!
//! One client makes one call at a time to one tool with a small answer. Every front of a server is started once and kept;
//! each round measures all fronts, in a different order. "Added" is the difference to the server called directly in the
//! same round, over the transport that the gateway uses to reach it: a gateway with HTTP in front of a stdio server pays
//! for the other transport too. Processor time is that of the gateway and its children, without the upstream server.
//!
//! In favor of the peers: they do not log, check no schema, keep no record, limit no rate, use no sandbox, and need no
//! output schema for `echo`. Ours has all of it on; only the rate limit is raised, by an overlay.

mod client;
mod config;
mod front;
mod peers;
mod scale;
mod session;
mod table;
mod tree;
mod upstream;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use self::front::{FRONTS, Front, RunningFront};
use self::peers::GatewayPeers;
use self::table::{GatewayRow, RoundFigures};
use self::upstream::{GatewayScene, Upstream, UpstreamKind};
use xtask::command::run as run_command;

use crate::dist::{binary_path, build_command};

/// Calls before the clock runs.
const WARM_UP: usize = 200;
/// Calls of one build before it is the turn of the other one.
const BLOCK_CALLS: usize = 250;
/// Time limit of the warm-up; a peer that takes a tenth of a second per call gets fewer calls.
const WARM_UP_LIMIT: Duration = Duration::from_secs(5);

const UPSTREAMS: [Upstream; 4] = [
    Upstream { kind: UpstreamKind::Everything, http: false },
    Upstream { kind: UpstreamKind::Everything, http: true },
    Upstream { kind: UpstreamKind::Own, http: false },
    Upstream { kind: UpstreamKind::Own, http: true },
];

#[derive(clap::Args)]
pub(crate) struct GatewayArgs {
    /// Calls in each round
    #[arg(long, default_value_t = 2_000)]
    calls: usize,
    /// Rounds, interleaved between the gateways; the median counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Maximum seconds of a round
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Protocol revision of clients with a handshake over HTTP; since 2025-11-25 servers begin each answer with an event
    /// to resume from, which takes server-everything a millisecond
    #[arg(long, value_name = "DATE", default_value = "2025-06-18")]
    revision: String,
    /// Measure only servers whose names contain this: `HTTP`, `everything`
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Use the binaries in this folder; build nothing
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,
    /// Compare with the gateway of an earlier build in this folder, in short turns, and leave out the peers; the servers
    /// behind them are those of this build
    #[arg(long, value_name = "DIR")]
    before: Option<PathBuf>,
}

pub(crate) fn run_gateway_bench(args: &GatewayArgs) -> Result<()> {
    let binaries = match &args.binaries {
        Some(folder) => folder.canonicalize()?,
        None => {
            run_command(build_command(&["-p", "cli", "-p", "testkit", "--bins"]))?;
            binary_path("")
        }
    };
    let before = args.before.as_ref().map(|folder| folder.canonicalize()).transpose()?;
    let peers = match before {
        Some(_) => GatewayPeers::default(),
        None => GatewayPeers::install()?,
    };
    let scene = GatewayScene::new(binaries, before, &args.revision)?;
    let mut rows = Vec::new();
    for upstream in UPSTREAMS.into_iter().filter(|it| it.name().contains(&args.only)) {
        rows.extend(compare_fronts(&scene, &peers, upstream, args)?);
    }
    println!("\n{}", table::format_table(&rows));
    print!("{}", table::format_verdict(&rows));
    if args.before.is_none() {
        println!("{}", scale::check_scale_goals(&scene));
    }
    Ok(())
}

/// Measures all fronts of one server. A front that does not start is left out, with a message.
fn compare_fronts(
    scene: &GatewayScene,
    peers: &GatewayPeers,
    upstream: Upstream,
    args: &GatewayArgs,
) -> Result<Vec<GatewayRow>> {
    let mut running: Vec<(Front, RunningFront, Vec<RoundFigures>)> = Vec::new();
    let is_measured = |front: &Front| match scene.before {
        Some(_) => !front.is_peer(),
        None => !matches!(front, Front::Before(_)),
    };
    for front in FRONTS.into_iter().filter(is_measured) {
        eprintln!(
            "{}: starting {} over {}",
            upstream.name(),
            front.name(),
            front.transport(upstream)
        );
        match start_front(scene, peers, upstream, front) {
            Ok(started) => running.push((front, started, Vec::new())),
            Err(error) => println!(
                "    left out: {} over {} before {}: {error:#}",
                front.name(),
                front.transport(upstream),
                upstream.name()
            ),
        }
    }
    // Two builds take turns in short blocks, so that both meet the same load of the machine.
    let (rounds, calls) = match scene.before {
        Some(_) => ((args.calls * args.rounds).div_ceil(BLOCK_CALLS), BLOCK_CALLS),
        None => (args.rounds, args.calls),
    };
    for round in 0..rounds {
        eprintln!("{}: round {} of {rounds}", upstream.name(), round + 1);
        let count = running.len();
        for index in 0..count {
            let at = match scene.before {
                // The builds of a pair are neighbors, and the one that begins alternates.
                Some(_) if round % 2 == 0 => index,
                Some(_) => count - 1 - index,
                None => (index + round) % count,
            };
            let (_, running, figures) = &mut running[at];
            figures.push(measure_round(running, upstream, calls, args.seconds)?);
        }
    }
    let direct: Vec<RoundFigures> = running
        .iter()
        .find(|(front, ..)| *front == Front::Direct)
        .map(|(_, _, figures)| figures.clone())
        .unwrap_or_default();
    let rows = running.iter().map(|(front, _, figures)| {
        let earlier = running.iter().find(|(other, ..)| other.is_before(*front));
        let earlier = earlier.map(|(_, _, figures)| &figures[..]);
        GatewayRow::new(upstream, *front, figures, &direct, earlier)
    });
    Ok(rows.collect())
}

fn start_front(
    scene: &GatewayScene,
    peers: &GatewayPeers,
    upstream: Upstream,
    front: Front,
) -> Result<RunningFront> {
    let mut running = front.start(scene, peers, upstream)?;
    let arguments = upstream.kind.tool().1;
    running.client.run_calls_for(&running.tool, &arguments, WARM_UP, WARM_UP_LIMIT)?;
    Ok(running)
}

fn measure_round(
    running: &mut RunningFront,
    upstream: Upstream,
    calls: usize,
    seconds: u64,
) -> Result<RoundFigures> {
    let arguments = upstream.kind.tool().1;
    let usage =
        |running: &RunningFront| running.tree.as_ref().map(tree::ProcessTree::usage).transpose();
    let before = usage(running)?.unwrap_or_default();
    let limit = Duration::from_secs(seconds);
    let sample = running.client.run_calls_for(&running.tool, &arguments, calls, limit)?;
    let after = usage(running)?.unwrap_or_default();
    Ok(RoundFigures {
        calls: sample.calls,
        p50: sample.quantile_us(0.5),
        p99: sample.quantile_us(0.99),
        cpu: (after.cpu - before.cpu) * 1e6 / sample.calls as f64,
        resident: after.own_mb,
    })
}

//! What a gateway adds to a call: ours with both validations on, beside peers that validate nothing.
//!
//! One client, one call after the other, one tool with a small answer: what is measured is the way through. Every front of
//! a server is started once and stays; rounds go from front to front, each time in another order. "Added" is the
//! difference to the server called directly in the same round, over the same door as behind the gateway: a gateway with
//! HTTP in front of a server over stdio pays for the other door, too. Processor time is that of the gateway and what it
//! started, without the server behind.
//!
//! In favour of the peers: they log nothing, check no schema, keep no record and no rate, run the server in no sandbox, and
//! need no output schema for `echo`. Ours has all of it on; only the rate is raised, by an overlay.

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

use self::front::{FRONTS, Front, Running};
use self::peers::Peers;
use self::table::{Figures, Row};
use self::upstream::{Kind, Scene, Upstream};
use xtask::command::run as run_command;

use crate::dist::{binary_path, build_command};

/// Calls before the clock runs.
const WARM_UP: usize = 200;
/// A peer that takes a tenth of a second for a call gets fewer calls.
const WARM_UP_LIMIT: Duration = Duration::from_secs(5);

const UPSTREAMS: [Upstream; 4] = [
    Upstream { kind: Kind::Everything, http: false },
    Upstream { kind: Kind::Everything, http: true },
    Upstream { kind: Kind::Own, http: false },
    Upstream { kind: Kind::Own, http: true },
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Calls in each round
    #[arg(long, default_value_t = 2_000)]
    calls: usize,
    /// Rounds, interleaved between the gateways; the median counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// A round ends after so many seconds, too
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// The revision of clients with a handshake over HTTP; from 2025-11-25 on, servers begin each answer with an event
    /// to resume from, for which server-everything takes a millisecond
    #[arg(long, value_name = "DATE", default_value = "2025-06-18")]
    revision: String,
    /// Only the servers whose names hold this: `HTTP`, `everything`
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Take the binaries of this folder and build nothing
    #[arg(long, value_name = "DIR")]
    binaries: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let binaries = match &args.binaries {
        Some(folder) => folder.canonicalize()?,
        None => {
            run_command(build_command(&["-p", "cli", "-p", "testkit", "--bins"]))?;
            binary_path("")
        }
    };
    let peers = Peers::install()?;
    let scene = Scene::new(binaries, &args.revision)?;
    let mut rows = Vec::new();
    for upstream in UPSTREAMS.into_iter().filter(|it| it.name().contains(&args.only)) {
        rows.extend(compare(&scene, &peers, upstream, args)?);
    }
    println!("\n{}", table::table(&rows));
    print!("{}", table::verdict(&rows));
    println!("{}", scale::run(&scene));
    Ok(())
}

/// All fronts of one server. One that does not start is left out, and a line says so.
fn compare(scene: &Scene, peers: &Peers, upstream: Upstream, args: &Args) -> Result<Vec<Row>> {
    let mut running: Vec<(Front, Running, Vec<Figures>)> = Vec::new();
    for front in FRONTS {
        eprintln!("{}: starting {} over {}", upstream.name(), front.name(), front.door(upstream));
        match start(scene, peers, upstream, front) {
            Ok(started) => running.push((front, started, Vec::new())),
            Err(error) => println!(
                "    left out: {} over {} before {}: {error:#}",
                front.name(),
                front.door(upstream),
                upstream.name()
            ),
        }
    }
    for round in 0..args.rounds {
        eprintln!("{}: round {}", upstream.name(), round + 1);
        let count = running.len();
        for index in 0..count {
            let (_, running, figures) = &mut running[(index + round) % count];
            figures.push(measure(running, upstream, args)?);
        }
    }
    let direct: Vec<Figures> = running
        .iter()
        .find(|(front, ..)| *front == Front::Direct)
        .map(|(_, _, figures)| figures.clone())
        .unwrap_or_default();
    Ok(running
        .into_iter()
        .map(|(front, _, figures)| Row::new(upstream, front, &figures, &direct))
        .collect())
}

fn start(scene: &Scene, peers: &Peers, upstream: Upstream, front: Front) -> Result<Running> {
    let mut running = front.start(scene, peers, upstream)?;
    let arguments = upstream.kind.tool().1;
    running.client.run_for(&running.tool, &arguments, WARM_UP, WARM_UP_LIMIT)?;
    Ok(running)
}

fn measure(running: &mut Running, upstream: Upstream, args: &Args) -> Result<Figures> {
    let arguments = upstream.kind.tool().1;
    let usage = |running: &Running| running.tree.as_ref().map(tree::Tree::usage).transpose();
    let before = usage(running)?.unwrap_or_default();
    let limit = Duration::from_secs(args.seconds);
    let sample = running.client.run_for(&running.tool, &arguments, args.calls, limit)?;
    let after = usage(running)?.unwrap_or_default();
    Ok(Figures {
        calls: sample.calls,
        p50: sample.quantile_us(0.5),
        p99: sample.quantile_us(0.99),
        cpu: (after.cpu - before.cpu) * 1e6 / sample.calls as f64,
        resident: after.own_mb,
    })
}

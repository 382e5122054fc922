//! The fuzzer beside forge, Echidna and the bare `revm` loop, on the same contracts, for each second of processor time.
//!
//! vouch is measured as its users meet it: the shipped profile with what the compiler wrote. `peers` brings the others,
//! `subjects` the contracts, `tools` starts each and reads what it says, `measured` takes the time. Each other module is a
//! part of the report.

mod breaks;
mod daedaluzz;
mod measured;
mod memory;
mod observer;
pub(super) mod peers;
pub(super) mod prepare;
mod rates;
pub(super) mod report;
pub(super) mod subjects;
pub(super) mod tools;
mod workers;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Context, Result, anyhow};
use tempfile::TempDir;

use self::peers::Peers;
use self::rates::Target;
use self::report::{Part, Report};
use self::subjects::{BREAKABLE, HOLDING, Subject};
use xtask::command::root;

use crate::dist::build_command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A checkout of Consensys/daedaluzz; without it nothing is measured on mazes
    #[arg(long, value_name = "DIR")]
    daedaluzz: Option<PathBuf>,
    /// Seeds for each contract that is to be broken; Daedaluzz has five of them at most, Echidna three
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Only these parts
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "rates,breaks,daedaluzz,workers,memory,observer"
    )]
    only: Vec<Which>,
    /// Seconds of processor time that a run may take to break a property
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// How long memory is watched; Daedaluzz runs beside it
    #[arg(long, default_value_t = 10.0, value_parser = minutes)]
    minutes: f64,
    /// One JSON document instead of tables
    #[arg(long)]
    json: bool,
    /// Use the binaries in target/dist; build nothing
    #[arg(long)]
    no_build: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    Rates,
    Breaks,
    Daedaluzz,
    Workers,
    Memory,
    Observer,
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok().filter(|minutes| (0.05..=1440.0).contains(minutes));
    minutes.ok_or_else(|| "expected minutes from 0.05 to 1440".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_build {
        prepare::run(build_command(&["-p", "cli", "--bin", "vouch"]))?;
        prepare::run(build_command(&["-p", "fuzz", "--example", "bench"]))?;
    }
    let peers = Peers::install()?;
    let report = Bench::new(args, peers)?.report()?;
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => println!("\n{}", report.markdown()),
    }
    Ok(())
}

struct Bench<'a> {
    args: &'a Args,
    peers: Peers,
    /// Where contracts and what was made of them lie while the run lasts.
    work: TempDir,
    /// Those whose property holds, the largest last.
    holding: Vec<Subject>,
}

impl<'a> Bench<'a> {
    fn new(args: &'a Args, peers: Peers) -> Result<Self> {
        let bench = root().join("target/bench");
        fs::create_dir_all(&bench)?;
        let work = TempDir::with_prefix_in("fuzz-", bench)?;
        let own = |source| Subject::own(&peers, work.path(), source);
        let mut holding: Vec<Subject> = HOLDING.iter().map(own).collect::<Result<_>>()?;
        if let Some(daedaluzz) = &args.daedaluzz {
            holding.push(Subject::maze_with_property(&peers, work.path(), daedaluzz, 0)?);
        }
        Ok(Self { args, peers, work, holding })
    }

    fn report(&self) -> Result<Report> {
        let mut parts = Vec::new();
        if self.wants(Which::Rates) {
            parts.push(rates::run(&self.peers, &self.targets(), load_average()?)?);
        }
        if self.wants(Which::Breaks) {
            parts.push(self.breaks()?);
        }
        let largest = self.holding.last().context("there are contracts that hold")?;
        if self.wants(Which::Workers) {
            parts.push(workers::run(largest, load_average()?)?);
        }
        if self.wants(Which::Observer) {
            parts.push(observer::run(largest, load_average()?)?);
        }
        parts.extend(self.long_parts(largest)?);
        let cores = thread::available_parallelism()?.get();
        Ok(Report { cores, missing: self.missing(), parts })
    }

    fn wants(&self, part: Which) -> bool {
        self.args.only.contains(&part)
    }

    /// Calls that take vouch, and Echidna, some seconds.
    fn targets(&self) -> Vec<Target<'_>> {
        let calls = [(2_000_000, 12_000), (1_000_000, 6_000), (1_000_000, 2_000)];
        let targets = self.holding.iter().zip(calls).enumerate();
        let target = |(index, (subject, (calls, echidna_calls)))| Target {
            subject,
            calls,
            echidna_calls,
            is_maze: index >= HOLDING.len(),
        };
        targets.map(target).collect()
    }

    fn breaks(&self) -> Result<Part> {
        let own = |source| Subject::own(&self.peers, self.work.path(), source);
        let subjects: Vec<Subject> = BREAKABLE.iter().map(own).collect::<Result<_>>()?;
        let Args { seeds, limit, .. } = *self.args;
        breaks::run(&self.peers, &subjects, seeds, limit, load_average()?)
    }

    /// Memory needs ten minutes and no quiet, Daedaluzz counts processor time: they share the machine.
    fn long_parts(&self, largest: &Subject) -> Result<Vec<Part>> {
        let load = load_average()?;
        let minutes = self.args.minutes;
        thread::scope(|scope| {
            let memory = self
                .wants(Which::Memory)
                .then(|| scope.spawn(move || memory::run(largest, minutes, load)));
            let daedaluzz = self.args.daedaluzz.as_deref();
            let daedaluzz = daedaluzz.filter(|_| self.wants(Which::Daedaluzz));
            let daedaluzz = daedaluzz.map(|folder| self.daedaluzz(folder, load)).transpose()?;
            let memory = memory.map(join).transpose()?;
            Ok(daedaluzz.into_iter().chain(memory).collect())
        })
    }

    fn daedaluzz(&self, folder: &Path, load: f64) -> Result<Part> {
        let maze = |number| Subject::maze(&self.peers, self.work.path(), folder, number);
        let mazes: Vec<Subject> = (0..daedaluzz::MAZES).map(maze).collect::<Result<_>>()?;
        daedaluzz::run(&mazes, self.args.seeds, load)
    }

    fn missing(&self) -> Vec<String> {
        let peers = [("forge", &self.peers.forge), ("Echidna", &self.peers.echidna)];
        let missing = peers
            .iter()
            .filter_map(|(name, peer)| peer.as_ref().err().map(|error| format!("{name}: {error}")));
        let mazes = "Daedaluzz: give a checkout of Consensys/daedaluzz with --daedaluzz DIR";
        let mazes = self.args.daedaluzz.is_none().then(|| mazes.to_owned());
        missing.chain(mazes).collect()
    }
}

fn join(thread: ScopedJoinHandle<'_, Result<Part>>) -> Result<Part> {
    thread.join().map_err(|_| anyhow!("watching memory crashed"))?
}

/// Of the last minute.
pub(super) fn load_average() -> Result<f64> {
    let text = fs::read_to_string("/proc/loadavg").context("the load of this machine")?;
    let first = text.split_whitespace().next().context("/proc/loadavg is empty")?;
    Ok(first.parse()?)
}

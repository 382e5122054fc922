//! The fuzzer next to forge, Echidna and a bare `revm` loop, on the same smart contracts, per second of processor time.
//!
//! vouch is measured as users run it: the shipped profile, on the compiler's output. `peers` installs the other tools,
//! `subjects` prepares the smart contracts, `tools` runs a tool and parses its output, `measured` takes the time. Each
//! other module is a part of the report.

mod breaks;
mod daedaluzz;
mod handlers;
mod measured;
mod memory;
mod observer;
pub(super) mod peers;
pub(super) mod prepare;
mod rates;
pub(super) mod report;
mod scfuzzbench;
pub(super) mod subjects;
pub(super) mod tools;
mod workers;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{self, ScopedJoinHandle};

use anyhow::{Context, Result, anyhow};
use tempfile::TempDir;

use self::peers::FuzzPeers;
use self::rates::RateTarget;
use self::report::{BenchReport, ReportPart};
use self::scfuzzbench::PublicBench;
use self::subjects::{BREAKABLE, FuzzSubject, HOLDING};
use xtask::command::root;

use crate::dist::build_command;

/// Seeds without `--seeds`, and those for public targets.
const SEEDS: u64 = 10;
const PUBLIC_SEEDS: u64 = 3;

#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// A checkout of Consensys/daedaluzz; without it mazes are left out
    #[arg(long, value_name = "DIR")]
    daedaluzz: Option<PathBuf>,
    /// Compare the invariant suites of the Foundry projects in this folder with forge, and run nothing else
    ///
    /// A suite that breaks in less than --limit seconds must break with both.
    #[arg(long, value_name = "DIR")]
    handlers: Option<PathBuf>,
    /// Run the public targets of scfuzzbench that are in this folder, and nothing else
    ///
    /// Each is run with its own harness and echidna.yaml. A run that was ended continues with its corpus and its time. Results
    /// are kept below target/bench/scfuzzbench, for each build of vouch, commit and seed.
    #[arg(long, value_name = "DIR", conflicts_with = "handlers")]
    scfuzzbench: Option<PathBuf>,
    /// Processor time for each public target and seed, in minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 5.0, value_parser = parse_minutes)]
    cpu_minutes: f64,
    /// Run only this public target; can be repeated
    #[arg(long, value_name = "NAME", value_parser = scfuzzbench::target_names(), requires = "scfuzzbench")]
    target: Vec<String>,
    /// Seeds for each breakable smart contract, at most five for Daedaluzz and three for Echidna; or for each public target
    /// [default: 10, or 3 with --scfuzzbench]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// Run only these parts
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "rates,breaks,daedaluzz,workers,memory,observer"
    )]
    only: Vec<FuzzPart>,
    /// Seconds of processor time that a run may take to break a property
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Minutes to watch memory; Daedaluzz runs at the same time
    #[arg(long, default_value_t = 10.0, value_parser = parse_minutes)]
    minutes: f64,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
    /// Use the binaries in target/dist; build nothing
    #[arg(long)]
    no_build: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FuzzPart {
    Rates,
    Breaks,
    Daedaluzz,
    Workers,
    Memory,
    Observer,
}

fn parse_minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok().filter(|minutes| (0.05..=1440.0).contains(minutes));
    minutes.ok_or_else(|| "expected minutes from 0.05 to 1440".to_owned())
}

pub(crate) fn run_fuzz_bench(args: &FuzzArgs) -> Result<()> {
    if let Some(folder) = &args.handlers {
        return handlers::compare_handler_suites(folder, args.limit);
    }
    if !args.no_build {
        prepare::run_quietly(build_command(&["-p", "cli", "--bin", "vouch"]))?;
        if args.scfuzzbench.is_none() {
            prepare::run_quietly(build_command(&["-p", "fuzz", "--example", "bench"]))?;
        }
    }
    let report = match &args.scfuzzbench {
        Some(folder) => scfuzzbench::run_public_targets(&PublicBench {
            folder,
            wanted: &args.target,
            seeds: args.seeds.unwrap_or(PUBLIC_SEEDS),
            budget: args.cpu_minutes * 60.0,
        })?,
        None => FuzzBench::new(args, FuzzPeers::install()?)?.report()?,
    };
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => println!("\n{}", report.to_markdown()),
    }
    Ok(())
}

struct FuzzBench<'a> {
    args: &'a FuzzArgs,
    peers: FuzzPeers,
    /// Folder with the sources and builds of this run.
    work: TempDir,
    /// Subjects whose property holds, the largest last.
    holding: Vec<FuzzSubject>,
}

impl<'a> FuzzBench<'a> {
    fn new(args: &'a FuzzArgs, peers: FuzzPeers) -> Result<Self> {
        let bench = root().join("target/bench");
        fs::create_dir_all(&bench)?;
        let work = TempDir::with_prefix_in("fuzz-", bench)?;
        let own = |source| FuzzSubject::from_source(&peers, work.path(), source);
        let mut holding: Vec<FuzzSubject> = HOLDING.iter().map(own).collect::<Result<_>>()?;
        if let Some(daedaluzz) = &args.daedaluzz {
            holding.push(FuzzSubject::from_maze_with_property(&peers, work.path(), daedaluzz, 0)?);
        }
        Ok(Self { args, peers, work, holding })
    }

    fn report(&self) -> Result<BenchReport> {
        let mut parts = Vec::new();
        if self.wants(FuzzPart::Rates) {
            parts.push(rates::measure_rates(&self.peers, &self.targets(), read_load_average()?)?);
        }
        if self.wants(FuzzPart::Breaks) {
            parts.push(self.breaks()?);
        }
        let largest = self.holding.last().context("no subject whose property holds")?;
        if self.wants(FuzzPart::Workers) {
            parts.push(workers::measure_workers(largest, read_load_average()?)?);
        }
        if self.wants(FuzzPart::Observer) {
            parts.push(observer::measure_observer(largest, read_load_average()?)?);
        }
        parts.extend(self.long_parts(largest)?);
        let cores = thread::available_parallelism()?.get();
        Ok(BenchReport { cores, missing: self.missing(), parts })
    }

    fn seeds(&self) -> u64 {
        self.args.seeds.unwrap_or(SEEDS)
    }

    fn wants(&self, part: FuzzPart) -> bool {
        self.args.only.contains(&part)
    }

    /// Returns the subjects with numbers of calls that take vouch and Echidna some seconds.
    fn targets(&self) -> Vec<RateTarget<'_>> {
        let calls = [(2_000_000, 12_000), (1_000_000, 6_000), (1_000_000, 2_000)];
        let targets = self.holding.iter().zip(calls).enumerate();
        let target = |(index, (subject, (calls, echidna_calls)))| RateTarget {
            subject,
            calls,
            echidna_calls,
            is_maze: index >= HOLDING.len(),
        };
        targets.map(target).collect()
    }

    fn breaks(&self) -> Result<ReportPart> {
        let own = |source| FuzzSubject::from_source(&self.peers, self.work.path(), source);
        let subjects: Vec<FuzzSubject> = BREAKABLE.iter().map(own).collect::<Result<_>>()?;
        let FuzzArgs { limit, .. } = *self.args;
        breaks::measure_breaks(&self.peers, &subjects, self.seeds(), limit, read_load_average()?)
    }

    /// Runs the two long parts at the same time: memory does not depend on load, and Daedaluzz counts processor time.
    fn long_parts(&self, largest: &FuzzSubject) -> Result<Vec<ReportPart>> {
        let load = read_load_average()?;
        let minutes = self.args.minutes;
        thread::scope(|scope| {
            let memory = self
                .wants(FuzzPart::Memory)
                .then(|| scope.spawn(move || memory::measure_memory(largest, minutes, load)));
            let daedaluzz = self.args.daedaluzz.as_deref();
            let daedaluzz = daedaluzz.filter(|_| self.wants(FuzzPart::Daedaluzz));
            let daedaluzz = daedaluzz.map(|folder| self.daedaluzz(folder, load)).transpose()?;
            let memory = memory.map(join_memory).transpose()?;
            Ok(daedaluzz.into_iter().chain(memory).collect())
        })
    }

    fn daedaluzz(&self, folder: &Path, load: f64) -> Result<ReportPart> {
        let maze = |number| FuzzSubject::from_maze(&self.peers, self.work.path(), folder, number);
        let mazes: Vec<FuzzSubject> = (0..daedaluzz::MAZES).map(maze).collect::<Result<_>>()?;
        daedaluzz::count_daedaluzz_bugs(&mazes, self.seeds(), load)
    }

    fn missing(&self) -> Vec<String> {
        let peers = [("forge", &self.peers.forge), ("Echidna", &self.peers.echidna)];
        let missing = peers
            .iter()
            .filter_map(|(name, peer)| peer.as_ref().err().map(|error| format!("{name}: {error}")));
        let mazes = "Daedaluzz: pass a checkout of Consensys/daedaluzz with --daedaluzz DIR";
        let mazes = self.args.daedaluzz.is_none().then(|| mazes.to_owned());
        missing.chain(mazes).collect()
    }
}

fn join_memory(thread: ScopedJoinHandle<'_, Result<ReportPart>>) -> Result<ReportPart> {
    thread.join().map_err(|_| anyhow!("the thread that watches memory panicked"))?
}

/// Returns the load average of the last minute.
pub(super) fn read_load_average() -> Result<f64> {
    let text = fs::read_to_string("/proc/loadavg").context("failed to read /proc/loadavg")?;
    let first = text.split_whitespace().next().context("/proc/loadavg is empty")?;
    Ok(first.parse()?)
}

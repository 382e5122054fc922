//! Campaigns that agents watch and steer: how quickly tools answer while every core fuzzes, what watching costs, and what
//! steering brings.
//!
//! vouch is the shipped binary, reached over HTTP as an agent reaches it. Contracts, compiler and report are those of
//! `bench fuzz`.

mod latency;
mod observed;
mod served;
mod steering;

use std::fs;
use std::path::PathBuf;
use std::thread;

use anyhow::Result;
use tempfile::TempDir;

use super::fuzz::load_average;
use super::fuzz::peers::Peers;
use super::fuzz::prepare;
use super::fuzz::report::Report;
use super::fuzz::subjects::{HOLDING, Subject};
use xtask::command::root;

use crate::dist::build_command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A checkout of Consensys/daedaluzz, whose first maze is the largest target; without it an ERC-20 is
    #[arg(long, value_name = "DIR")]
    daedaluzz: Option<PathBuf>,
    /// Only these parts
    #[arg(long, value_enum, value_delimiter = ',', default_value = "latency,observed,steering")]
    only: Vec<Which>,
    /// Calls of tools, by three clients at once
    #[arg(long, default_value_t = 10_000)]
    calls: usize,
    /// Seeds for each contract that is steered
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// One JSON document instead of tables
    #[arg(long)]
    json: bool,
    /// Use the binary in target/dist; build nothing
    #[arg(long)]
    no_build: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    Latency,
    Observed,
    Steering,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.no_build {
        prepare::run(build_command(&["-p", "cli", "--bin", "vouch"]))?;
    }
    let peers = Peers::install()?;
    let bench = root().join("target/bench");
    fs::create_dir_all(&bench)?;
    let work = TempDir::with_prefix_in("campaign-", bench)?;
    let largest = match &args.daedaluzz {
        Some(folder) => Subject::maze_with_property(&peers, work.path(), folder, 0)?,
        None => Subject::own(&peers, work.path(), &HOLDING[1])?,
    };
    let mut parts = Vec::new();
    let cores = thread::available_parallelism()?.get();
    let wants = |part| args.only.contains(&part);
    if wants(Which::Latency) {
        parts.push(latency::run(&largest, cores, args.calls, load_average()?)?);
    }
    if wants(Which::Observed) {
        parts.push(observed::run(&largest, cores, load_average()?)?);
    }
    if wants(Which::Steering) {
        parts.push(steering::run(&peers, work.path(), args.seeds, load_average()?)?);
    }
    let report = Report { cores, missing: Vec::new(), parts };
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => println!("\n{}", report.markdown()),
    }
    Ok(())
}

//! Campaigns that agents watch and steer: response times while every core fuzzes, the cost of watching, and the gain from
//! steering.
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

use super::fuzz::peers::FuzzPeers;
use super::fuzz::prepare;
use super::fuzz::read_load_average;
use super::fuzz::report::BenchReport;
use super::fuzz::subjects::{FuzzSubject, HOLDING};
use xtask::command::root;

use crate::dist::build_command;

#[derive(clap::Args)]
pub(crate) struct CampaignArgs {
    /// A checkout of Consensys/daedaluzz, whose first maze is the largest target; without it an ERC-20 is
    #[arg(long, value_name = "DIR")]
    daedaluzz: Option<PathBuf>,
    /// Run only these parts
    #[arg(long, value_enum, value_delimiter = ',', default_value = "latency,observed,steering")]
    only: Vec<CampaignPart>,
    /// Calls of tools, by three clients at once
    #[arg(long, default_value_t = 10_000)]
    calls: usize,
    /// Seeds for each contract that is steered
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
    /// Use the binary in target/dist; build nothing
    #[arg(long)]
    no_build: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum CampaignPart {
    Latency,
    Observed,
    Steering,
}

pub(crate) fn run_campaign_bench(args: &CampaignArgs) -> Result<()> {
    if !args.no_build {
        prepare::run_quietly(build_command(&["-p", "cli", "--bin", "vouch"]))?;
    }
    let peers = FuzzPeers::install()?;
    let bench = root().join("target/bench");
    fs::create_dir_all(&bench)?;
    let work = TempDir::with_prefix_in("campaign-", bench)?;
    let largest = match &args.daedaluzz {
        Some(folder) => FuzzSubject::from_maze_with_property(&peers, work.path(), folder, 0)?,
        None => FuzzSubject::from_source(&peers, work.path(), &HOLDING[1])?,
    };
    let mut parts = Vec::new();
    let cores = thread::available_parallelism()?.get();
    let wants = |part| args.only.contains(&part);
    if wants(CampaignPart::Latency) {
        parts.push(latency::measure_latency(&largest, cores, args.calls, read_load_average()?)?);
    }
    if wants(CampaignPart::Observed) {
        parts.push(observed::measure_observer_cost(&largest, cores, read_load_average()?)?);
    }
    if wants(CampaignPart::Steering) {
        parts.push(steering::measure_steering(
            &peers,
            work.path(),
            args.seeds,
            read_load_average()?,
        )?);
    }
    let report = BenchReport { cores, missing: Vec::new(), parts };
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => println!("\n{}", report.to_markdown()),
    }
    Ok(())
}

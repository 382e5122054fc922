//! Gain from steering: calls until a property breaks, with and without the example agent.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::served::ServedCampaign;
use crate::fuzz::peers::FuzzPeers;
use crate::fuzz::report::{ReportPart, TableCell, median};
use crate::fuzz::subjects::{FuzzSubject, SoliditySource, solidity_source};
use crate::fuzz::tools::vouch_binary;
use crate::process::BENCH_TOKEN;
use xtask::command::root;
use xtask::install;

/// Calls after which a campaign is given up.
const LIMIT: u64 = 3_000_000;
/// Maximum share of the calls that an unsteered campaign needs.
const GOAL: f64 = 0.5;

const CONTRACTS: [SoliditySource; 3] = [
    solidity_source!("contracts/", "Streak", "confirmations in a row"),
    solidity_source!("contracts/", "Ladder", "trust in small steps"),
    solidity_source!("contracts/", "Rounds", "rounds of an auction"),
];

pub(super) fn measure_steering(
    peers: &FuzzPeers,
    work: &Path,
    seeds: u64,
    load: f64,
) -> Result<ReportPart> {
    let python = install::python()?;
    let title =
        format!("Calls until the property breaks, at most {LIMIT}, median of {seeds} seeds");
    let columns = ["contract", "alone", "broken", "steered", "broken when steered", "share"];
    let mut part = ReportPart::new(&title, load, &columns);
    for source in &CONTRACTS {
        let subject = FuzzSubject::from_source(peers, work, source)?;
        let (mut alone, mut steered) = (Vec::new(), Vec::new());
        for seed in 1..=seeds {
            eprintln!("steering: {} ({seed})", subject.title);
            alone.push(run_alone(&subject, seed)?);
            steered.push(run_with_agent(&subject, seed, &python)?);
        }
        let (calls_alone, calls_steered) = (median_calls(&alone)?, median_calls(&steered)?);
        let share = calls_steered / calls_alone;
        part.add_row([
            TableCell::from_text(&subject.title),
            TableCell::from_count(calls_alone),
            TableCell::from_count(count_broken(&alone)),
            TableCell::from_count(calls_steered),
            TableCell::from_count(count_broken(&steered)),
            TableCell::Number(share, 3),
        ]);
        let text = format!("{}: {share:.3} of the calls when steered (goal {GOAL})", subject.title);
        part.add_goal(share <= GOAL && count_broken(&steered) * 2.0 > seeds as f64, text);
    }
    Ok(part)
}

/// Outcome of one campaign.
struct SteeringOutcome {
    /// Equals [`LIMIT`] if no property broke.
    calls: u64,
    is_broken: bool,
}

fn median_calls(outcomes: &[SteeringOutcome]) -> Result<f64> {
    let calls: Vec<_> = outcomes.iter().map(|outcome| outcome.calls as f64).collect();
    median(&calls).context("no seed was run")
}

fn count_broken(outcomes: &[SteeringOutcome]) -> f64 {
    outcomes.iter().filter(|outcome| outcome.is_broken).count() as f64
}

fn campaign_flags(seed: u64) -> Vec<String> {
    let flags = ["--workers", "1", "--shrink-limit", "0", "--stop-on-fail", "--test-limit"];
    let flags = flags.iter().map(ToString::to_string);
    flags.chain([LIMIT.to_string(), "--seed".to_owned(), seed.to_string()]).collect()
}

fn run_alone(subject: &FuzzSubject, seed: u64) -> Result<SteeringOutcome> {
    let mut vouch = Command::new(vouch_binary());
    vouch.arg("fuzz").arg(subject.build_path()).args(["--contract", &subject.contract, "--json"]);
    let output = vouch
        .args(campaign_flags(seed))
        .stdin(Stdio::null())
        .output()
        .context("failed to start vouch")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let results = serde_json::from_slice(&output.stdout);
    parse_outcome(&results.with_context(|| format!("vouch wrote no JSON: {said}"))?)
}

/// Runs a campaign with the agent. It starts paused, so that all its calls are steered, as in a run of hours.
fn run_with_agent(subject: &FuzzSubject, seed: u64, python: &Path) -> Result<SteeringOutcome> {
    let flags = campaign_flags(seed);
    let flags: Vec<_> = flags.iter().map(String::as_str).chain(["--paused"]).collect();
    let served = ServedCampaign::start(subject, &flags)?;
    let mut agent = Command::new(python);
    agent.arg(root().join("examples/steering-agent/agent.py")).arg(served.url());
    agent.env("VOUCH_TOKEN", BENCH_TOKEN);
    agent.args(["--every", "0.1", "--quiet"]).stdin(Stdio::null());
    let agent = agent.output().context("failed to start the agent")?;
    let said = String::from_utf8_lossy(&agent.stderr);
    ensure!(agent.status.success(), "the agent ended with {}: {said}", agent.status);
    parse_outcome(&served.wait_for_results()?)
}

fn parse_outcome(results: &Value) -> Result<SteeringOutcome> {
    let calls = results["calls"].as_u64().context("the report of vouch has no number of calls")?;
    let tests = results["tests"].as_array().context("the report of vouch has no tests")?;
    let is_broken = tests.iter().any(|test| test["verdict"] == "failed");
    Ok(SteeringOutcome { calls, is_broken })
}

//! What steering brings: calls until a property breaks, with the example agent and without.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::served::Served;
use crate::fuzz::peers::Peers;
use crate::fuzz::report::{Cell, Part, median};
use crate::fuzz::subjects::{Source, Subject, own};
use crate::fuzz::tools::vouch_binary;
use xtask::command::root;
use xtask::install;

/// Calls after which a campaign is given up.
const LIMIT: u64 = 3_000_000;
/// At most this share of the calls that it takes alone.
const GOAL: f64 = 0.5;

const CONTRACTS: [Source; 3] = [
    own!("contracts/", "Streak", "confirmations in a row"),
    own!("contracts/", "Ladder", "trust in small steps"),
    own!("contracts/", "Rounds", "rounds of an auction"),
];

pub(super) fn run(peers: &Peers, work: &Path, seeds: u64, load: f64) -> Result<Part> {
    let python = install::python()?;
    let title =
        format!("Calls until the property breaks, at most {LIMIT}, median of {seeds} seeds");
    let columns = ["contract", "alone", "broken", "steered", "broken when steered", "share"];
    let mut part = Part::new(&title, load, &columns);
    for source in &CONTRACTS {
        let subject = Subject::own(peers, work, source)?;
        let (mut alone, mut steered) = (Vec::new(), Vec::new());
        for seed in 1..=seeds {
            eprintln!("steering: {} ({seed})", subject.title);
            alone.push(left_alone(&subject, seed)?);
            steered.push(with_agent(&subject, seed, &python)?);
        }
        let (calls_alone, calls_steered) = (calls(&alone)?, calls(&steered)?);
        let share = calls_steered / calls_alone;
        part.row([
            Cell::text(&subject.title),
            Cell::count(calls_alone),
            Cell::count(broken(&alone)),
            Cell::count(calls_steered),
            Cell::count(broken(&steered)),
            Cell::Number(share, 3),
        ]);
        let text = format!("{}: {share:.3} of the calls when steered (goal {GOAL})", subject.title);
        part.goal(share <= GOAL && broken(&steered) * 2.0 > seeds as f64, text);
    }
    Ok(part)
}

/// How a campaign ended.
struct Outcome {
    /// One that broke nothing took all that it may.
    calls: u64,
    is_broken: bool,
}

fn calls(outcomes: &[Outcome]) -> Result<f64> {
    let calls: Vec<_> = outcomes.iter().map(|outcome| outcome.calls as f64).collect();
    median(&calls).context("no seed was run")
}

fn broken(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().filter(|outcome| outcome.is_broken).count() as f64
}

fn flags(seed: u64) -> Vec<String> {
    let flags = ["--workers", "1", "--shrink-limit", "0", "--stop-on-fail", "--test-limit"];
    let flags = flags.iter().map(ToString::to_string);
    flags.chain([LIMIT.to_string(), "--seed".to_owned(), seed.to_string()]).collect()
}

fn left_alone(subject: &Subject, seed: u64) -> Result<Outcome> {
    let mut vouch = Command::new(vouch_binary());
    vouch.arg("fuzz").arg(subject.build()).args(["--contract", &subject.contract, "--json"]);
    let output = vouch.args(flags(seed)).stdin(Stdio::null()).output().context("starting vouch")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let results = serde_json::from_slice(&output.stdout);
    outcome(&results.with_context(|| format!("vouch wrote no JSON: {said}"))?)
}

/// The campaign waits for the agent, so that all its calls are steered, as those of one that runs for hours are.
fn with_agent(subject: &Subject, seed: u64, python: &Path) -> Result<Outcome> {
    let flags = flags(seed);
    let flags: Vec<_> = flags.iter().map(String::as_str).chain(["--paused"]).collect();
    let served = Served::start(subject, &flags)?;
    let mut agent = Command::new(python);
    agent.arg(root().join("examples/steering-agent/agent.py")).arg(served.url());
    agent.args(["--every", "0.1", "--quiet"]).stdin(Stdio::null());
    let agent = agent.output().context("starting the agent")?;
    let said = String::from_utf8_lossy(&agent.stderr);
    ensure!(agent.status.success(), "the agent ended with {}: {said}", agent.status);
    outcome(&served.results()?)
}

fn outcome(results: &Value) -> Result<Outcome> {
    let calls = results["calls"].as_u64().context("vouch does not say how many calls it made")?;
    let tests = results["tests"].as_array().context("vouch names no tests")?;
    let is_broken = tests.iter().any(|test| test["status"] != "passed");
    Ok(Outcome { calls, is_broken })
}

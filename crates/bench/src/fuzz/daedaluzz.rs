//! Distinct bugs of mazes 0 to 4 in a fixed processor time, counted by replay.
//!
//! The kernel ends each campaign when its time is used; what it had kept on disk by then is run again on plain revm, by a
//! program that reads nothing else of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::measured::{self, End};
use super::report::{Cell, Part, median};
use super::subjects::Subject;
use super::tools::{bench_binary, vouch_binary};

/// Of those that the checkout has, these.
pub(super) const MAZES: u32 = 5;
/// For each maze: a hundred in all.
const SECONDS: u64 = 20;
const MAX_SEEDS: u64 = 5;
const GOAL: f64 = 80.0;
/// More than a campaign can make.
const CALLS: &str = "1000000000000";

/// What the judge says.
#[derive(Debug, Deserialize)]
struct Judged {
    sequences: usize,
    bugs: BTreeSet<String>,
}

pub(super) fn run(mazes: &[Subject], seeds: u64, load: f64) -> Result<Part> {
    let columns = ["seed", "maze 0", "maze 1", "maze 2", "maze 3", "maze 4", "distinct bugs"];
    let title = format!("Daedaluzz, {SECONDS} CPU-seconds for each maze, one worker");
    let mut part = Part::new(&title, load, &columns);
    let mut sums = Vec::new();
    for seed in 1..=seeds.min(MAX_SEEDS) {
        let found: Vec<f64> = mazes
            .iter()
            .map(|maze| Ok(found(maze, seed)?.bugs.len() as f64))
            .collect::<Result<_>>()?;
        let sum: f64 = found.iter().sum();
        let mut row = vec![Cell::count(seed as f64)];
        row.extend(found.into_iter().map(Cell::count));
        row.push(Cell::count(sum));
        part.row(row);
        sums.push(sum);
    }
    let middle = median(&sums).context("no seed was run")?;
    let seconds = SECONDS * u64::from(MAZES);
    let text = format!(
        "Daedaluzz: {middle} distinct bugs in {seconds} CPU-seconds, median of {} seeds (goal {GOAL})",
        sums.len()
    );
    part.goal(middle >= GOAL, text);
    Ok(part)
}

fn found(maze: &Subject, seed: u64) -> Result<Judged> {
    let corpus = tempfile::tempdir()?;
    let mut vouch = Command::new(vouch_binary());
    vouch.arg("fuzz").arg(maze.build()).args(["--contract", &maze.contract, "--json"]);
    vouch.args(["--test-mode", "assertion", "--workers", "1", "--seed", &seed.to_string()]);
    vouch.args(["--test-limit", CALLS, "--corpus-dir"]).arg(corpus.path());
    vouch.current_dir(&maze.folder);
    let ran = measured::run(&vouch, SECONDS)?;
    ensure!(ran.end == End::OutOfTime, "vouch on {} ended with {}", maze.title, ran.told());
    let judged = judge(maze, corpus.path())?;
    eprintln!(
        "daedaluzz: {}, seed {seed}: {} bugs in {} sequences, {:.1} CPU-seconds",
        maze.title,
        judged.bugs.len(),
        judged.sequences,
        ran.cpu
    );
    Ok(judged)
}

fn judge(maze: &Subject, corpus: &Path) -> Result<Judged> {
    let mut judge = Command::new(bench_binary());
    judge.arg("bugs").arg(maze.build()).arg(&maze.contract).arg(corpus);
    let output = judge.output().context("cannot start the judge of bugs")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the judge of bugs ended with {}: {said}", output.status);
    serde_json::from_slice(&output.stdout).context("the judge of bugs wrote no JSON")
}

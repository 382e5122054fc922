//! Distinct bugs of mazes 0 to 4 in a fixed processor time, counted by replay.
//!
//! The kernel ends each campaign when its time is used. The corpus that it left on disk is replayed on plain revm, by a
//! program that reads only the corpus.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::measured::{self, RunEnd};
use super::report::{ReportPart, TableCell, median};
use super::subjects::FuzzSubject;
use super::tools::{bench_binary, vouch_binary};

/// Number of mazes of the checkout that are used.
pub(super) const MAZES: u32 = 5;
/// Seconds of processor time for each maze: a hundred in all.
const SECONDS: u64 = 20;
const MAX_SEEDS: u64 = 5;
const GOAL: f64 = 80.0;
/// More calls than a campaign can make.
pub(super) const CALLS: &str = "1000000000000";

/// Output of the replay program.
#[derive(Debug, Deserialize)]
struct ReplayedBugs {
    sequences: usize,
    bugs: BTreeSet<String>,
}

pub(super) fn count_daedaluzz_bugs(
    mazes: &[FuzzSubject],
    seeds: u64,
    load: f64,
) -> Result<ReportPart> {
    let columns = ["seed", "maze 0", "maze 1", "maze 2", "maze 3", "maze 4", "distinct bugs"];
    let title = format!("Daedaluzz, {SECONDS} CPU-seconds for each maze, one worker");
    let mut part = ReportPart::new(&title, load, &columns);
    let mut sums = Vec::new();
    for seed in 1..=seeds.min(MAX_SEEDS) {
        let found: Vec<f64> = mazes
            .iter()
            .map(|maze| Ok(fuzz_maze(maze, seed)?.bugs.len() as f64))
            .collect::<Result<_>>()?;
        let sum: f64 = found.iter().sum();
        let mut row = vec![TableCell::from_count(seed as f64)];
        row.extend(found.into_iter().map(TableCell::from_count));
        row.push(TableCell::from_count(sum));
        part.add_row(row);
        sums.push(sum);
    }
    let middle = median(&sums).context("no seed was run")?;
    let seconds = SECONDS * u64::from(MAZES);
    let text = format!(
        "Daedaluzz: {middle} distinct bugs in {seconds} CPU-seconds, median of {} seeds (goal {GOAL})",
        sums.len()
    );
    part.add_goal(middle >= GOAL, text);
    Ok(part)
}

fn fuzz_maze(maze: &FuzzSubject, seed: u64) -> Result<ReplayedBugs> {
    let corpus = tempfile::tempdir()?;
    let mut vouch = Command::new(vouch_binary());
    vouch.arg("fuzz").arg(maze.build_path()).args(["--contract", &maze.contract, "--json"]);
    vouch.args(["--test-mode", "assertion", "--workers", "1", "--seed", &seed.to_string()]);
    vouch.args(["--test-limit", CALLS, "--corpus-dir"]).arg(corpus.path());
    vouch.current_dir(&maze.folder);
    let ran = measured::run_measured(&vouch, SECONDS)?;
    ensure!(ran.end == RunEnd::OutOfTime, "vouch on {} ended with {}", maze.title, ran.describe());
    let judged = replay_corpus(maze, corpus.path())?;
    eprintln!(
        "daedaluzz: {}, seed {seed}: {} bugs in {} sequences, {:.1} CPU-seconds",
        maze.title,
        judged.bugs.len(),
        judged.sequences,
        ran.cpu
    );
    Ok(judged)
}

fn replay_corpus(maze: &FuzzSubject, corpus: &Path) -> Result<ReplayedBugs> {
    let mut judge = Command::new(bench_binary());
    judge.arg("bugs").arg(maze.build_path()).arg(&maze.contract).arg(corpus);
    let output = judge.output().context("failed to start the replay program")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the replay program failed with {}: {said}", output.status);
    serde_json::from_slice(&output.stdout).context("the replay program wrote no JSON")
}

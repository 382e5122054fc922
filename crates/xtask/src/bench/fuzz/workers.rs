//! What a second worker brings: calls of two against calls of one in the same time, in turn.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::report::{Cell, Part, median};
use super::subjects::Subject;
use super::tools::vouch_binary;

const ROUNDS: u64 = 5;
const SECONDS: u64 = 6;
const GOAL: f64 = 1.8;

pub(super) fn run(subject: &Subject, load: f64) -> Result<Part> {
    let title = format!("Two workers against one on {}, {SECONDS} seconds each", subject.title);
    let columns = ["round", "one: calls per second", "two: calls per second", "ratio"];
    let mut part = Part::new(&title, load, &columns);
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        eprintln!("workers: round {round}");
        let one = calls_per_second(subject, 1, round)?;
        let two = calls_per_second(subject, 2, round)?;
        ratios.push(two / one);
        let round = Cell::count(round as f64);
        part.row([round, Cell::count(one), Cell::count(two), Cell::Number(two / one, 2)]);
    }
    let ratio = median(&ratios).context("no round was run")?;
    let text = format!(
        "{ratio:.2} × the calls with two workers (goal {GOAL} on an idle machine; load average was {load:.2})"
    );
    part.goal(ratio >= GOAL, text);
    Ok(part)
}

fn calls_per_second(subject: &Subject, workers: u64, seed: u64) -> Result<f64> {
    let mut vouch = Command::new(vouch_binary());
    vouch.arg("fuzz").arg(subject.build()).args(["--contract", &subject.contract, "--json"]);
    vouch.args(["--workers", &workers.to_string(), "--seed", &seed.to_string()]);
    vouch.args(["--timeout", &SECONDS.to_string(), "--test-limit", "1000000000000"]);
    let output = vouch.current_dir(&subject.folder).output().context("cannot start vouch")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "vouch ended with {}: {said}", output.status);
    let json: Value = serde_json::from_slice(&output.stdout).context("vouch wrote no JSON")?;
    let figure = |name: &str| json[name].as_f64().with_context(|| format!("no `{name}`"));
    Ok(figure("calls")? / figure("seconds")?)
}

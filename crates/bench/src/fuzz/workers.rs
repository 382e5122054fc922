//! Gain from a second worker: calls of two workers and of one in the same time, in turn.
//!
//! Two simultaneous campaigns of one worker each share nothing, so they show the limit of the machine.

use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::report::{ReportPart, TableCell, median};
use super::subjects::FuzzSubject;
use super::tools::vouch_binary;

const ROUNDS: u64 = 5;
const SECONDS: u64 = 6;
const GOAL: f64 = 1.8;

pub(super) fn measure_workers(subject: &FuzzSubject, load: f64) -> Result<ReportPart> {
    let title = format!("Two workers against one on {}, {SECONDS} seconds each", subject.title);
    let columns = [
        "round",
        "one: calls per second",
        "two: calls per second",
        "ratio",
        "two campaigns: ratio",
    ];
    let mut part = ReportPart::new(&title, load, &columns);
    let mut ratios = Vec::new();
    let mut limits = Vec::new();
    for round in 1..=ROUNDS {
        eprintln!("workers: round {round}");
        let one = start_campaign(subject, 1, round)?.calls_per_second()?;
        let two = start_campaign(subject, 2, round)?.calls_per_second()?;
        let apart = [start_campaign(subject, 1, round)?, start_campaign(subject, 1, round)?];
        let apart =
            apart.into_iter().map(RunningCampaign::calls_per_second).sum::<Result<f64>>()?;
        ratios.push(two / one);
        limits.push(apart / one);
        let ratio = |more: f64| TableCell::Number(more / one, 2);
        let round = TableCell::from_count(round as f64);
        part.add_row([
            round,
            TableCell::from_count(one),
            TableCell::from_count(two),
            ratio(two),
            ratio(apart),
        ]);
    }
    let ratio = median(&ratios).context("no round was run")?;
    let limit = median(&limits).context("no round was run")?;
    let text = format!(
        "{ratio:.2} × the calls with two workers (goal {GOAL} on an idle machine; load average was {load:.2}); \
         two campaigns of one worker each bring {limit:.2} ×"
    );
    part.add_goal(ratio >= GOAL, text);
    Ok(part)
}

/// A running campaign.
struct RunningCampaign(Child);

fn start_campaign(subject: &FuzzSubject, workers: u64, seed: u64) -> Result<RunningCampaign> {
    let mut vouch = Command::new(vouch_binary());
    vouch.arg("fuzz").arg(subject.build_path()).args(["--contract", &subject.contract, "--json"]);
    vouch.args(["--workers", &workers.to_string(), "--seed", &seed.to_string()]);
    vouch.args(["--timeout", &SECONDS.to_string(), "--test-limit", "1000000000000"]);
    vouch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = vouch.current_dir(&subject.folder).spawn().context("failed to start vouch")?;
    Ok(RunningCampaign(child))
}

impl RunningCampaign {
    /// Waits for the end of the campaign and returns its calls per second.
    fn calls_per_second(self) -> Result<f64> {
        let output = self.0.wait_with_output().context("failed to wait for vouch")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "vouch ended with {}: {said}", output.status);
        let json: Value = serde_json::from_slice(&output.stdout).context("vouch wrote no JSON")?;
        let figure = |name: &str| json[name].as_f64().with_context(|| format!("no `{name}`"));
        Ok(figure("calls")? / figure("seconds")?)
    }
}

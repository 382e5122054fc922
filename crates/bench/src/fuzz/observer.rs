//! Cost of an observer that requests events, coverage and the corpus ten times a second.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::report::{ReportPart, TableCell, median};
use super::subjects::FuzzSubject;
use super::tools::bench_binary;

/// Short, so that other load on the machine affects both halves of a round alike.
const SLICE_MS: u64 = 250;
const ROUNDS: u64 = 120;
/// In per cent of the throughput.
const GOAL: f64 = 1.0;

/// Output of the example.
#[derive(Debug, Deserialize)]
struct ObserverOutput {
    /// Ratio of watched to unwatched throughput, for each round.
    ratios: Vec<f64>,
}

/// Lost throughput in percent.
#[derive(Debug, PartialEq)]
struct ObserverLoss {
    lower: f64,
    median: f64,
    upper: f64,
}

pub(super) fn measure_observer(subject: &FuzzSubject, load: f64) -> Result<ReportPart> {
    eprintln!("observer: {ROUNDS} rounds");
    let mut bench = Command::new(bench_binary());
    bench.arg("observer").arg(subject.build_path()).arg(&subject.contract);
    bench.args([SLICE_MS.to_string(), ROUNDS.to_string()]);
    let output = bench.output().context("failed to start the watched campaign")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the watched campaign failed: {stderr}");
    let measured: ObserverOutput =
        serde_json::from_slice(&output.stdout).context("the watched campaign wrote no JSON")?;
    let loss = compute_loss(&measured.ratios).context("no round was run")?;
    let title = format!("An observer on {}, {ROUNDS} rounds of {SLICE_MS} ms", subject.title);
    let columns = ["lower quartile %", "median loss %", "upper quartile %"];
    let mut part = ReportPart::new(&title, load, &columns);
    let ObserverLoss { lower, median, upper } = loss;
    part.add_row([lower, median, upper].map(|figure| TableCell::Number(figure, 2)));
    part.add_goal(median < GOAL, format!("an observer costs {median:.2} % (goal {GOAL})"));
    Ok(part)
}

fn compute_loss(ratios: &[f64]) -> Option<ObserverLoss> {
    let mut losses: Vec<f64> = ratios.iter().map(|ratio| (1.0 - ratio) * 100.0).collect();
    losses.sort_by(f64::total_cmp);
    let quarter = losses.len() / 4;
    Some(ObserverLoss {
        lower: *losses.get(quarter)?,
        median: median(&losses)?,
        upper: *losses.get(losses.len() - 1 - quarter)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_median_and_quartiles() {
        let ratios = [1.0, 0.5, 0.75, 1.25, 0.875];
        let wanted = ObserverLoss { lower: 0.0, median: 12.5, upper: 25.0 };
        assert_eq!(compute_loss(&ratios), Some(wanted));
        assert_eq!(compute_loss(&[]), None);
    }
}

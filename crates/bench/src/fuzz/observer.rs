//! What an observer costs a campaign, who asks for events, coverage and the corpus ten times a second.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::report::{Cell, Part, median};
use super::subjects::Subject;
use super::tools::bench_binary;

/// Short, so that whatever else the machine does meets both halves of a round alike.
const SLICE_MS: u64 = 250;
const ROUNDS: u64 = 120;
/// In per cent of the throughput.
const GOAL: f64 = 1.0;

/// What the example says.
#[derive(Debug, Deserialize)]
struct Told {
    /// Of the throughput watched to that not watched, for each round.
    ratios: Vec<f64>,
}

/// What is lost, in per cent.
#[derive(Debug, PartialEq)]
struct Loss {
    lower: f64,
    median: f64,
    upper: f64,
}

pub(super) fn run(subject: &Subject, load: f64) -> Result<Part> {
    eprintln!("observer: {ROUNDS} rounds");
    let mut bench = Command::new(bench_binary());
    bench.arg("observer").arg(subject.build()).arg(&subject.contract);
    bench.args([SLICE_MS.to_string(), ROUNDS.to_string()]);
    let output = bench.output().context("cannot start the campaign that is watched")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the campaign that is watched failed: {said}");
    let told: Told = serde_json::from_slice(&output.stdout).context("it wrote no JSON")?;
    let loss = loss(&told.ratios).context("no round was run")?;
    let title = format!("An observer on {}, {ROUNDS} rounds of {SLICE_MS} ms", subject.title);
    let columns = ["lower quartile %", "median loss %", "upper quartile %"];
    let mut part = Part::new(&title, load, &columns);
    let Loss { lower, median, upper } = loss;
    part.row([lower, median, upper].map(|figure| Cell::Number(figure, 2)));
    part.goal(median < GOAL, format!("an observer costs {median:.2} % (goal {GOAL})"));
    Ok(part)
}

fn loss(ratios: &[f64]) -> Option<Loss> {
    let mut losses: Vec<f64> = ratios.iter().map(|ratio| (1.0 - ratio) * 100.0).collect();
    losses.sort_by(f64::total_cmp);
    let quarter = losses.len() / 4;
    Some(Loss {
        lower: *losses.get(quarter)?,
        median: median(&losses)?,
        upper: *losses.get(losses.len() - 1 - quarter)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_show_how_sure_the_median_is() {
        let ratios = [1.0, 0.5, 0.75, 1.25, 0.875];
        let wanted = Loss { lower: 0.0, median: 12.5, upper: 25.0 };
        assert_eq!(loss(&ratios), Some(wanted));
        assert_eq!(loss(&[]), None);
    }
}

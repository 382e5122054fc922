//! Calls and seconds of processor time until a property breaks, next to the peers.
//!
//! No tool shrinks. The fixed cost of a run is subtracted: the time of a run that makes almost no calls.

use anyhow::{Context, Result};

use super::peers::FuzzPeers;
use super::report::{ReportPart, TableCell, median};
use super::subjects::FuzzSubject;
use super::tools::{FuzzOutcome, FuzzTask, FuzzTool};

/// More calls than a run can make in its time.
const CALLS: u64 = 1_000_000_000;
/// Each run of Echidna costs seconds before its first call.
const MAX_ECHIDNA_SEEDS: u64 = 3;
/// Number of runs that measure the fixed cost.
const IDLE_RUNS: u64 = 3;
/// Resolution in seconds; shorter times count as this.
const LEAST: f64 = 0.001;

/// Medians of one tool on one subject.
#[derive(Clone, Debug, PartialEq)]
struct BreakFigures {
    found: usize,
    runs: usize,
    calls: Option<f64>,
    /// `None` if at most half of the runs broke the property.
    cpu: Option<f64>,
}

/// One run: calls and processor time, or `None` if the property did not break.
type BreakRun = Option<(Option<u64>, f64)>;

pub(super) fn measure_breaks(
    peers: &FuzzPeers,
    subjects: &[FuzzSubject],
    seeds: u64,
    limit: u64,
    load: f64,
) -> Result<ReportPart> {
    let columns = ["contract", "tool", "found", "calls", "CPU-seconds", "tool / vouch"];
    let title = format!("Medians to break a property, at most {limit} CPU-seconds a run");
    let mut part = ReportPart::new(&title, load, &columns);
    for subject in subjects {
        let ours = measure_tool(peers, FuzzTool::Vouch, subject, seeds, limit)?;
        part.add_row(build_row(subject, FuzzTool::Vouch, &ours, None, limit));
        let (found, runs) = (ours.found, ours.runs);
        part.add_goal(
            found == runs,
            format!("{}: broken by {found} of {runs} seeds", subject.title),
        );
        for (tool, seeds) in [
            (FuzzTool::Forge, seeds),
            (FuzzTool::ForgeGuided, seeds),
            (FuzzTool::Echidna, seeds.min(MAX_ECHIDNA_SEEDS)),
        ] {
            if tool.missing_reason(peers).is_some() {
                part.add_failure(&subject.title, tool.name(), "not installed");
                continue;
            }
            match measure_tool(peers, tool, subject, seeds, limit) {
                Ok(figures) => part.add_row(build_row(subject, tool, &figures, ours.cpu, limit)),
                Err(error) => part.add_failure(&subject.title, tool.name(), &format!("{error:#}")),
            }
        }
    }
    Ok(part)
}

fn measure_tool(
    peers: &FuzzPeers,
    tool: FuzzTool,
    subject: &FuzzSubject,
    seeds: u64,
    limit: u64,
) -> Result<BreakFigures> {
    eprintln!("breaks: {} on {}", tool.name(), subject.title);
    let run = |calls, seed| tool.run(peers, subject, FuzzTask { calls, seed, limit: Some(limit) });
    tool.prepare(peers, subject)?;
    // No tool runs without a call: vouch makes at least one, forge and Echidna one sequence.
    let idle: Vec<f64> =
        (1..=IDLE_RUNS).map(|seed| Ok(run(1, seed)?.cpu)).collect::<Result<_>>()?;
    let idle = median(&idle).context("no idle run")?;
    let mut all: Vec<BreakRun> = Vec::new();
    for seed in 1..=seeds {
        all.push(break_run(&run(CALLS, seed)?, idle));
        let missed = all.iter().filter(|found| found.is_none()).count() as u64;
        // The median is certain, and each further run would cost the whole limit.
        if missed * 2 > seeds {
            break;
        }
    }
    Ok(summarize_runs(&all))
}

fn break_run(outcome: &FuzzOutcome, idle: f64) -> BreakRun {
    outcome.is_broken.then(|| (outcome.calls, (outcome.cpu - idle).max(0.0)))
}

/// Computes medians; a run that did not break the property counts as infinite.
fn summarize_runs(all: &[BreakRun]) -> BreakFigures {
    let times: Vec<f64> =
        all.iter().map(|found| found.map_or(f64::INFINITY, |(_, cpu)| cpu)).collect();
    let calls: Vec<f64> = all
        .iter()
        .map(|found| found.map_or(Some(f64::INFINITY), |(calls, _)| calls.map(|it| it as f64)))
        .collect::<Option<_>>()
        .unwrap_or_default();
    let finite = |values: &[f64]| median(values).filter(|median| median.is_finite());
    BreakFigures {
        found: all.iter().flatten().count(),
        runs: all.len(),
        calls: finite(&calls),
        cpu: finite(&times),
    }
}

fn build_row(
    subject: &FuzzSubject,
    tool: FuzzTool,
    figures: &BreakFigures,
    ours: Option<f64>,
    limit: u64,
) -> [TableCell; 6] {
    let cpu = match figures.cpu {
        Some(cpu) => TableCell::Number(cpu, 3),
        None => TableCell::from_text(format!("not in {limit}")),
    };
    let ratio = match (figures.cpu, ours) {
        (Some(cpu), Some(ours)) => {
            TableCell::from_text(format!("{:.1} ×", cpu.max(LEAST) / ours.max(LEAST)))
        }
        (None, Some(ours)) => {
            TableCell::from_text(format!("> {:.0} ×", limit as f64 / ours.max(LEAST)))
        }
        (_, None) => TableCell::Empty,
    };
    [
        TableCell::from_text(&subject.title),
        TableCell::from_text(tool.name()),
        TableCell::from_text(format!("{} of {}", figures.found, figures.runs)),
        TableCell::from_optional(figures.calls, 0),
        cpu,
        ratio,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_count_unbroken_runs_as_infinite() {
        let hit = |calls, cpu| Some((Some(calls), cpu));
        let figures = |found, runs, calls, cpu| BreakFigures { found, runs, calls, cpu };
        assert_eq!(
            summarize_runs(&[hit(10, 0.1), None, hit(30, 0.3)]),
            figures(2, 3, Some(30.0), Some(0.3))
        );
        assert_eq!(summarize_runs(&[hit(10, 0.1), None, None]), figures(1, 3, None, None));
        // Exactly half is not more than half.
        assert_eq!(summarize_runs(&[hit(10, 0.1), None]), figures(1, 2, None, None));
    }

    #[test]
    fn has_no_median_calls_when_tool_does_not_count_calls() {
        let summed = summarize_runs(&[Some((None, 2.0)), None, Some((None, 4.0))]);
        assert_eq!(summed, BreakFigures { found: 2, runs: 3, calls: None, cpu: Some(4.0) });
    }

    #[test]
    fn subtracts_idle_time() {
        let mut outcome = FuzzOutcome {
            cpu: 1.5,
            calls: Some(7),
            reverts: None,
            gas: None,
            is_broken: true,
            is_out_of_time: false,
        };
        assert_eq!(break_run(&outcome, 1.0), Some((Some(7), 0.5)));
        assert_eq!(break_run(&outcome, 2.0), Some((Some(7), 0.0)));
        outcome.is_broken = false;
        assert_eq!(break_run(&outcome, 1.0), None);
    }
}

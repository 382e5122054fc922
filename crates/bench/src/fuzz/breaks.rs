//! How many calls, and seconds of processor time, it takes to break a property, beside the peers.
//!
//! Nobody shrinks what is found. What a run costs once is taken off: the time of a run that makes next to no calls.

use anyhow::{Context, Result};

use super::peers::Peers;
use super::report::{Cell, Part, median};
use super::subjects::Subject;
use super::tools::{Outcome, Task, Tool};

/// More than a run can make in its time.
const CALLS: u64 = 1_000_000_000;
/// Each run of Echidna costs seconds before its first call.
const MAX_ECHIDNA_SEEDS: u64 = 3;
/// What a run costs once is measured so often.
const IDLE_RUNS: u64 = 3;
/// Shorter times are not told apart.
const LEAST: f64 = 0.001;

/// How a tool did on a contract.
#[derive(Clone, Debug, PartialEq)]
struct Figures {
    found: usize,
    runs: usize,
    calls: Option<f64>,
    /// None if fewer than half of the runs found it.
    cpu: Option<f64>,
}

/// One run: what it took, or None if it did not find it.
type Found = Option<(Option<u64>, f64)>;

pub(super) fn run(
    peers: &Peers,
    subjects: &[Subject],
    seeds: u64,
    limit: u64,
    load: f64,
) -> Result<Part> {
    let columns = ["contract", "tool", "found", "calls", "CPU-seconds", "tool / vouch"];
    let title = format!("Medians to break a property, at most {limit} CPU-seconds a run");
    let mut part = Part::new(&title, load, &columns);
    for subject in subjects {
        let ours = figures(peers, Tool::Vouch, subject, seeds, limit)?;
        part.row(row(subject, Tool::Vouch, &ours, None, limit));
        let (found, runs) = (ours.found, ours.runs);
        part.goal(found == runs, format!("{}: broken by {found} of {runs} seeds", subject.title));
        for (tool, seeds) in [
            (Tool::Forge, seeds),
            (Tool::ForgeGuided, seeds),
            (Tool::Echidna, seeds.min(MAX_ECHIDNA_SEEDS)),
        ] {
            if tool.absence(peers).is_some() {
                part.failed(&subject.title, tool.name(), "not there");
                continue;
            }
            match figures(peers, tool, subject, seeds, limit) {
                Ok(figures) => part.row(row(subject, tool, &figures, ours.cpu, limit)),
                Err(error) => part.failed(&subject.title, tool.name(), &format!("{error:#}")),
            }
        }
    }
    Ok(part)
}

fn figures(
    peers: &Peers,
    tool: Tool,
    subject: &Subject,
    seeds: u64,
    limit: u64,
) -> Result<Figures> {
    eprintln!("breaks: {} on {}", tool.name(), subject.title);
    let run = |calls, seed| tool.run(peers, subject, Task { calls, seed, limit: Some(limit) });
    tool.prepare(peers, subject)?;
    // Without a call there is no run; the least is one of vouch, and a sequence of forge and Echidna.
    let idle: Vec<f64> =
        (1..=IDLE_RUNS).map(|seed| Ok(run(1, seed)?.cpu)).collect::<Result<_>>()?;
    let idle = median(&idle).context("no run without calls")?;
    let mut all: Vec<Found> = Vec::new();
    for seed in 1..=seeds {
        all.push(found(&run(CALLS, seed)?, idle));
        let missed = all.iter().filter(|found| found.is_none()).count() as u64;
        // The median is settled, and each of these costs the whole limit.
        if missed * 2 > seeds {
            break;
        }
    }
    Ok(summed(&all))
}

fn found(outcome: &Outcome, idle: f64) -> Found {
    outcome.is_broken.then(|| (outcome.calls, (outcome.cpu - idle).max(0.0)))
}

/// What was not found would have taken for ever.
fn summed(all: &[Found]) -> Figures {
    let times: Vec<f64> =
        all.iter().map(|found| found.map_or(f64::INFINITY, |(_, cpu)| cpu)).collect();
    let calls: Vec<f64> = all
        .iter()
        .map(|found| found.map_or(Some(f64::INFINITY), |(calls, _)| calls.map(|it| it as f64)))
        .collect::<Option<_>>()
        .unwrap_or_default();
    let finite = |values: &[f64]| median(values).filter(|median| median.is_finite());
    Figures {
        found: all.iter().flatten().count(),
        runs: all.len(),
        calls: finite(&calls),
        cpu: finite(&times),
    }
}

fn row(
    subject: &Subject,
    tool: Tool,
    figures: &Figures,
    ours: Option<f64>,
    limit: u64,
) -> [Cell; 6] {
    let cpu = match figures.cpu {
        Some(cpu) => Cell::Number(cpu, 3),
        None => Cell::text(format!("not in {limit}")),
    };
    let ratio = match (figures.cpu, ours) {
        (Some(cpu), Some(ours)) => Cell::text(format!("{:.1} ×", cpu.max(LEAST) / ours.max(LEAST))),
        (None, Some(ours)) => Cell::text(format!("> {:.0} ×", limit as f64 / ours.max(LEAST))),
        (_, None) => Cell::Empty,
    };
    [
        Cell::text(&subject.title),
        Cell::text(tool.name()),
        Cell::text(format!("{} of {}", figures.found, figures.runs)),
        Cell::optional(figures.calls, 0),
        cpu,
        ratio,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_count_what_was_not_found() {
        let hit = |calls, cpu| Some((Some(calls), cpu));
        let figures = |found, runs, calls, cpu| Figures { found, runs, calls, cpu };
        assert_eq!(
            summed(&[hit(10, 0.1), None, hit(30, 0.3)]),
            figures(2, 3, Some(30.0), Some(0.3))
        );
        assert_eq!(summed(&[hit(10, 0.1), None, None]), figures(1, 3, None, None));
        // One half found is not more than half.
        assert_eq!(summed(&[hit(10, 0.1), None]), figures(1, 2, None, None));
    }

    #[test]
    fn a_tool_that_does_not_count_calls_has_no_median_of_them() {
        let summed = summed(&[Some((None, 2.0)), None, Some((None, 4.0))]);
        assert_eq!(summed, Figures { found: 2, runs: 3, calls: None, cpu: Some(4.0) });
    }

    #[test]
    fn what_a_run_costs_once_is_taken_off() {
        let mut outcome = Outcome {
            cpu: 1.5,
            calls: Some(7),
            reverts: None,
            gas: None,
            is_broken: true,
            is_out_of_time: false,
        };
        assert_eq!(found(&outcome, 1.0), Some((Some(7), 0.5)));
        assert_eq!(found(&outcome, 2.0), Some((Some(7), 0.0)));
        outcome.is_broken = false;
        assert_eq!(found(&outcome, 1.0), None);
    }
}

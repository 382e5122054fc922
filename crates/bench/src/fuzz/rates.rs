//! Calls per second of processor time, with coverage and one property on, next to the bare loop and the peers.
//!
//! The fixed cost of a run (starting, compiling, loading) is equal in a long and in a short run, so the rate is computed
//! from their difference.

use anyhow::{Context, Result};

use super::peers::FuzzPeers;
use super::report::{ReportPart, TableCell, median};
use super::subjects::FuzzSubject;
use super::tools::{FuzzOutcome, FuzzTask, FuzzTool};

/// Rounds of one long and one short run per tool.
const ROUNDS: u64 = 5;
/// A long run makes this many times the calls of a short one.
const SHORT: u64 = 20;
/// A thousand runs of a hundred calls.
const FORGE_CALLS: u64 = 100_000;

const MAZE_GOAL: f64 = 100_000.0;
const BARE_GOAL: f64 = 2.0;
const FORGE_GOAL: f64 = 10.0;

/// A contract, and calls that take some seconds.
pub(super) struct RateTarget<'a> {
    pub(super) subject: &'a FuzzSubject,
    pub(super) calls: u64,
    pub(super) echidna_calls: u64,
    pub(super) is_maze: bool,
}

/// Calls per second of a tool, and averages of its calls.
#[derive(Clone, Debug, PartialEq)]
struct CallRate {
    per_second: f64,
    gas: Option<f64>,
    reverts: Option<f64>,
}

pub(super) fn measure_rates(
    peers: &FuzzPeers,
    targets: &[RateTarget<'_>],
    load: f64,
) -> Result<ReportPart> {
    let columns =
        ["contract", "tool", "calls per CPU-second", "vouch / tool", "gas per call", "reverts %"];
    let mut part = ReportPart::new("Calls per CPU-second", load, &columns);
    for target in targets {
        measure_target(peers, target, &mut part)?;
    }
    Ok(part)
}

/// Measures all tools in turn, so that a slow phase of the machine affects all of them; the ratio is the median. Echidna
/// runs once: it takes a minute for the work that others do in a second.
fn measure_target(peers: &FuzzPeers, target: &RateTarget<'_>, part: &mut ReportPart) -> Result<()> {
    let RateTarget { subject, calls, echidna_calls, .. } = *target;
    let tools = [
        (FuzzTool::Bare, calls, ROUNDS),
        (FuzzTool::Forge, FORGE_CALLS, ROUNDS),
        (FuzzTool::ForgeGuided, FORGE_CALLS, ROUNDS),
        (FuzzTool::Echidna, echidna_calls, 1),
    ];
    let mut vouch = Vec::new();
    let mut others: [Vec<Result<CallRate>>; 4] = Default::default();
    for round in 1..=ROUNDS {
        vouch.push(measure_rate(peers, FuzzTool::Vouch, subject, calls, round)?);
        for ((tool, calls, rounds), rates) in tools.iter().zip(&mut others) {
            if round <= *rounds && tool.missing_reason(peers).is_none() {
                rates.push(measure_rate(peers, *tool, subject, *calls, round));
            }
        }
    }
    let ours = median_rate(&vouch).context("no round was run")?;
    part.add_row(build_row(&subject.title, FuzzTool::Vouch, &ours, None));
    for ((tool, ..), rates) in tools.into_iter().zip(others) {
        compare_rates(part, &subject.title, tool, &vouch, rates)?;
    }
    if target.is_maze {
        let (title, per_second) = (&subject.title, ours.per_second);
        let text = format!("{title}: {per_second:.0} calls per CPU-second (goal {MAZE_GOAL:.0})");
        part.add_goal(per_second >= MAZE_GOAL, text);
    }
    Ok(())
}

/// Compares our rates with those of another tool in the same rounds.
fn compare_rates(
    part: &mut ReportPart,
    title: &str,
    tool: FuzzTool,
    vouch: &[CallRate],
    rates: Vec<Result<CallRate>>,
) -> Result<()> {
    let rates = match rates.into_iter().collect::<Result<Vec<_>>>() {
        Ok(rates) if !rates.is_empty() => rates,
        Ok(_) => {
            part.add_failure(title, tool.name(), "not installed");
            return Ok(());
        }
        Err(error) => {
            part.add_failure(title, tool.name(), &format!("{error:#}"));
            return Ok(());
        }
    };
    let ratios = vouch.iter().zip(&rates).map(|(ours, theirs)| ours.per_second / theirs.per_second);
    let ratio = median(&ratios.collect::<Vec<_>>()).context("no round was run")?;
    let rate = median_rate(&rates).context("no round was run")?;
    part.add_row(build_row(title, tool, &rate, Some(ratio)));
    match tool {
        FuzzTool::Bare => part.add_goal(
            ratio >= 1.0 / BARE_GOAL,
            format!(
                "{title}: {:.2} × the time of the bare loop (goal {BARE_GOAL:.0})",
                1.0 / ratio
            ),
        ),
        FuzzTool::Forge | FuzzTool::ForgeGuided => {
            let text = format!("{title}: {ratio:.1} × {} (goal {FORGE_GOAL:.0})", tool.name());
            part.add_goal(ratio >= FORGE_GOAL, text);
        }
        FuzzTool::Vouch | FuzzTool::Echidna => {}
    }
    Ok(())
}

fn measure_rate(
    peers: &FuzzPeers,
    tool: FuzzTool,
    subject: &FuzzSubject,
    calls: u64,
    seed: u64,
) -> Result<CallRate> {
    eprintln!("rates: {} on {} ({seed})", tool.name(), subject.title);
    tool.prepare(peers, subject)?;
    let run = |calls| tool.run(peers, subject, FuzzTask { calls, seed, limit: None });
    let short = run((calls / SHORT).max(1))?;
    let long = run(calls)?;
    rate_difference(&long, &short).with_context(|| {
        format!("{} on {}: {long:?} against {short:?}", tool.name(), subject.title)
    })
}

/// Returns the rate of the calls that the long run made beyond the short one.
fn rate_difference(long: &FuzzOutcome, short: &FuzzOutcome) -> Option<CallRate> {
    if long.is_broken || short.is_broken {
        return None;
    }
    let calls = long.calls?.checked_sub(short.calls?)? as f64;
    let seconds = long.cpu - short.cpu;
    let per_call = |figure: Option<u64>| Some(figure? as f64 / long.calls? as f64);
    (calls > 0.0 && seconds > 0.0).then(|| CallRate {
        per_second: calls / seconds,
        gas: per_call(long.gas),
        reverts: per_call(long.reverts),
    })
}

/// Returns the median by calls per second.
fn median_rate(rates: &[CallRate]) -> Option<CallRate> {
    let mut sorted: Vec<&CallRate> = rates.iter().collect();
    sorted.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    sorted.get(sorted.len() / 2).map(|rate| (*rate).clone())
}

fn build_row(title: &str, tool: FuzzTool, rate: &CallRate, ratio: Option<f64>) -> [TableCell; 6] {
    [
        TableCell::from_text(title),
        TableCell::from_text(tool.name()),
        TableCell::from_count(rate.per_second),
        ratio.map_or(TableCell::Empty, |ratio| TableCell::from_text(format!("{ratio:.2} ×"))),
        TableCell::from_optional(rate.gas, 0),
        TableCell::from_optional(rate.reverts.map(|reverts| reverts * 100.0), 1),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(calls: u64, cpu: f64) -> FuzzOutcome {
        FuzzOutcome {
            cpu,
            calls: Some(calls),
            reverts: Some(calls / 4),
            gas: Some(calls * 30_000),
            is_broken: false,
            is_out_of_time: false,
        }
    }

    #[test]
    fn fixed_cost_does_not_affect_rate() {
        let rate = rate_difference(&outcome(1000, 3.0), &outcome(200, 1.0)).unwrap();
        let wanted = CallRate { per_second: 400.0, gas: Some(30_000.0), reverts: Some(0.25) };
        assert_eq!(rate, wanted);
    }

    #[test]
    fn returns_no_rate_without_additional_calls_or_time() {
        assert_eq!(rate_difference(&outcome(200, 3.0), &outcome(200, 1.0)), None);
        assert_eq!(rate_difference(&outcome(1000, 1.0), &outcome(200, 1.0)), None);
        let broken = FuzzOutcome { is_broken: true, ..outcome(1000, 3.0) };
        assert_eq!(rate_difference(&broken, &outcome(200, 1.0)), None);
    }
}

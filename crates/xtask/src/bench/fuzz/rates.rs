//! Calls for each second of processor time, with coverage and one property on, beside the bare loop and the peers.
//!
//! What a run costs once (starting, compiling, loading) is the same in a long run and in a short one, so the rate is that
//! of what the long run did more.

use anyhow::{Context, Result};

use super::peers::Peers;
use super::report::{Cell, Part, median};
use super::subjects::Subject;
use super::tools::{Outcome, Task, Tool};

/// Long and short runs of ours and of the bare loop, in turn.
const ROUNDS: u64 = 3;
/// A short run makes this part of the calls of a long one.
const SHORT: u64 = 20;
/// A thousand runs of a hundred calls.
const FORGE_CALLS: u64 = 100_000;

const MAZE_GOAL: f64 = 100_000.0;
const BARE_GOAL: f64 = 2.0;
const FORGE_GOAL: f64 = 10.0;

/// A contract, and calls that take some seconds.
pub(super) struct Target<'a> {
    pub(super) subject: &'a Subject,
    pub(super) calls: u64,
    pub(super) echidna_calls: u64,
    pub(super) is_maze: bool,
}

/// What a tool does in a second, and what its calls are like.
#[derive(Clone, Debug, PartialEq)]
struct Rate {
    per_second: f64,
    gas: Option<f64>,
    reverts: Option<f64>,
}

pub(super) fn run(peers: &Peers, targets: &[Target<'_>], load: f64) -> Result<Part> {
    let columns =
        ["contract", "tool", "calls per CPU-second", "vouch / tool", "gas per call", "reverts %"];
    let mut part = Part::new("Calls per CPU-second", load, &columns);
    for target in targets {
        measure(peers, target, &mut part)?;
    }
    Ok(part)
}

fn measure(peers: &Peers, target: &Target<'_>, part: &mut Part) -> Result<()> {
    let (mut vouch, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let ours = rate(peers, Tool::Vouch, target.subject, target.calls, round)?;
        let limit = rate(peers, Tool::Bare, target.subject, target.calls, round)?;
        ratios.push(ours.per_second / limit.per_second);
        vouch.push(ours);
        bare.push(limit);
    }
    let vouch = middle(&vouch).context("no round was run")?;
    let bare = middle(&bare).context("no round was run")?;
    let title = &target.subject.title;
    part.row(row(title, Tool::Vouch, &vouch, None));
    let ratio = median(&ratios).context("no round was run")?;
    part.row(row(title, Tool::Bare, &bare, Some(ratio)));
    part.goal(
        ratio >= 1.0 / BARE_GOAL,
        format!("{title}: {:.2} × the time of the bare loop (goal {BARE_GOAL:.0})", 1.0 / ratio),
    );
    let per_second = vouch.per_second;
    for (tool, calls) in [
        (Tool::Forge, FORGE_CALLS),
        (Tool::ForgeGuided, FORGE_CALLS),
        (Tool::Echidna, target.echidna_calls),
    ] {
        if tool.absence(peers).is_some() {
            part.failed(title, tool.name(), "not there");
            continue;
        }
        let peer = match rate(peers, tool, target.subject, calls, 1) {
            Ok(rate) => rate,
            Err(error) => {
                part.failed(title, tool.name(), &format!("{error:#}"));
                continue;
            }
        };
        let ratio = per_second / peer.per_second;
        part.row(row(title, tool, &peer, Some(ratio)));
        if tool != Tool::Echidna {
            let text = format!("{title}: {ratio:.1} × {} (goal {FORGE_GOAL:.0})", tool.name());
            part.goal(ratio >= FORGE_GOAL, text);
        }
    }
    if target.is_maze {
        let text = format!("{title}: {per_second:.0} calls per CPU-second (goal {MAZE_GOAL:.0})");
        part.goal(per_second >= MAZE_GOAL, text);
    }
    Ok(())
}

fn rate(peers: &Peers, tool: Tool, subject: &Subject, calls: u64, seed: u64) -> Result<Rate> {
    eprintln!("rates: {} on {} ({seed})", tool.name(), subject.title);
    tool.prepare(peers, subject)?;
    let run = |calls| tool.run(peers, subject, Task { calls, seed, limit: None });
    let short = run((calls / SHORT).max(1))?;
    let long = run(calls)?;
    difference(&long, &short).with_context(|| {
        format!("{} on {}: {long:?} against {short:?}", tool.name(), subject.title)
    })
}

/// What the long run did more than the short one.
fn difference(long: &Outcome, short: &Outcome) -> Option<Rate> {
    if long.is_broken || short.is_broken {
        return None;
    }
    let calls = long.calls?.checked_sub(short.calls?)? as f64;
    let seconds = long.cpu - short.cpu;
    let per_call = |figure: Option<u64>| Some(figure? as f64 / long.calls? as f64);
    (calls > 0.0 && seconds > 0.0).then(|| Rate {
        per_second: calls / seconds,
        gas: per_call(long.gas),
        reverts: per_call(long.reverts),
    })
}

/// The one with the rate in the middle.
fn middle(rates: &[Rate]) -> Option<Rate> {
    let mut sorted: Vec<&Rate> = rates.iter().collect();
    sorted.sort_by(|a, b| a.per_second.total_cmp(&b.per_second));
    sorted.get(sorted.len() / 2).map(|rate| (*rate).clone())
}

fn row(title: &str, tool: Tool, rate: &Rate, ratio: Option<f64>) -> [Cell; 6] {
    [
        Cell::text(title),
        Cell::text(tool.name()),
        Cell::count(rate.per_second),
        ratio.map_or(Cell::Empty, |ratio| Cell::text(format!("{ratio:.2} ×"))),
        Cell::optional(rate.gas, 0),
        Cell::optional(rate.reverts.map(|reverts| reverts * 100.0), 1),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(calls: u64, cpu: f64) -> Outcome {
        Outcome {
            cpu,
            calls: Some(calls),
            reverts: Some(calls / 4),
            gas: Some(calls * 30_000),
            is_broken: false,
            is_out_of_time: false,
        }
    }

    #[test]
    fn what_a_run_costs_once_does_not_count() {
        let rate = difference(&outcome(1000, 3.0), &outcome(200, 1.0)).unwrap();
        let wanted = Rate { per_second: 400.0, gas: Some(30_000.0), reverts: Some(0.25) };
        assert_eq!(rate, wanted);
    }

    #[test]
    fn a_run_that_says_nothing_gives_no_rate() {
        assert_eq!(difference(&outcome(200, 3.0), &outcome(200, 1.0)), None);
        assert_eq!(difference(&outcome(1000, 1.0), &outcome(200, 1.0)), None);
        let broken = Outcome { is_broken: true, ..outcome(1000, 3.0) };
        assert_eq!(difference(&broken, &outcome(200, 1.0)), None);
    }
}

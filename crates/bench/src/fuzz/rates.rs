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
const ROUNDS: u64 = 5;
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

/// All tools in turn, so that what slows the machine down for a while slows down all of them; the ratio is that in the
/// middle. Echidna runs once: it takes a minute for what others do in a second.
fn measure(peers: &Peers, target: &Target<'_>, part: &mut Part) -> Result<()> {
    let Target { subject, calls, echidna_calls, .. } = *target;
    let tools = [
        (Tool::Bare, calls, ROUNDS),
        (Tool::Forge, FORGE_CALLS, ROUNDS),
        (Tool::ForgeGuided, FORGE_CALLS, ROUNDS),
        (Tool::Echidna, echidna_calls, 1),
    ];
    let mut vouch = Vec::new();
    let mut others: [Vec<Result<Rate>>; 4] = Default::default();
    for round in 1..=ROUNDS {
        vouch.push(rate(peers, Tool::Vouch, subject, calls, round)?);
        for ((tool, calls, rounds), rates) in tools.iter().zip(&mut others) {
            if round <= *rounds && tool.absence(peers).is_none() {
                rates.push(rate(peers, *tool, subject, *calls, round));
            }
        }
    }
    let ours = middle(&vouch).context("no round was run")?;
    part.row(row(&subject.title, Tool::Vouch, &ours, None));
    for ((tool, ..), rates) in tools.into_iter().zip(others) {
        compare(part, &subject.title, tool, &vouch, rates)?;
    }
    if target.is_maze {
        let (title, per_second) = (&subject.title, ours.per_second);
        let text = format!("{title}: {per_second:.0} calls per CPU-second (goal {MAZE_GOAL:.0})");
        part.goal(per_second >= MAZE_GOAL, text);
    }
    Ok(())
}

/// Our rates beside those of another tool in the same rounds.
fn compare(
    part: &mut Part,
    title: &str,
    tool: Tool,
    vouch: &[Rate],
    rates: Vec<Result<Rate>>,
) -> Result<()> {
    let rates = match rates.into_iter().collect::<Result<Vec<_>>>() {
        Ok(rates) if !rates.is_empty() => rates,
        Ok(_) => {
            part.failed(title, tool.name(), "not there");
            return Ok(());
        }
        Err(error) => {
            part.failed(title, tool.name(), &format!("{error:#}"));
            return Ok(());
        }
    };
    let ratios = vouch.iter().zip(&rates).map(|(ours, theirs)| ours.per_second / theirs.per_second);
    let ratio = median(&ratios.collect::<Vec<_>>()).context("no round was run")?;
    let rate = middle(&rates).context("no round was run")?;
    part.row(row(title, tool, &rate, Some(ratio)));
    match tool {
        Tool::Bare => part.goal(
            ratio >= 1.0 / BARE_GOAL,
            format!(
                "{title}: {:.2} × the time of the bare loop (goal {BARE_GOAL:.0})",
                1.0 / ratio
            ),
        ),
        Tool::Forge | Tool::ForgeGuided => {
            let text = format!("{title}: {ratio:.1} × {} (goal {FORGE_GOAL:.0})", tool.name());
            part.goal(ratio >= FORGE_GOAL, text);
        }
        Tool::Vouch | Tool::Echidna => {}
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

//! The results for people.

use std::io::Write;

use ::fuzz::campaign::Ended;
use contract::text::one_line;
use coverage::Ratio;

use super::results::{Results, Tested, Verdict};
use crate::report::Result;
use crate::ui::{BOLD, DIM, ERROR, GOOD, Table, Ui, WARN};

pub(super) fn print(ui: Ui, results: &Results) -> Result {
    let mut out = ui.out();
    for test in &results.tests {
        tested(&mut out, test)?;
    }
    if !results.tests.is_empty() {
        writeln!(out)?;
    }
    functions(&mut out, results)?;
    for (name, value) in facts(results) {
        writeln!(out, "{BOLD}{name:<10}{BOLD:#} {}", one_line(&value))?;
    }
    Ok(())
}

fn tested(out: &mut impl Write, test: &Tested) -> std::io::Result<()> {
    let (style, verdict) = match test.verdict {
        Verdict::Passed => (GOOD, "passed".to_owned()),
        Verdict::Open => (WARN, "not broken so far".to_owned()),
        Verdict::Failed { is_shrunk: true } => (ERROR, "FAILED".to_owned()),
        Verdict::Failed { is_shrunk: false } => {
            (ERROR, "FAILED (not shrunk to the end)".to_owned())
        }
        Verdict::Reached(Some(value)) => (GOOD, format!("reached {value}")),
        Verdict::Reached(None) => (WARN, "never returned a number".to_owned()),
    };
    write!(out, "{}: {style}{verdict}{style:#}", one_line(&test.name))?;
    if let Some(place) = &test.place {
        write!(out, " at {}", one_line(place))?;
    }
    writeln!(out)?;
    match (&test.verdict, &test.calls[..]) {
        (Verdict::Failed { .. } | Verdict::Reached(Some(_)), []) => {
            writeln!(out, "  {DIM}without any call{DIM:#}")
        }
        (_, calls) => calls.iter().try_for_each(|step| writeln!(out, "  {}", one_line(&step.line))),
    }
}

/// How each function was used: one that always reverts is a function that was not tested.
fn functions(out: &mut impl Write, results: &Results) -> std::io::Result<()> {
    if results.functions.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(["CALLS", "REVERTS", "MEAN GAS", "MOST GAS", "FUNCTION"]);
    for used in &results.functions {
        let it = used.statistics;
        let numbers = [it.calls, it.reverts, it.gas / it.calls.max(1), it.max_gas];
        let [calls, reverts, mean, most] = numbers.map(|number| number.to_string());
        table.row([calls, reverts, mean, most, one_line(&used.name)]);
    }
    table.print(out)?;
    writeln!(out)
}

fn facts(results: &Results) -> Vec<(&'static str, String)> {
    let (lines, branches) = results.report.totals();
    let mut facts = vec![
        ("calls", format!("{}, {} in a second", results.calls, results.calls_per_second())),
        ("branches", format!("{} in the code{}", results.branches, of_source(branches))),
    ];
    if lines.found > 0 {
        facts.push(("lines", percent(lines)));
    }
    let sequences = if results.corpus == 1 { "sequence" } else { "sequences" };
    facts.push(("corpus", format!("{} {sequences}", results.corpus)));
    facts.push(("seed", format!("{}, workers {}", results.seed, results.workers)));
    // All workers end for the same reason, unless one of them crashed.
    let crashed = results.has_crashed().then_some(Ended::Crashed);
    if let Some(ended) = crashed.or(results.ended.first().copied()) {
        facts.push(("ended", format!("because {ended}")));
    }
    facts
}

fn of_source(branches: Ratio) -> String {
    match branches.found {
        0 => String::new(),
        _ => format!("; in the source {}", percent(branches)),
    }
}

fn percent(ratio: Ratio) -> String {
    let percent = ratio.percent().map(|it| format!(" ({it} %)")).unwrap_or_default();
    format!("{} of {}{percent}", ratio.hit, ratio.found)
}

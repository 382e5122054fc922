//! Results as human-readable text.

use std::io::Write;

use ::fuzz::campaign::TestVerdict;
use contract::text::one_line;
use coverage::CoverageRatio;

use super::results::{CampaignResults, TestResult};
use crate::report::Result;
use crate::ui::{BOLD, DIM, ERROR, GOOD, TextTable, Ui, WARN};

pub(super) fn print_text(ui: Ui, results: &CampaignResults) -> Result {
    let mut out = ui.stdout();
    for test in &results.tests {
        print_test(&mut out, test)?;
    }
    if !results.tests.is_empty() {
        writeln!(out)?;
    }
    print_functions(&mut out, results)?;
    for (name, value) in collect_summary(results) {
        writeln!(out, "{BOLD}{name:<10}{BOLD:#} {}", one_line(&value))?;
    }
    Ok(())
}

fn print_test(out: &mut impl Write, test: &TestResult) -> std::io::Result<()> {
    let (style, verdict) = match &test.verdict {
        TestVerdict::Failed { is_shrunk: true } => (ERROR, "FAILED".to_owned()),
        TestVerdict::Failed { is_shrunk: false } => {
            (ERROR, "FAILED (shrinking incomplete)".to_owned())
        }
        verdict @ (TestVerdict::NotBroken(_) | TestVerdict::Reached { .. }) => {
            (GOOD, verdict.to_string())
        }
        verdict @ (TestVerdict::OnlyReverted { .. } | TestVerdict::NeverCalled) => {
            (WARN, verdict.to_string())
        }
        TestVerdict::NotRun(reason) => {
            (WARN, format!("NOT RUN: {}", one_line(&reason.to_string())))
        }
    };
    write!(out, "{}: {style}{verdict}{style:#}", one_line(&test.name))?;
    if let Some(location) = &test.location {
        write!(out, " at {}", one_line(location))?;
    }
    writeln!(out)?;
    match (&test.verdict, &test.calls[..]) {
        (TestVerdict::Failed { .. } | TestVerdict::Reached { .. }, []) => {
            writeln!(out, "  {DIM}no calls needed{DIM:#}")
        }
        (TestVerdict::OnlyReverted { .. }, _) => test
            .reverts
            .iter()
            .try_for_each(|(text, count)| writeln!(out, "  {count}× {}", one_line(text))),
        (_, calls) => calls.iter().try_for_each(|step| writeln!(out, "  {}", one_line(&step.line))),
    }
}

/// Prints the call statistics of each function. A function that always reverts was effectively not tested.
fn print_functions(out: &mut impl Write, results: &CampaignResults) -> std::io::Result<()> {
    if results.functions.is_empty() {
        return Ok(());
    }
    let mut table = TextTable::new(["CALLS", "REVERTS", "MEAN GAS", "MAX GAS", "FUNCTION"]);
    for used in &results.functions {
        let it = used.statistics;
        let numbers = [it.calls, it.reverts, it.gas / it.calls.max(1), it.max_gas];
        let [calls, reverts, mean, max] = numbers.map(|number| number.to_string());
        table.add_row([calls, reverts, mean, max, one_line(&used.name)]);
    }
    table.write_to(out)?;
    writeln!(out)
}

/// Returns the rows of the closing summary.
fn collect_summary(results: &CampaignResults) -> Vec<(&'static str, String)> {
    let (lines, branches) = results.report.totals();
    let mut facts = vec![
        ("calls", format!("{} ({}/s)", results.calls, results.calls_per_second())),
        (
            "branches",
            format!("{} in bytecode{}", results.branches, format_source_branches(branches)),
        ),
    ];
    if lines.found > 0 {
        facts.push(("lines", format_ratio(lines)));
    }
    let (sequences, transactions) = (results.corpus, results.corpus_transactions);
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    facts.push((
        "corpus",
        format!(
            "{sequences} sequence{}, {transactions} transaction{}",
            plural(sequences),
            plural(transactions)
        ),
    ));
    facts.push(("seed", format!("{}, workers {}", results.seed, results.workers)));
    if let Some(ended) = results.end_reason {
        facts.push(("ended", format!("because {ended}")));
    }
    facts
}

fn format_source_branches(branches: CoverageRatio) -> String {
    match branches.found {
        0 => String::new(),
        _ => format!(", {} in source", format_ratio(branches)),
    }
}

fn format_ratio(ratio: CoverageRatio) -> String {
    let percent = ratio.percent().map(|it| format!(" ({it}%)")).unwrap_or_default();
    format!("{} of {}{percent}", ratio.hit, ratio.found)
}

//! The result of a run, as a table and as JSON.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::edit::Mutant;
use crate::results::RecordedOutcome;
use crate::survivors::Survivors;

/// Counts of one crate.
#[derive(Debug, Default, Serialize)]
pub(crate) struct CrateCounts {
    /// Mutants that compile.
    pub(crate) mutants: usize,
    /// Mutants without an outcome, or whose file changed since.
    pub(crate) not_tried: usize,
    pub(crate) caught: usize,
    /// Those of `caught` that a time limit ended.
    pub(crate) timed_out: usize,
    /// Mutants without a test that reaches them. They count as survivors.
    pub(crate) unreached: usize,
    pub(crate) survivors: usize,
    /// Those of `survivors` with a reason in the list.
    pub(crate) listed: usize,
    /// Those of `survivors` without a reason: their test is missing.
    pub(crate) open: usize,
    pub(crate) not_compiled: usize,
}

#[derive(Serialize)]
pub(crate) struct SurvivorLine<'a> {
    file: &'a str,
    line: usize,
    function: &'a str,
    mutation: &'a str,
    is_reached: bool,
    reason: Option<&'a str>,
}

#[derive(Serialize)]
pub(crate) struct Report<'a> {
    pub(crate) crates: BTreeMap<&'a str, CrateCounts>,
    pub(crate) survivors: Vec<SurvivorLine<'a>>,
    timeouts: Vec<String>,
    /// Entries of the list that match no mutant, or one that a test catches.
    pub(crate) stale: Vec<String>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(
        mutants: &[&'a Mutant],
        outcomes: &HashMap<u64, RecordedOutcome>,
        list: &'a Survivors,
        stale: Vec<String>,
    ) -> Self {
        let (survivors, timeouts) = (Vec::new(), Vec::new());
        let mut report = Self { crates: BTreeMap::new(), survivors, timeouts, stale };
        for mutant in mutants {
            let outcome = outcomes.get(&mutant.id).copied().unwrap_or(RecordedOutcome::NotTried);
            let reason = list.reason(&mutant.file, &mutant.function, &mutant.mutation);
            report.add(mutant, outcome, reason);
        }
        report
    }

    fn add(&mut self, mutant: &'a Mutant, outcome: RecordedOutcome, reason: Option<&'a str>) {
        let counts = self.crates.entry(&mutant.crate_name).or_default();
        if outcome == RecordedOutcome::NotCompiled {
            counts.not_compiled += 1;
            return;
        }
        counts.mutants += 1;
        if outcome.is_caught() {
            counts.caught += 1;
            if outcome == RecordedOutcome::TimedOut {
                counts.timed_out += 1;
                self.timeouts.push(describe(mutant));
            } else if reason.is_some() {
                self.stale.push(format!("{} is caught", describe(mutant)));
            }
        } else if outcome.is_survivor() {
            let is_reached = outcome == RecordedOutcome::Survived;
            counts.survivors += 1;
            counts.unreached += usize::from(!is_reached);
            counts.listed += usize::from(reason.is_some());
            counts.open += usize::from(reason.is_none());
            self.survivors.push(SurvivorLine {
                file: &mutant.file,
                line: mutant.line,
                function: &mutant.function,
                mutation: &mutant.mutation,
                is_reached,
                reason,
            });
        } else {
            counts.not_tried += 1;
        }
    }

    /// Returns the number of survivors without a reason.
    pub(crate) fn open(&self) -> usize {
        self.survivors.iter().filter(|line| line.reason.is_none()).count()
    }

    /// Prints survivors without a reason, what is stale, and a table.
    pub(crate) fn print(&self) {
        for timeout in &self.timeouts {
            println!("timeout: {timeout}");
        }
        for survivor in self.survivors.iter().filter(|survivor| survivor.reason.is_none()) {
            let what = if survivor.is_reached { "survived" } else { "unreached" };
            let SurvivorLine { file, line, function, mutation, .. } = survivor;
            println!("{what}: {file}:{line} {function}: {mutation}");
        }
        for stale in &self.stale {
            println!("stale: {stale}");
        }
        println!(
            "{:14}{:>9}{:>9}{:>9}{:>11}{:>11}{:>8}{:>6}{:>11}{:>11}",
            "crate",
            "mutants",
            "caught",
            "timeout",
            "survivors",
            "unreached",
            "listed",
            "open",
            "not tried",
            "% caught"
        );
        let mut total = CrateCounts::default();
        for (name, counts) in &self.crates {
            print_counts(name, counts);
            total.mutants += counts.mutants;
            total.caught += counts.caught;
            total.timed_out += counts.timed_out;
            total.survivors += counts.survivors;
            total.unreached += counts.unreached;
            total.listed += counts.listed;
            total.open += counts.open;
            total.not_tried += counts.not_tried;
            total.not_compiled += counts.not_compiled;
        }
        print_counts("total", &total);
        println!("{} more switches do not compile and are left out", total.not_compiled);
    }
}

fn print_counts(name: &str, counts: &CrateCounts) {
    let tried = counts.mutants - counts.not_tried;
    println!(
        "{name:14}{:>9}{:>9}{:>9}{:>11}{:>11}{:>8}{:>6}{:>11}{:>10.1}%",
        counts.mutants,
        counts.caught,
        counts.timed_out,
        counts.survivors,
        counts.unreached,
        counts.listed,
        counts.open,
        counts.not_tried,
        100.0 * counts.caught as f64 / tried.max(1) as f64
    );
}

fn describe(mutant: &Mutant) -> String {
    format!("{}:{} {}: {}", mutant.file, mutant.line, mutant.function, mutant.mutation)
}

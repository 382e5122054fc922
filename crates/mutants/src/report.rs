//! The result of a run, as a table and as JSON.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::edit::Mutant;
use crate::run::Outcome;
use crate::survivors::{OpenSurvivors, Survivors};

/// Counts of one crate.
#[derive(Debug, Default, Serialize)]
pub(crate) struct CrateCounts {
    /// Mutants that compile.
    pub(crate) mutants: usize,
    /// Mutants that a run with a time limit did not come to.
    pub(crate) not_tried: usize,
    pub(crate) caught: usize,
    /// Those of `caught` that a time limit ended.
    pub(crate) timed_out: usize,
    /// Mutants without a test that reaches them. They count as survivors.
    pub(crate) unreached: usize,
    pub(crate) survivors: usize,
    /// Those of `survivors` with a reason in the list.
    pub(crate) listed: usize,
    /// Those of `survivors` whose test is known to be missing.
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
    is_open: bool,
}

#[derive(Serialize)]
pub(crate) struct Report<'a> {
    pub(crate) crates: BTreeMap<&'a str, CrateCounts>,
    pub(crate) survivors: Vec<SurvivorLine<'a>>,
    timeouts: Vec<String>,
    /// Entries of the list that match no mutant, or one that a test catches.
    pub(crate) stale: Vec<String>,
    #[serde(skip)]
    is_partial: bool,
}

impl<'a> Report<'a> {
    pub(crate) fn new(
        mutants: &[&'a Mutant],
        rejected: &HashSet<u64>,
        outcomes: &HashMap<u64, Outcome>,
        (list, open): (&'a Survivors, &OpenSurvivors),
        stale: Vec<String>,
    ) -> Self {
        let mut report = Self {
            crates: BTreeMap::new(),
            survivors: Vec::new(),
            timeouts: Vec::new(),
            stale,
            is_partial: false,
        };
        for mutant in mutants {
            let counts = report.crates.entry(&mutant.crate_name).or_default();
            if rejected.contains(&mutant.id) {
                counts.not_compiled += 1;
                continue;
            }
            counts.mutants += 1;
            let reason = list.reason(mutant);
            match outcomes.get(&mutant.id) {
                None => counts.not_tried += 1,
                Some(outcome @ (Outcome::Caught(_) | Outcome::TimedOut(_))) => {
                    counts.caught += 1;
                    if let Outcome::TimedOut(_) = outcome {
                        counts.timed_out += 1;
                        report.timeouts.push(describe(mutant));
                    } else if reason.is_some() {
                        report.stale.push(format!("{} is caught", describe(mutant)));
                    }
                }
                Some(outcome) => {
                    let is_reached = *outcome == Outcome::Survived;
                    counts.survivors += 1;
                    counts.unreached += usize::from(!is_reached);
                    counts.listed += usize::from(reason.is_some());
                    let is_open = reason.is_none() && open.contains(mutant);
                    counts.open += usize::from(is_open);
                    report.survivors.push(SurvivorLine {
                        file: &mutant.file,
                        line: mutant.line,
                        function: &mutant.function,
                        mutation: &mutant.mutation,
                        is_reached,
                        reason,
                        is_open,
                    });
                }
            }
        }
        report.is_partial = report.crates.values().any(|counts| counts.not_tried > 0);
        report
    }

    /// Returns the number of survivors that no list has.
    pub(crate) fn unlisted(&self) -> usize {
        self.survivors.iter().filter(|line| line.reason.is_none() && !line.is_open).count()
    }

    /// Prints survivors without a reason, what is stale, and a table.
    pub(crate) fn print(&self) {
        for timeout in &self.timeouts {
            println!("timeout: {timeout}");
        }
        for survivor in self.survivors.iter().filter(|survivor| survivor.reason.is_none()) {
            let what = match (survivor.is_open, survivor.is_reached) {
                (true, _) => "open",
                (false, true) => "survived",
                (false, false) => "unreached",
            };
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
        if self.is_partial {
            println!("a part of the mutants was not tried: the time limit of this run");
        }
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

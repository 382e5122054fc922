//! The table of recorded outcomes in docs/mutants.md.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};

use crate::results::{CrateResults, RecordedOutcome};
use crate::select::CRATES;
use crate::survivors::Survivors;
use crate::{LIST, RESULTS};

const DOCS: &str = "docs/mutants.md";
const START: &str = "<!-- results: written by `cargo xtask mutants` -->\n";
const END: &str = "<!-- end of results -->\n";

/// Counts of the recorded outcomes of one crate.
#[derive(Debug, Default)]
struct RecordedCounts {
    mutants: usize,
    tried: usize,
    caught: usize,
    listed: usize,
    open: usize,
    commits: Vec<String>,
}

impl RecordedCounts {
    fn of(results: &CrateResults, list: &Survivors) -> Self {
        let mut counts = Self::default();
        for (path, file) in &results.files {
            let known = file.outcomes.iter().filter(|o| **o != RecordedOutcome::NotCompiled);
            counts.mutants += known.count();
            let caught = file.outcomes.iter().filter(|outcome| outcome.is_caught()).count();
            counts.caught += caught;
            counts.tried += caught + file.survivors.len();
            let is_listed = |(function, mutation): &&(String, String)| {
                list.reason(path, function, mutation).is_some()
            };
            let listed = file.survivors.iter().filter(is_listed).count();
            counts.listed += listed;
            counts.open += file.survivors.len() - listed;
            let is_tried = caught + file.survivors.len() > 0;
            if is_tried && !counts.commits.contains(&file.commit) {
                counts.commits.push(file.commit.clone());
            }
        }
        counts
    }

    fn add(&mut self, other: &Self) {
        self.mutants += other.mutants;
        self.tried += other.tried;
        self.caught += other.caught;
        self.listed += other.listed;
        self.open += other.open;
    }

    fn write_row(&self, table: &mut String, name: &str) {
        let Self { mutants, tried, caught, listed, open, commits } = self;
        // Rounded down: 100 % means all.
        let percent = (1000 * caught).checked_div(*tried).unwrap_or_default() as f64 / 10.0;
        let _ = writeln!(
            table,
            "| {name} | {mutants} | {tried} | {caught} | {percent:.1} % | {listed} | {open} | {} | {} |",
            mutants - tried,
            commits.join(", ")
        );
    }
}

fn render_table(root: &Path) -> Result<String> {
    let list = Survivors::read(&root.join(LIST))?;
    let mut table = "\
| crate | mutants | tried | caught | of tried | survivors with a reason | open | not tried | commits |
|---|---:|---:|---:|---:|---:|---:|---:|---|
"
    .to_owned();
    let mut total = RecordedCounts::default();
    for (name, _) in CRATES {
        let results = CrateResults::read(&root.join(RESULTS), name)?;
        let counts = RecordedCounts::of(&results, &list);
        counts.write_row(&mut table, &format!("`{name}`"));
        total.add(&counts);
    }
    total.write_row(&mut table, "all");
    Ok(table)
}

/// Returns the documentation with the table of the present record.
fn with_table(docs: &str, table: &str) -> Option<String> {
    let (before, rest) = docs.split_once(START)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{START}\n{table}\n{END}{after}"))
}

/// Writes the table to the documentation.
pub(crate) fn update_docs(root: &Path) -> Result<()> {
    let path = root.join(DOCS);
    let context = || format!("failed to update the table in {}", path.display());
    let docs = std::fs::read_to_string(&path).with_context(context)?;
    let updated = with_table(&docs, &render_table(root)?).with_context(context)?;
    if updated != docs {
        std::fs::write(&path, updated).with_context(context)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_shows_the_recorded_outcomes() {
        let root = xtask::command::root();
        let docs = std::fs::read_to_string(root.join(DOCS)).unwrap();
        let expected = with_table(&docs, &render_table(&root).unwrap()).unwrap();
        assert_eq!(docs, expected, "run `cargo xtask mutants --recorded` to update {DOCS}");
    }
}

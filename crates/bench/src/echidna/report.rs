//! The table of outcomes and its totals.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// One line of the table.
#[derive(Debug, Serialize)]
pub(crate) struct SuiteRow {
    pub(crate) file: String,
    pub(crate) contract: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<String>,
    pub(crate) test: String,
    pub(crate) expected: String,
    pub(crate) got: String,
    pub(crate) verdict: RowVerdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowVerdict {
    Right,
    Differs,
    /// Without an expectation: the row lists the outcome.
    Listed,
    /// For another compiler, or the file does not compile.
    NotRun,
    NotAnOutcome,
}

/// All results of one run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct SuiteReport {
    pub(crate) compiler: String,
    pub(crate) files: usize,
    /// Files that do not compile, with the compiler's message in one line.
    pub(crate) not_compiled: BTreeMap<String, String>,
    pub(crate) rows: Vec<SuiteRow>,
    /// Configuration keys without effect here, and the files that have them.
    pub(crate) keys: BTreeMap<String, BTreeSet<String>>,
    /// Tests of the suite that run no smart contract.
    pub(crate) others: Vec<String>,
}

/// Maximum characters of an outcome in the table; `--json` has all of it.
const SHOWN: usize = 90;

impl SuiteReport {
    pub(crate) fn count(&self, verdict: RowVerdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    pub(crate) fn to_table(&self) -> String {
        let header = ["file", "contract", "test", "expected", "ok", "got"].map(str::to_owned);
        let mut lines = vec![header];
        lines.extend(self.rows.iter().map(SuiteRow::cells));
        let mut widths = [0; 5];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut out = String::new();
        for line in &lines {
            for (width, cell) in widths.iter().zip(line) {
                out.push_str(&format!("{cell:<width$}  "));
            }
            out.push_str(&line[5]);
            out.push('\n');
        }
        out
    }

    pub(crate) fn to_totals(&self) -> String {
        let right = self.count(RowVerdict::Right);
        let judged = right + self.count(RowVerdict::Differs);
        let mut lines = vec![
            format!("compiler: {}", self.compiler),
            format!("files compiled: {} of {}", self.files - self.not_compiled.len(), self.files),
        ];
        lines.extend(self.not_compiled.iter().map(|(file, why)| format!("  {file}: {why}")));
        lines.push(format!("outcomes right: {right} of {judged}"));
        lines.push(format!("listed without expectation: {}", self.count(RowVerdict::Listed)));
        lines.push(format!("not run: {}", self.count(RowVerdict::NotRun)));
        let others = self.rows.iter().filter(|row| row.verdict == RowVerdict::NotAnOutcome);
        let others: BTreeSet<_> = others.map(|row| row.test.as_str()).collect();
        let number = self.count(RowVerdict::NotAnOutcome);
        lines.push(format!("not an outcome: {number} ({})", join_names(&others)));
        lines.push(format!("tests without a contract: {}", self.others.join(", ")));
        for (key, files) in &self.keys {
            lines.push(format!("no effect: {key} ({})", join_names(files)));
        }
        lines.join("\n")
    }
}

fn join_names<T: AsRef<str>>(names: &BTreeSet<T>) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

impl SuiteRow {
    fn cells(&self) -> [String; 6] {
        let file = match &self.config {
            Some(config) => format!("{} [{}]", self.file, short_name(config)),
            None => self.file.clone(),
        };
        let ok = match self.verdict {
            RowVerdict::Right => "yes",
            RowVerdict::Differs => "NO",
            RowVerdict::Listed | RowVerdict::NotRun | RowVerdict::NotAnOutcome => "-",
        };
        let [contract, test, expected] =
            [&self.contract, &self.test, &self.expected].map(Clone::clone);
        [file, contract, test, expected, ok.to_owned(), shorten_to_line(&self.got)]
    }
}

fn short_name(config: &str) -> &str {
    let name = config.rsplit('/').next().unwrap_or(config);
    name.strip_suffix(".yaml").unwrap_or(name)
}

/// Returns the beginning of a text, without line breaks.
pub(crate) fn shorten_to_line(text: &str) -> String {
    let text: Vec<_> = text.split_whitespace().collect();
    let text = text.join(" ");
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

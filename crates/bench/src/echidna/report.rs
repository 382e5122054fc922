//! The table of outcomes and what it comes to.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// One line of the table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) file: String,
    pub(crate) contract: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) config: Option<String>,
    pub(crate) test: String,
    pub(crate) expected: String,
    pub(crate) got: String,
    pub(crate) verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Right,
    Differs,
    /// Nothing is expected: the line says what happened.
    Listed,
    /// It is meant for another compiler, or its file does not compile.
    NotRun,
    NotAnOutcome,
}

/// Everything that one run of the task found.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) compiler: String,
    pub(crate) files: usize,
    /// With what the compiler says, in one line.
    pub(crate) not_compiled: BTreeMap<String, String>,
    pub(crate) rows: Vec<Row>,
    /// Keys of configurations without effect here, and the files that have them.
    pub(crate) keys: BTreeMap<String, BTreeSet<String>>,
    /// Tests of the suite that run no contract.
    pub(crate) others: Vec<String>,
}

/// How much of what was found a line of the table shows; `--json` has all of it.
const SHOWN: usize = 90;

impl Report {
    pub(crate) fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    pub(crate) fn table(&self) -> String {
        let header = ["file", "contract", "test", "expected", "ok", "got"].map(str::to_owned);
        let mut lines = vec![header];
        lines.extend(self.rows.iter().map(Row::cells));
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

    pub(crate) fn totals(&self) -> String {
        let right = self.count(Verdict::Right);
        let judged = right + self.count(Verdict::Differs);
        let mut lines = vec![
            format!("compiler: {}", self.compiler),
            format!("files compiled: {} of {}", self.files - self.not_compiled.len(), self.files),
        ];
        lines.extend(self.not_compiled.iter().map(|(file, why)| format!("  {file}: {why}")));
        lines.push(format!("outcomes right: {right} of {judged}"));
        lines.push(format!("listed without expectation: {}", self.count(Verdict::Listed)));
        lines.push(format!("not run: {}", self.count(Verdict::NotRun)));
        let others = self.rows.iter().filter(|row| row.verdict == Verdict::NotAnOutcome);
        let others: BTreeSet<_> = others.map(|row| row.test.as_str()).collect();
        let number = self.count(Verdict::NotAnOutcome);
        lines.push(format!("not an outcome: {number} ({})", join(&others)));
        lines.push(format!("tests without a contract: {}", self.others.join(", ")));
        for (key, files) in &self.keys {
            lines.push(format!("no effect: {key} ({})", join(files)));
        }
        lines.join("\n")
    }
}

fn join<T: AsRef<str>>(names: &BTreeSet<T>) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

impl Row {
    fn cells(&self) -> [String; 6] {
        let file = match &self.config {
            Some(config) => format!("{} [{}]", self.file, short(config)),
            None => self.file.clone(),
        };
        let ok = match self.verdict {
            Verdict::Right => "yes",
            Verdict::Differs => "NO",
            Verdict::Listed | Verdict::NotRun | Verdict::NotAnOutcome => "-",
        };
        let [contract, test, expected] =
            [&self.contract, &self.test, &self.expected].map(Clone::clone);
        [file, contract, test, expected, ok.to_owned(), one_line(&self.got)]
    }
}

fn short(config: &str) -> &str {
    let name = config.rsplit('/').next().unwrap_or(config);
    name.strip_suffix(".yaml").unwrap_or(name)
}

/// The beginning of a text, without line breaks.
pub(crate) fn one_line(text: &str) -> String {
    let text: Vec<_> = text.split_whitespace().collect();
    let text = text.join(" ");
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

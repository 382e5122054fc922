//! The powers that a folder's files ask for, in a form that people can read.

use std::collections::BTreeMap;
use std::fmt;

use contract::text::one_line;
use serde::{Deserialize, Serialize};

/// Maximum characters of one power in a list with a limit. A longer one is cut, with the number of the others.
const MAX_TEXT: usize = 500;

/// The kind of a power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerKind {
    /// Starts a program.
    Program,
    /// Widens or removes the sandbox of a program.
    Sandbox,
    /// Connects to another machine or program.
    Endpoint,
    /// Reads an environment variable.
    Variable,
    /// Reads or writes files at a place that the folder chooses.
    File,
    /// Compiles, or runs a compiler that the folder contains.
    Compiler,
    /// Switches an approval off.
    Approval,
    /// Supplies or relaxes the contracts of upstream tools.
    Contract,
    /// Listens beyond loopback, or admits browsers and host names.
    Listen,
    /// Changes the limits of a tool.
    Limit,
    /// Any other setting that does not only restrict.
    Setting,
}

impl PowerKind {
    /// Returns the word for the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Sandbox => "sandbox",
            Self::Endpoint => "endpoint",
            Self::Variable => "variable",
            Self::File => "file",
            Self::Compiler => "compiler",
            Self::Approval => "approval",
            Self::Contract => "contract",
            Self::Listen => "listen",
            Self::Limit => "limit",
            Self::Setting => "setting",
        }
    }
}

/// One thing that a folder would be allowed to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FolderPower {
    pub kind: PowerKind,
    /// The whole power on one line, without hidden characters. It is compared, so it is never cut.
    pub text: String,
}

impl FolderPower {
    /// Creates a power. Hidden characters and line breaks of the text are escaped, because the folder chose it.
    pub(super) fn new(kind: PowerKind, text: impl AsRef<str>) -> Self {
        Self { kind, text: one_line(text.as_ref()) }
    }

    /// Returns true if an untrusted folder does not get the power. Lower limits always apply, higher ones never do.
    pub fn is_left_out(&self) -> bool {
        self.kind != PowerKind::Limit
    }
}

impl fmt::Display for FolderPower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<9} {}", self.kind.as_str(), self.text)
    }
}

/// Returns all powers as indented lines, in full: what is agreed to must be shown.
pub fn format_all_powers<'p>(powers: impl IntoIterator<Item = &'p FolderPower>) -> String {
    let lines: Vec<_> = powers.into_iter().map(|power| format!("  {power}")).collect();
    lines.join("\n")
}

/// Returns the powers as indented lines, at most `limit` of them, with the number of the others. Long ones are cut.
pub fn format_powers<'p>(
    powers: impl IntoIterator<Item = &'p FolderPower>,
    limit: usize,
) -> String {
    let all: Vec<_> = powers.into_iter().collect();
    let cut = |power: &&FolderPower| format!("  {}", cut_line(&power.to_string()));
    let mut lines: Vec<_> = all.iter().take(limit).map(cut).collect();
    if all.len() > limit {
        lines.push(format!("  … and {} more", all.len() - limit));
    }
    lines.join("\n")
}

/// Returns the start of a long line, with the number of characters that were cut.
fn cut_line(line: &str) -> String {
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => {
            let count = line[end..].chars().count();
            format!("{}… and {count} more characters; `vouch trust` shows all", &line[..end])
        }
        None => line.to_owned(),
    }
}

/// Returns the number of powers of each kind, such as `2 programs, 1 endpoint`.
pub fn summarize_powers<'p>(powers: impl IntoIterator<Item = &'p FolderPower>) -> String {
    let mut counts: BTreeMap<PowerKind, usize> = BTreeMap::new();
    for power in powers {
        *counts.entry(power.kind).or_default() += 1;
    }
    let count = |(kind, count): (PowerKind, usize)| {
        let word = kind.as_str();
        if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
    };
    let parts: Vec<_> = counts.into_iter().map(count).collect();
    if parts.is_empty() { "nothing".to_owned() } else { one_line(&parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_the_folder_cannot_forge_lines() {
        let power = FolderPower::new(PowerKind::Program, "x\n  approval  none\u{1b}[2J\u{202e}");
        let text = format_powers([&power], 5);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }

    /// An argument behind a long harmless one is part of what is shown and compared.
    #[test]
    fn end_of_a_long_power_is_not_hidden() {
        let long = "a".repeat(5000);
        let [one, two] = ["--safe", "--evil"]
            .map(|end| FolderPower::new(PowerKind::Program, format!("x {long} {end}")));
        assert_ne!(one, two);
        assert!(format_all_powers([&two]).ends_with("--evil"));
        let cut = format_powers([&two], 5);
        assert!(cut.contains("… and 4519 more characters"), "{cut}");
    }

    #[test]
    fn long_lists_are_counted() {
        let power = |n: usize| FolderPower::new(PowerKind::Program, format!("p{n}"));
        let powers: Vec<_> = (0..9).map(power).collect();
        assert!(format_powers(&powers, 2).ends_with("… and 7 more"));
        assert_eq!(summarize_powers(&powers), "9 programs");
        assert_eq!(summarize_powers([]), "nothing");
    }
}

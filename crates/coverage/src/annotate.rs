//! Source text with hit counts in the margin, for terminals and diffs.
//!
//! ```text
//!    6 |  12 ½ |         if (price > cap) {
//!    7 |   0   |             return cap;
//!    8 |       |         }
//! ```
//!
//! An empty margin means that the line has no code or that its count is unknown.

use std::fmt::{self, Write as _};

use solidity::SolidityBuild;

use crate::report::{CoverageReport, FileReport};

/// Marks a line with a decision that always had the same outcome.
const HALF: char = '½';

/// Returns the annotated source of all files in the report.
pub fn annotate_sources(report: &CoverageReport, build: &SolidityBuild) -> String {
    let mut text = String::new();
    for file in &report.files {
        let source = build.sources.iter().find(|source| source.path == file.path);
        // Writing to a string does not fail.
        write_file(&mut text, file, source.map_or("", |source| &source.text)).unwrap_or_default();
    }
    text
}

fn write_file(text: &mut String, file: &FileReport, source: &str) -> fmt::Result {
    let (lines, branches) = (file.line_ratio(), file.branch_ratio());
    writeln!(
        text,
        "{}: {}/{} lines, {}/{} branches\n",
        replace_control_chars(&file.path),
        lines.hit,
        lines.found,
        branches.hit,
        branches.found
    )?;
    let number_width = source.lines().count().to_string().len().max(4);
    let widest = file.lines.values().max().copied().unwrap_or_default();
    let count_width = widest.to_string().len().max(3);
    for (number, line) in (1..).zip(source.lines()) {
        let count = file.lines.get(&number).map(u64::to_string).unwrap_or_default();
        let half = file.branches_on(number).any(|branch| branch.is_half_taken());
        let mark = if half { HALF } else { ' ' };
        let margin = format!("{number:>number_width$} | {count:>count_width$} {mark} | ");
        writeln!(text, "{}", format!("{margin}{}", replace_control_chars(line)).trim_end())?;
    }
    writeln!(text)
}

/// Replaces control characters, so that file content cannot send escape sequences to a terminal.
fn replace_control_chars(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

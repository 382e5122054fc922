//! LCOV tracefiles, which `genhtml`, editors and coverage services read.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use crate::report::{CoverageReport, FileReport, FunctionCoverage};

/// Returns the report as an LCOV tracefile.
pub fn render_lcov(report: &CoverageReport) -> String {
    let mut text = String::new();
    for file in &report.files {
        // Writing to a string does not fail.
        write_file(&mut text, file).unwrap_or_default();
    }
    text
}

fn write_file(text: &mut String, file: &FileReport) -> fmt::Result {
    writeln!(text, "TN:\nSF:{}", file.path.replace(['\n', '\r'], " "))?;
    write_functions(text, &file.functions)?;
    write_branches(text, file)?;
    for (line, count) in &file.lines {
        writeln!(text, "DA:{line},{count}")?;
    }
    let lines = file.line_ratio();
    writeln!(text, "LF:{}\nLH:{}\nend_of_record", lines.found, lines.hit)
}

fn write_functions(text: &mut String, functions: &[FunctionCoverage]) -> fmt::Result {
    let names = distinct_names(functions);
    for (function, name) in functions.iter().zip(&names) {
        writeln!(text, "FN:{},{name}", function.line)?;
    }
    for (function, name) in functions.iter().zip(&names) {
        writeln!(text, "FNDA:{},{name}", function.count)?;
    }
    let hit = functions.iter().filter(|function| function.count > 0).count();
    writeln!(text, "FNF:{}\nFNH:{hit}", functions.len())
}

/// Returns a unique name for each function. LCOV identifies functions by name, so overloads get their line appended.
fn distinct_names(functions: &[FunctionCoverage]) -> Vec<String> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for function in functions {
        *uses.entry(&function.name).or_default() += 1;
    }
    let name = |function: &FunctionCoverage| match uses.get(function.name.as_str()) {
        Some(1) => function.name.clone(),
        _ => format!("{}:{}", function.name, function.line),
    };
    functions.iter().map(name).collect()
}

/// Writes each decision as a block with two branches; `-` means that it was never reached.
fn write_branches(text: &mut String, file: &FileReport) -> fmt::Result {
    let mut last = (0, 0);
    for branch in &file.branches {
        last = (branch.line, if last.0 == branch.line { last.1 + 1 } else { 0 });
        for (index, outcome) in branch.outcomes.iter().enumerate() {
            write!(text, "BRDA:{},{},{index},", branch.line, last.1)?;
            if branch.was_reached() {
                // LCOV requires a number: 1 for an outcome that was seen but not counted.
                let count = outcome.count.unwrap_or_default().max(u64::from(outcome.seen));
                writeln!(text, "{count}")?;
            } else {
                writeln!(text, "-")?;
            }
        }
    }
    let branches = file.branch_ratio();
    writeln!(text, "BRF:{}\nBRH:{}", branches.found, branches.hit)
}

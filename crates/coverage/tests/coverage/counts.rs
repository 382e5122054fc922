//! Hit counts of lines, branches and functions.

use coverage::{CoverageReport, FileReport, annotate_sources, render_lcov};

use crate::fixture::{Fixture, Mode};

/// All builds run the same source with the same calls. A count of an optimized build must therefore equal that of the
/// unoptimized build. It may omit counts.
#[test]
fn optimized_builds_do_not_contradict_unoptimized_counts() {
    for name in ["Shop", "Merge"] {
        let expected = Fixture::load(name, Mode::Unoptimized).report();
        for mode in [Mode::Optimized, Mode::ViaIr] {
            let report = Fixture::load(name, mode).report();
            let wrong = contradictions(&report, &expected);
            assert_eq!(wrong, Vec::<String>::new(), "{name}, {mode:?}");
        }
    }
}

fn contradictions(report: &CoverageReport, expected: &CoverageReport) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in &report.files {
        let none = FileReport::default();
        let expected = expected.files.iter().find(|other| other.path == file.path).unwrap_or(&none);
        for (line, count) in &file.lines {
            if expected.lines.get(line) != Some(count) {
                wrong.push(format!("line {line}: {count}, not {:?}", expected.lines.get(line)));
            }
        }
        for branch in &file.branches {
            let other = expected.branches.iter().find(|other| other.start == branch.start);
            let agrees = other.is_some_and(|other| {
                branch.outcomes.iter().zip(other.outcomes).all(|(outcome, other)| {
                    outcome.seen == other.seen
                        && (outcome.count.is_none() || outcome.count == other.count)
                })
            });
            if !agrees {
                wrong.push(format!("{branch:?}, not {other:?}"));
            }
        }
        for function in file.functions.iter().filter(|f| !expected.functions.contains(f)) {
            wrong.push(format!("{function:?}"));
        }
    }
    wrong
}

fn render_report(name: &str, mode: Mode) -> String {
    let fixture = Fixture::load(name, mode);
    let report = fixture.report();
    format!("{}{}", annotate_sources(&report, &fixture.build), render_lcov(&report))
}

#[test]
fn reports_unoptimized_shop() {
    insta::assert_snapshot!(render_report("Shop", Mode::Unoptimized));
}

#[test]
fn reports_optimized_shop() {
    insta::assert_snapshot!(render_report("Shop", Mode::Optimized));
}

#[test]
fn reports_shop_via_ir() {
    insta::assert_snapshot!(render_report("Shop", Mode::ViaIr));
}

#[test]
fn reports_unoptimized_merge() {
    insta::assert_snapshot!(render_report("Merge", Mode::Unoptimized));
}

#[test]
fn reports_optimized_merge() {
    insta::assert_snapshot!(render_report("Merge", Mode::Optimized));
}

#[test]
fn reports_merge_via_ir() {
    insta::assert_snapshot!(render_report("Merge", Mode::ViaIr));
}

//! What lines, branches and functions are told to have run.

use coverage::{FileReport, Report, annotate, lcov};

use crate::fixture::{Fixture, Mode};

/// The code is the same source run with the same calls, so whatever an optimised build tells must be what the
/// unoptimised one tells. It may tell less.
#[test]
fn optimised_builds_tell_nothing_else() {
    for name in ["Shop", "Merge"] {
        let truth = Fixture::load(name, Mode::Unoptimised).report();
        for mode in [Mode::Optimised, Mode::ViaIr] {
            let report = Fixture::load(name, mode).report();
            let wrong = contradictions(&report, &truth);
            assert_eq!(wrong, Vec::<String>::new(), "{name}, {mode:?}");
        }
    }
}

fn contradictions(report: &Report, truth: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in &report.files {
        let none = FileReport::default();
        let truth = truth.files.iter().find(|other| other.path == file.path).unwrap_or(&none);
        for (line, count) in &file.lines {
            if truth.lines.get(line) != Some(count) {
                wrong.push(format!("line {line}: {count}, not {:?}", truth.lines.get(line)));
            }
        }
        for branch in &file.branches {
            let other = truth.branches.iter().find(|other| other.start == branch.start);
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
        for function in file.functions.iter().filter(|f| !truth.functions.contains(f)) {
            wrong.push(format!("{function:?}"));
        }
    }
    wrong
}

fn check(name: &str, mode: Mode) -> String {
    let fixture = Fixture::load(name, mode);
    let report = fixture.report();
    format!("{}{}", annotate(&report, &fixture.build), lcov(&report))
}

#[test]
fn unoptimised_shop() {
    insta::assert_snapshot!(check("Shop", Mode::Unoptimised));
}

#[test]
fn optimised_shop() {
    insta::assert_snapshot!(check("Shop", Mode::Optimised));
}

#[test]
fn shop_via_ir() {
    insta::assert_snapshot!(check("Shop", Mode::ViaIr));
}

#[test]
fn unoptimised_merge() {
    insta::assert_snapshot!(check("Merge", Mode::Unoptimised));
}

#[test]
fn optimised_merge() {
    insta::assert_snapshot!(check("Merge", Mode::Optimised));
}

#[test]
fn merge_via_ir() {
    insta::assert_snapshot!(check("Merge", Mode::ViaIr));
}

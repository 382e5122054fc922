//! Results as a JUnit report, for CI systems.
//!
//! JUnit has no state for a test about which nothing is known. Such a test is `skipped`, never a success; with `--strict`
//! it is an `error`. A contract that was not tested has one case that states the reason.

use std::collections::BTreeMap;

use ::fuzz::campaign::TestVerdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::results::{CampaignResults, TestResult};
use crate::report::{FailureExt, Result};

/// Name of the case of a contract that was not tested.
const NO_TESTS: &str = "all tests";

/// A contract in the report, with its name as `path:Name` or `Name`.
pub(super) struct ReportedContract<'a> {
    pub(super) name: &'a str,
    pub(super) outcome: ContractOutcome<'a>,
}

pub(super) enum ContractOutcome<'a> {
    Tested(&'a CampaignResults),
    /// It could not be tested, for a reason.
    Refused(String),
    /// The run ended before it, for a reason.
    NotReached(&'static str),
}

/// Returns the report as XML, with one suite per contract.
pub(super) fn results_to_junit(all: &[ReportedContract<'_>], is_strict: bool) -> Result<String> {
    let mut report = Report::new("vouch fuzz");
    let tested = all.iter().filter_map(|it| match it.outcome {
        ContractOutcome::Tested(results) => Some(results.elapsed),
        _ => None,
    });
    report.set_time(tested.sum());
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for contract in all {
        *count.entry(bare_name(contract.name)).or_default() += 1;
    }
    for ReportedContract { name, outcome } in all {
        let bare = bare_name(name);
        let name = if count[bare] > 1 { name } else { bare };
        match outcome {
            ContractOutcome::Tested(results) => {
                report.add_test_suites(build_suites(bare, name, results, is_strict));
            }
            ContractOutcome::Refused(reason) => {
                let status = TestCaseStatus::non_success(NonSuccessKind::Error);
                report.add_test_suite(build_untested(name, status, "refused", reason));
            }
            ContractOutcome::NotReached(reason) => {
                let status = build_unknown_status(is_strict);
                report.add_test_suite(build_untested(name, status, "not-run", reason));
            }
        }
    }
    report.to_string().explain("failed to format the JUnit report")
}

fn bare_name(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Returns the suites of one campaign. That of the contract `bare`, which it is about, is called `name`.
fn build_suites(
    bare: &str,
    name: &str,
    results: &CampaignResults,
    is_strict: bool,
) -> Vec<TestSuite> {
    let mut suites: Vec<(&str, TestSuite)> = Vec::new();
    for test in &results.tests {
        let contract = test.contract.as_str();
        let shown = if contract == bare { name } else { contract };
        let position = suites.iter().position(|(known, _)| *known == contract);
        let position = position.unwrap_or_else(|| {
            suites.push((contract, TestSuite::new(escape_text(shown))));
            suites.len() - 1
        });
        suites[position].1.add_test_case(build_case(test, shown, is_strict));
    }
    suites.into_iter().map(|(_, suite)| suite).collect()
}

/// Returns the suite of a contract that was not tested.
fn build_untested(
    name: &str,
    mut status: TestCaseStatus,
    kind: &'static str,
    reason: &str,
) -> TestSuite {
    status.set_type(kind).set_message(escape_text(reason));
    let mut case = TestCase::new(NO_TESTS, status);
    case.set_classname(escape_text(name));
    let mut suite = TestSuite::new(escape_text(name));
    suite.add_test_case(case);
    suite
}

fn build_case(test: &TestResult, contract: &str, is_strict: bool) -> TestCase {
    let mut case = TestCase::new(escape_text(&format_name(test)), build_status(test, is_strict));
    case.set_classname(escape_text(contract));
    if test.verdict.is_exercised() {
        case.set_system_out(escape_text(&test.verdict.to_string()));
    }
    case
}

/// Returns the name of the test; a test that failed at several locations has one case for each.
fn format_name(test: &TestResult) -> String {
    match &test.location {
        Some(location) => format!("{} at {location}", test.name),
        None => test.name.clone(),
    }
}

fn build_status(test: &TestResult, is_strict: bool) -> TestCaseStatus {
    let mut status = match &test.verdict {
        TestVerdict::NotBroken(_) | TestVerdict::Reached { .. } => {
            return TestCaseStatus::success();
        }
        TestVerdict::Failed { .. } => TestCaseStatus::non_success(NonSuccessKind::Failure),
        _ => build_unknown_status(is_strict),
    };
    status.set_type(test.verdict.name()).set_message(escape_text(&test.verdict.to_string()));
    let details = describe_details(test);
    if !details.is_empty() {
        status.set_description(escape_text(&details));
    }
    status
}

/// Returns the status of a test about which nothing is known.
fn build_unknown_status(is_strict: bool) -> TestCaseStatus {
    match is_strict {
        true => TestCaseStatus::non_success(NonSuccessKind::Error),
        false => TestCaseStatus::skipped(),
    }
}

/// Returns the calls of a failure, or the reasons of reverts, one per line.
fn describe_details(test: &TestResult) -> String {
    let calls = test.calls.iter().map(|step| step.line.clone());
    let reverts = test.reverts.iter().map(|(text, count)| format!("{count}× {text}"));
    match test.verdict {
        TestVerdict::Failed { .. } => calls.collect::<Vec<_>>().join("\n"),
        _ => reverts.collect::<Vec<_>>().join("\n"),
    }
}

/// Escapes control characters, and those that XML forbids: a contract chooses the texts, and a parser must accept the file.
fn escape_text(text: &str) -> String {
    let is_plain = |letter: char| {
        matches!(letter, '\n' | '\t')
            || !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}')
    };
    let mut escaped = String::new();
    for letter in text.chars() {
        match is_plain(letter) {
            true => escaped.push(letter),
            false => escaped.extend(letter.escape_unicode()),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untested_contracts_are_reported_with_their_reasons() {
        let contract = |name, outcome| ReportedContract { name, outcome };
        let all = [
            contract(
                "a.sol:Same",
                ContractOutcome::Refused("setUp() <failed>\u{1b}[31m\u{ffff}".into()),
            ),
            contract("b.sol:Same", ContractOutcome::NotReached("the run was stopped")),
            contract("b.sol:Other\u{7}\u{9b}", ContractOutcome::NotReached("the run was stopped")),
        ];
        insta::assert_snapshot!(results_to_junit(&all, false).unwrap(), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="vouch fuzz" tests="3" skipped="2" failures="0" errors="1" time="0.000">
            <testsuite name="a.sol:Same" tests="1" skipped="0" errors="1" failures="0">
                <testcase name="all tests" classname="a.sol:Same">
                    <error message="setUp() &lt;failed&gt;\u{1b}[31m\u{ffff}" type="refused"/>
                </testcase>
            </testsuite>
            <testsuite name="b.sol:Same" tests="1" skipped="1" errors="0" failures="0">
                <testcase name="all tests" classname="b.sol:Same">
                    <skipped message="the run was stopped" type="not-run"/>
                </testcase>
            </testsuite>
            <testsuite name="Other\u{7}\u{9b}" tests="1" skipped="1" errors="0" failures="0">
                <testcase name="all tests" classname="Other\u{7}\u{9b}">
                    <skipped message="the run was stopped" type="not-run"/>
                </testcase>
            </testsuite>
        </testsuites>
        "#);
        let strict = results_to_junit(&all, true).unwrap();
        assert!(strict.contains("errors=\"3\"") && !strict.contains("<skipped"), "{strict}");
    }
}

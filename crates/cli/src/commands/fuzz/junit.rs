//! Results as a JUnit report, for CI systems.
//!
//! JUnit has no state for a test about which nothing is known. Such a test is `skipped`, never a success; with `--strict`
//! it is an `error`.

use ::fuzz::campaign::TestVerdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::results::{CampaignResults, TestResult};
use crate::report::{FailureExt, Result};

/// Returns the report as XML, with one suite per contract.
pub(super) fn results_to_junit(all: &[&CampaignResults], is_strict: bool) -> Result<String> {
    let mut report = Report::new("vouch fuzz");
    report.set_time(all.iter().map(|results| results.elapsed).sum());
    let mut suites: Vec<TestSuite> = Vec::new();
    for test in all.iter().flat_map(|results| &results.tests) {
        let suite = match suites.iter_mut().find(|suite| suite.name.as_str() == test.contract) {
            Some(suite) => suite,
            None => {
                suites.push(TestSuite::new(test.contract.as_str()));
                suites.last_mut().expect("it was just added")
            }
        };
        suite.add_test_case(build_case(test, is_strict));
    }
    report.add_test_suites(suites);
    report.to_string().explain("failed to format the JUnit report")
}

fn build_case(test: &TestResult, is_strict: bool) -> TestCase {
    let mut case = TestCase::new(format_name(test), build_status(test, is_strict));
    case.set_classname(test.contract.as_str());
    if test.verdict.is_exercised() {
        case.set_system_out(test.verdict.to_string());
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
        _ if is_strict => TestCaseStatus::non_success(NonSuccessKind::Error),
        _ => TestCaseStatus::skipped(),
    };
    status.set_type(test.verdict.name()).set_message(test.verdict.to_string());
    let details = describe_details(test);
    if !details.is_empty() {
        status.set_description(details);
    }
    status
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

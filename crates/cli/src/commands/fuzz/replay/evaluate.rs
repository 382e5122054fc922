//! Finds the tests that fail during a replayed sequence.

use std::sync::Arc;

use ::fuzz::call::SequenceCall;
use ::fuzz::campaign::{Campaign, CampaignOptions, TestFailure, TestVerdict};
use ::fuzz::config::CampaignSettings;
use ::fuzz::generate::ValueDictionary;
use ::fuzz::target::FuzzTarget;
use ::fuzz::trace::CallExecution;
use alloy_primitives::I256;

use crate::commands::fuzz::failure_location;
use crate::report::{FailureExt, Result};

/// Verdicts on the tests during a replay.
pub(super) struct ReplayVerdict {
    /// Failed tests, in the order of failure.
    pub(super) broken: Vec<FailedTest>,
    /// Optimization tests with the largest number reached.
    pub(super) reached: Vec<(String, I256)>,
    /// Tests that cannot be run on this sequence, with the reason.
    pub(super) not_run: Vec<(String, String)>,
}

/// A test that fails during the replay.
pub(super) struct FailedTest {
    pub(super) test: usize,
    /// Number of calls after which it fails.
    pub(super) after: usize,
    pub(super) name: String,
    pub(super) location: Option<String>,
    /// Trace of the test itself, if it is a separate call.
    pub(super) done: Option<CallExecution>,
}

/// Runs the sequence as the corpus of a campaign that generates no calls, so that tests are evaluated as while fuzzing.
pub(super) fn evaluate_tests(
    calls: &[SequenceCall],
    target: &Arc<FuzzTarget>,
    settings: &CampaignSettings,
) -> Result<ReplayVerdict> {
    let settings =
        Arc::new(CampaignSettings { test_limit: 0, shrink_limit: 0, ..settings.clone() });
    let campaign = Campaign::start(CampaignOptions {
        target: target.clone(),
        dictionary: ValueDictionary::from_target(target, &settings),
        settings,
        workers: 1,
        corpus: vec![calls.to_vec()],
        commands: Vec::new(),
        recorder: Box::new(()),
    });
    let campaign = campaign.explain("failed to start a thread for the replay")?;
    let summary = campaign.wait();
    let mut broken: Vec<_> =
        summary.failures.iter().map(|it| build_failed_test(it, target)).collect();
    broken.sort_by_key(|broken| broken.after);
    let reached = summary.best.iter();
    let reached = reached.map(|best| (target.tests[best.test].name.clone(), best.value));
    let not_run = target.tests.iter().zip(&summary.verdicts).filter_map(|(test, verdict)| {
        let TestVerdict::NotRun(reason) = verdict else { return None };
        Some((test.name.clone(), reason.to_string()))
    });
    Ok(ReplayVerdict { broken, reached: reached.collect(), not_run: not_run.collect() })
}

fn build_failed_test(failure: &TestFailure, target: &FuzzTarget) -> FailedTest {
    FailedTest {
        test: failure.test,
        after: failure.found.len(),
        name: target.tests[failure.test].name.clone(),
        location: failure_location::locate_failure(target, failure.site),
        done: None,
    }
}

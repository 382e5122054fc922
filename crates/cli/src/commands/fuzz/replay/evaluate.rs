//! Finds the tests that fail during a replayed sequence.

use std::sync::Arc;

use ::fuzz::call::SequenceCall;
use ::fuzz::campaign::{
    Campaign, CampaignOptions, NotRunReason, TestFailure, TestVerdict, WorkerEndReason,
};
use ::fuzz::config::CampaignSettings;
use ::fuzz::generate::ValueDictionary;
use ::fuzz::target::FuzzTarget;
use ::fuzz::trace::CallExecution;
use alloy_primitives::I256;

use crate::commands::fuzz::failure_location;
use crate::report::{Failure, FailureExt, Result};

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

/// Runs the sequence in a campaign that generates no calls, so that tests are evaluated as while fuzzing.
///
/// Returns an error if the sequence was not run to its end, so that no verdict means anything.
pub(super) fn evaluate_tests(
    calls: &[SequenceCall],
    target: &Arc<FuzzTarget>,
    settings: &CampaignSettings,
) -> Result<ReplayVerdict> {
    let settings = Arc::new(CampaignSettings {
        test_limit: 0,
        shrink_limit: 0,
        // Neither a limit nor the first failure may end it early.
        timeout: None,
        stop_on_fail: false,
        ..settings.clone()
    });
    let campaign = Campaign::start_replay(CampaignOptions {
        target: target.clone(),
        dictionary: ValueDictionary::from_target(target, &settings),
        settings,
        workers: 1,
        corpus: vec![calls.to_vec()],
        commands: Vec::new(),
        recorder: Box::new(()),
    });
    let campaign = campaign.explain("failed to start a thread for the replay")?;
    let shared = campaign.shared().clone();
    let summary = campaign.wait();
    if let Some(error) = shared.fork_failure() {
        return Err(Failure::new(format!("failed to replay the calls: {error}"))
            .with_hint("check that the node of the fork is running"));
    }
    if summary.ended.contains(&WorkerEndReason::Crashed) {
        return Err(Failure::new(format!(
            "failed to replay the calls: {}",
            WorkerEndReason::Crashed
        )));
    }
    let mut broken: Vec<_> =
        summary.failures.iter().map(|it| build_failed_test(it, target)).collect();
    broken.sort_by_key(|broken| broken.after);
    let reached = summary.best.iter();
    let reached = reached.map(|best| (target.tests[best.test].name.clone(), best.value));
    let not_run = target.tests.iter().zip(&summary.verdicts).filter_map(|(test, verdict)| {
        let TestVerdict::NotRun(reason) = verdict else { return None };
        // A table test is called with its rows while fuzzing only.
        if matches!(reason, NotRunReason::RowsLeft { .. }) {
            return None;
        }
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

//! Results of a campaign. `text` and `json` print them.

use std::time::Duration;

use ::fuzz::campaign::{
    CampaignState, CampaignSummary, FunctionStatistics, NotRunReason, TestFailure, TestVerdict,
    WorkerEndReason,
};
use ::fuzz::chain::{ForkSummary, RemoteError};
use ::fuzz::target::{FuzzTarget, TestKind};
use ::fuzz::trace::describe_revert_reasons;
use app::campaign::coverage_report::CampaignCoverage;
use app::campaign::plan::CampaignPlan;
use app::campaign::target::DeployedTarget;
use coverage::CoverageReport;

use super::failure_location;
use super::watch::FinishedCampaign;

/// The results of a finished campaign.
pub(super) struct CampaignResults {
    pub(super) contract: String,
    pub(super) seed: u64,
    pub(super) workers: usize,
    pub(super) tests: Vec<TestResult>,
    pub(super) functions: Vec<FunctionUsage>,
    pub(super) calls: u64,
    pub(super) gas: u64,
    pub(super) elapsed: Duration,
    pub(super) branches: usize,
    pub(super) corpus: usize,
    /// Transactions of all sequences in the corpus.
    pub(super) corpus_transactions: usize,
    pub(super) report: CoverageReport,
    /// End reason of each worker.
    pub(super) ended: Vec<WorkerEndReason>,
    /// Reason that the campaign ended; `None` if a worker did not.
    pub(super) end_reason: Option<WorkerEndReason>,
    /// The chains that the campaign started from, in the order of their numbers.
    pub(super) forks: Vec<ForkSummary>,
    /// Reason that the state of a fork could not be fetched, which ended the campaign.
    pub(super) fork_failure: Option<RemoteError>,
    /// Error that prevented results from being saved.
    pub(super) trouble: Option<String>,
}

/// A test with its verdict. A test that failed at several locations has one entry for each.
pub(super) struct TestResult {
    pub(super) contract: String,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) verdict: TestVerdict,
    /// Why no call for the test succeeded, most frequent reason first, each with its number of calls.
    pub(super) reverts: Vec<(String, u64)>,
    /// Location of the failure, as `path:line`.
    pub(super) location: Option<String>,
    pub(super) calls: Vec<CallStep>,
}

/// One call of a sequence, as text and as fields.
pub(super) struct CallStep {
    pub(super) line: String,
    pub(super) call: ::fuzz::call::SequenceCall,
    pub(super) contract: String,
    pub(super) function: String,
    pub(super) arguments: Vec<String>,
    pub(super) gas: u64,
}

/// A function with its call statistics.
pub(super) struct FunctionUsage {
    pub(super) name: String,
    pub(super) statistics: FunctionStatistics,
}

impl CampaignResults {
    pub(super) fn new(
        plan: &CampaignPlan,
        subject: &DeployedTarget,
        shared: &CampaignState,
        watched: FinishedCampaign,
        cover: &CampaignCoverage,
    ) -> Self {
        let FinishedCampaign { summary, elapsed, .. } = watched;
        let teller = ResultBuilder { target: &subject.target };
        Self {
            contract: subject.name.clone(),
            seed: plan.seed,
            workers: shared.worker_count(),
            tests: teller.build_results(&summary),
            functions: collect_used_functions(&subject.target, shared.statistics()),
            calls: summary.calls,
            gas: shared.gas(),
            elapsed,
            branches: cover.branches,
            corpus: shared.corpus_sequences(),
            corpus_transactions: shared.corpus_transactions(),
            report: cover.report.clone(),
            ended: summary.ended,
            end_reason: shared.end_reason(),
            forks: subject.target.state.forks(),
            fork_failure: shared.fork_failure(),
            trouble: shared.recorder_error(),
        }
    }

    /// Returns true if a test failed.
    pub(super) fn has_failed(&self) -> bool {
        self.tests.iter().any(|test| test.verdict.is_failed())
    }

    /// Returns the number of tests about which the campaign found out nothing.
    pub(super) fn count_unexercised(&self) -> usize {
        self.tests.iter().filter(|test| !test.verdict.is_exercised()).count()
    }

    /// Returns true if there are tests, and the campaign found out nothing about any of them.
    pub(super) fn has_exercised_nothing(&self) -> bool {
        !self.tests.is_empty() && self.count_unexercised() == self.tests.len()
    }

    /// Returns true if tests were not run because `setUp()` failed.
    pub(super) fn has_failed_set_up(&self) -> bool {
        let failed = |test: &TestResult| {
            matches!(test.verdict, TestVerdict::NotRun(NotRunReason::SetUpFailed(_)))
        };
        self.tests.iter().any(failed)
    }

    /// Returns true if a worker crashed.
    pub(super) fn has_crashed(&self) -> bool {
        self.ended.contains(&WorkerEndReason::Crashed)
    }

    pub(super) fn calls_per_second(&self) -> u64 {
        let milliseconds = self.elapsed.as_millis().max(1);
        u64::try_from(u128::from(self.calls) * 1000 / milliseconds).unwrap_or(u64::MAX)
    }
}

/// Builds the test results from the summary of a campaign.
struct ResultBuilder<'a> {
    target: &'a FuzzTarget,
}

impl ResultBuilder<'_> {
    fn build_results(&self, summary: &CampaignSummary) -> Vec<TestResult> {
        let all = 0..self.target.tests.len();
        all.flat_map(|test| self.build_test(test, summary)).collect()
    }

    /// Returns one result for each location at which the test failed, or a single result if it did not fail.
    fn build_test(&self, test: usize, summary: &CampaignSummary) -> Vec<TestResult> {
        let failures = summary.failures.iter();
        let failures = failures.filter(|it| it.test == test && !is_repeated(it, &summary.failures));
        let failed: Vec<_> = failures.map(|failure| self.build_failure(failure)).collect();
        if !failed.is_empty() {
            return failed;
        }
        let best = summary.best.iter().find(|best| best.test == test);
        let calls = best.map_or(&[][..], |best| &best.calls);
        vec![self.build_result(test, summary.verdicts[test].clone(), None, calls)]
    }

    fn build_failure(&self, failure: &TestFailure) -> TestResult {
        let verdict = TestVerdict::Failed { is_shrunk: failure.is_shrunk };
        let location = failure_location::locate_failure(self.target, failure.site);
        self.build_result(failure.test, verdict, location, &failure.calls)
    }

    fn build_result(
        &self,
        test: usize,
        verdict: TestVerdict,
        location: Option<String>,
        calls: &[::fuzz::call::SequenceCall],
    ) -> TestResult {
        let test = &self.target.tests[test];
        TestResult {
            contract: test.contract.clone(),
            name: test.name.clone(),
            kind: echidna_kind(&test.kind),
            reverts: self.describe_reverts(&verdict),
            verdict,
            location,
            calls: calls.iter().map(|call| self.build_step(call)).collect(),
        }
    }

    fn describe_reverts(&self, verdict: &TestVerdict) -> Vec<(String, u64)> {
        let TestVerdict::OnlyReverted { reasons, .. } = verdict else { return Vec::new() };
        let texts = describe_revert_reasons(self.target, reasons);
        texts.into_iter().zip(reasons).map(|(text, reason)| (text, reason.count)).collect()
    }

    fn build_step(&self, call: &::fuzz::call::SequenceCall) -> CallStep {
        use ::fuzz::abi::text;
        use ::fuzz::call::CallPayload;
        use ::fuzz::reproducer::solidity;
        let (function, arguments) = match &call.payload {
            CallPayload::Function { function, args } => {
                let function = self.target.function(*function);
                let values = function.inputs.iter().zip(args);
                let values = values.map(|(ty, value)| text::format_value(ty, value)).collect();
                (function.name.clone(), values)
            }
            CallPayload::Data(data) => (alloy_primitives::hex::encode_prefixed(data), Vec::new()),
            CallPayload::WaitOnly => ("*wait*".to_owned(), Vec::new()),
        };
        let deployed = self.target.contracts.iter().find(|it| it.address == call.to);
        CallStep {
            line: solidity::format_line(call, self.target),
            call: call.clone(),
            contract: deployed.map(|deployed| deployed.name.clone()).unwrap_or_default(),
            function,
            arguments,
            gas: self.target.settings.call_gas,
        }
    }
}

/// Returns true if the failure repeats another one and can be left out. It hits an assertion for which another test has a
/// shrunk failure, was not shrunk itself, and its test has another failure that was.
pub(super) fn is_repeated(failure: &TestFailure, all: &[TestFailure]) -> bool {
    !failure.is_shrunk
        && failure.site != (0, 0)
        && all.iter().any(|it| it.test != failure.test && it.site == failure.site && it.is_shrunk)
        && all.iter().any(|it| it.test == failure.test && it.is_shrunk)
}

/// Returns the kind of a test under Echidna's name.
fn echidna_kind(kind: &TestKind) -> &'static str {
    match kind {
        TestKind::Property { .. }
        | TestKind::MustRevert { .. }
        | TestKind::Invariant { .. }
        | TestKind::AfterInvariant { .. }
        | TestKind::Destruction { .. } => "property",
        TestKind::Assertion { .. } | TestKind::HandlerAssertion | TestKind::AssertionEvent => {
            "assertion"
        }
        TestKind::Unit { .. } => "foundry",
        TestKind::Maximum { .. } => "optimization",
        TestKind::Overflow { .. } => "overflow",
    }
}

/// Returns the functions that were called, with their statistics.
fn collect_used_functions(
    target: &FuzzTarget,
    statistics: Vec<FunctionStatistics>,
) -> Vec<FunctionUsage> {
    let functions = target.functions.iter().zip(statistics);
    let functions = functions.filter(|(_, statistics)| statistics.calls > 0);
    functions
        .map(|(function, statistics)| {
            let contract = &target.contracts[function.contract].name;
            FunctionUsage { name: format!("{contract}.{}", function.signature), statistics }
        })
        .collect()
}

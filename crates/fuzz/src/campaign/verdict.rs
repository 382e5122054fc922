//! The verdict on each test: what the campaign found out about it, and on which calls that is based.
//!
//! A test that did not fail is only reported as not broken if it was exercised. Which calls exercise a test depends on its
//! kind: see [`VerdictBasis::count_exercise`].

use std::fmt;

use alloy_primitives::I256;

use super::revert_log::{RevertLog, RevertReason};
use super::state::{BestValue, CampaignState, TestFailure};
use super::statistics::{CampaignStatistics, FunctionStatistics};
use crate::call::SequenceCall;
use crate::chain::NotRunReason;
use crate::target::{FunctionId, FuzzTarget, TestKind};

/// What a campaign found out about a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestVerdict {
    /// It failed; [`CampaignState::failures`] has the sequences.
    Failed {
        /// At least one of its sequences is fully shrunk.
        is_shrunk: bool,
    },
    /// It was exercised and did not fail.
    NotBroken(TestExercise),
    /// Largest number that an optimization test returned; such a test cannot fail.
    Reached { value: I256, exercise: TestExercise },
    /// No call that would exercise it succeeded.
    OnlyReverted {
        calls: u64,
        /// Most frequent first.
        reasons: Vec<RevertReason>,
    },
    /// No call that would exercise it was made.
    NeverCalled,
    /// It cannot be run, so its result is unknown.
    NotRun(NotRunReason),
}

/// The calls on which the verdict on a test is based.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestExercise {
    /// Successful calls that could have broken the test.
    pub calls: u64,
    /// Number of times that the test itself was called, for tests that are checked between the generated calls. It is not
    /// called again while nothing that it reads has changed.
    pub evaluations: Option<u64>,
    /// Calls, or evaluations, that the test rejected with `vm.assume`. They count neither way.
    pub rejected: u64,
}

impl TestVerdict {
    /// Returns the name of the state, as in JSON: `failed`, `not-broken`, `reached`, `only-reverted`, `never-called` or
    /// `not-run`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Failed { .. } => "failed",
            Self::NotBroken(_) => "not-broken",
            Self::Reached { .. } => "reached",
            Self::OnlyReverted { .. } => "only-reverted",
            Self::NeverCalled => "never-called",
            Self::NotRun(_) => "not-run",
        }
    }

    pub fn is_failed(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    /// Returns true if the verdict says something about the target: the test failed, or was exercised.
    pub fn is_exercised(&self) -> bool {
        match self {
            Self::Failed { .. } | Self::NotBroken(_) | Self::Reached { .. } => true,
            Self::OnlyReverted { .. } | Self::NeverCalled | Self::NotRun(_) => false,
        }
    }
}

/// Formats the verdict as a sentence fragment, such as "not broken in 812 calls, evaluated 40 times". The reasons of reverts
/// are left out, because their names are only known to the target.
impl fmt::Display for TestVerdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { is_shrunk: true } => out.write_str("failed"),
            Self::Failed { is_shrunk: false } => out.write_str("failed (shrinking incomplete)"),
            Self::NotBroken(exercise) => write!(out, "not broken in {exercise}"),
            Self::Reached { value, exercise } => write!(out, "reached {value} in {exercise}"),
            Self::OnlyReverted { calls, .. } => {
                write!(out, "only reverted in {}", Counted(*calls, "call"))
            }
            Self::NeverCalled => out.write_str("never called"),
            Self::NotRun(reason) => write!(out, "not run: {reason}"),
        }
    }
}

impl fmt::Display for TestExercise {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", Counted(self.calls, "call"))?;
        if let Some(evaluations) = self.evaluations {
            write!(out, ", evaluated {}", Counted(evaluations, "time"))?;
        }
        if self.rejected > 0 {
            write!(out, ", {} rejected by vm.assume", self.rejected)?;
        }
        Ok(())
    }
}

/// A number with its noun, which gets an `s` unless the number is 1.
struct Counted(u64, &'static str);

impl fmt::Display for Counted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = self;
        write!(out, "{count} {noun}{}", if *count == 1 { "" } else { "s" })
    }
}

impl CampaignState {
    /// Returns the current verdict on each test, in the order of the target's tests.
    pub fn verdicts(&self) -> Vec<TestVerdict> {
        let (failures, best) = (self.failures(), self.best());
        let basis = VerdictBasis::new(self);
        let tests = 0..self.target.tests.len();
        tests.map(|test| basis.judge_test(test, &failures, &best)).collect()
    }
}

/// Counters of the campaign that verdicts are based on.
struct VerdictBasis<'a> {
    shared: &'a CampaignState,
    statistics: CampaignStatistics,
    /// Calls that can change the state of the target.
    state_changes: CallTally,
}

/// Calls of some functions, and why they reverted.
#[derive(Clone, Debug, Default)]
struct CallTally {
    statistics: FunctionStatistics,
    reverts: RevertLog,
}

impl<'a> VerdictBasis<'a> {
    fn new(shared: &'a CampaignState) -> Self {
        let statistics = shared.campaign_statistics();
        let state_changes = tally_state_changes(&shared.target, &statistics, shared.calls());
        Self { shared, statistics, state_changes }
    }

    fn judge_test(&self, test: usize, failures: &[TestFailure], best: &[BestValue]) -> TestVerdict {
        let mut failed = failures.iter().filter(|failure| failure.test == test);
        if let Some(first) = failed.next() {
            let is_shrunk = first.is_shrunk || failed.any(|failure| failure.is_shrunk);
            return TestVerdict::Failed { is_shrunk };
        }
        if let Some(reason) = self.shared.not_run_reason(test) {
            return TestVerdict::NotRun(reason);
        }
        if let Some(left) = self.count_missing_rows(test) {
            return TestVerdict::NotRun(left);
        }
        let (exercise, made) = self.count_exercise(test);
        match best.iter().find(|best| best.test == test) {
            _ if exercise.calls == 0 && made.statistics.calls == 0 => TestVerdict::NeverCalled,
            _ if exercise.calls == 0 => TestVerdict::OnlyReverted {
                calls: made.statistics.calls,
                reasons: made.reverts.reasons(),
            },
            Some(best) => TestVerdict::Reached { value: best.value, exercise },
            None => TestVerdict::NotBroken(exercise),
        }
    }

    /// Returns the reason that nothing is known of a table test: it was not called with all of its rows.
    fn count_missing_rows(&self, test: usize) -> Option<NotRunReason> {
        let target = &self.shared.target;
        let TestKind::Unit { function } = target.tests[test].kind else { return None };
        let is_row = |call: &&SequenceCall| call.function() == Some(function);
        let rows = target.seeds.iter().filter(is_row).count() as u64;
        let run = self.statistics.test(test).rows;
        (run < rows).then_some(NotRunReason::RowsLeft { run, rows })
    }

    /// Returns the calls that exercised the test, and all calls that were made for it.
    ///
    /// - A property, invariant or optimization test is exercised by each successful call that can change the state of the
    ///   target, if its own evaluations had a result.
    /// - An assertion, overflow or unit test is exercised by each successful call of its function.
    /// - The test for assertion events is exercised by each successful call of a function without a test of its own.
    /// - The tests for destruction and for assertions of handlers are exercised by each successful call that can change
    ///   the state.
    fn count_exercise(&self, test: usize) -> (TestExercise, CallTally) {
        let made = match &self.shared.target.tests[test].kind {
            TestKind::Property { .. }
            | TestKind::MustRevert { .. }
            | TestKind::Invariant { .. }
            | TestKind::AfterInvariant { .. }
            | TestKind::Maximum { .. } => return self.count_evaluations(test),
            TestKind::Assertion { function }
            | TestKind::Overflow { function }
            | TestKind::Unit { function } => {
                let mut tally = CallTally::default();
                tally.add_function(&self.statistics, *function);
                tally
            }
            TestKind::AssertionEvent => self.tally_unobserved(),
            TestKind::HandlerAssertion | TestKind::Destruction { .. } => self.state_changes.clone(),
        };
        let it = made.statistics;
        (TestExercise { calls: it.successes(), evaluations: None, rejected: it.rejected }, made)
    }

    fn count_evaluations(&self, test: usize) -> (TestExercise, CallTally) {
        let own = self.statistics.test(test);
        if own.evaluations == 0 {
            return (TestExercise::default(), CallTally::default());
        }
        if own.evaluations == own.rejected + own.reverted {
            let calls = FunctionStatistics { calls: own.evaluations, ..Default::default() };
            let reverts = RevertLog::of_evaluations(own.rejected, own.reverted);
            return (TestExercise::default(), CallTally { statistics: calls, reverts });
        }
        let exercise = TestExercise {
            calls: self.state_changes.statistics.successes(),
            evaluations: Some(own.evaluations),
            rejected: own.rejected,
        };
        (exercise, self.state_changes.clone())
    }

    /// Returns the calls whose assertion events are not reported by another test, or all calls if there are none.
    fn tally_unobserved(&self) -> CallTally {
        let target = &self.shared.target;
        let is_observed = |id: FunctionId| {
            target.tests.iter().any(|test| test.kind == TestKind::Assertion { function: id })
        };
        let mut tally = CallTally::of_plain_calls(&self.statistics);
        let mut has_any = !target.fallbacks.is_empty();
        for id in target.callable.iter().filter(|id| !is_observed(**id)) {
            has_any = true;
            tally.add_function(&self.statistics, *id);
        }
        if has_any { tally } else { self.state_changes.clone() }
    }
}

impl CallTally {
    /// Returns the calls with calldata that matches no function, and the plain transfers.
    fn of_plain_calls(statistics: &CampaignStatistics) -> Self {
        let CampaignStatistics { plain_calls, plain_call_reverts, .. } = statistics;
        Self { statistics: *plain_calls, reverts: plain_call_reverts.clone() }
    }

    fn add_function(&mut self, statistics: &CampaignStatistics, function: FunctionId) {
        self.statistics = self.statistics.combine_with(statistics.function(function));
        self.reverts.merge(statistics.reverts(function));
    }
}

/// Returns the calls that can change the state of the target: those of functions that are neither unit tests nor `view`,
/// plain transfers and the like.
///
/// If the target has no such function, every call counts, because time passes between calls.
fn tally_state_changes(
    target: &FuzzTarget,
    statistics: &CampaignStatistics,
    calls: u64,
) -> CallTally {
    let mut tally = CallTally::of_plain_calls(statistics);
    let mut has_any = !target.fallbacks.is_empty();
    let changes_state =
        |id: &&FunctionId| !target.is_unit_test(**id) && !target.function(**id).is_view;
    let created = target.foundry.created.values().flatten();
    for id in target.callable.iter().chain(created).filter(changes_state) {
        has_any = true;
        tally.add_function(statistics, *id);
    }
    if has_any {
        return tally;
    }
    let units: u64 = target.units.iter().map(|id| statistics.function(*id).calls).sum();
    let calls = FunctionStatistics { calls: calls.saturating_sub(units), ..Default::default() };
    CallTally { statistics: calls, reverts: RevertLog::default() }
}

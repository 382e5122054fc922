//! Counts calls, reverts and gas by function, and evaluations by test.

use super::revert_log::RevertLog;
use crate::chain::TransactionOutcome;
use crate::target::FunctionId;

/// Statistics of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionStatistics {
    pub calls: u64,
    /// Calls that failed, without those that were rejected.
    pub reverts: u64,
    /// Calls that `vm.assume` rejected.
    pub rejected: u64,
    /// Newly generated calls; the others are replayed or mutated.
    pub generated: u64,
    pub gas: u64,
    pub max_gas: u64,
    /// Sequences that reached new branches and ended with this function.
    pub news: u64,
}

/// Outcome of a counted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountedOutcome {
    Success,
    Revert,
    /// Rejected by `vm.assume`.
    Rejected,
}

impl CountedOutcome {
    pub(super) fn of(outcome: &TransactionOutcome) -> Self {
        if outcome.is_success() {
            Self::Success
        } else if outcome.is_discarded() && outcome.not_run_reason().is_none() {
            Self::Rejected
        } else {
            Self::Revert
        }
    }
}

impl FunctionStatistics {
    pub(super) fn record_call(&mut self, gas: u64, outcome: CountedOutcome) {
        self.calls += 1;
        self.reverts += u64::from(outcome == CountedOutcome::Revert);
        self.rejected += u64::from(outcome == CountedOutcome::Rejected);
        self.gas += gas;
        self.max_gas = self.max_gas.max(gas);
    }

    /// Returns the number of calls that neither reverted nor were rejected.
    pub fn successes(self) -> u64 {
        self.calls.saturating_sub(self.reverts + self.rejected)
    }

    /// Returns the combined statistics.
    #[must_use]
    pub(crate) fn combine_with(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            reverts: self.reverts + other.reverts,
            rejected: self.rejected + other.rejected,
            generated: self.generated + other.generated,
            gas: self.gas + other.gas,
            max_gas: self.max_gas.max(other.max_gas),
            news: self.news + other.news,
        }
    }
}

/// Statistics of a test that is checked by a call of its own, or of a table test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TestStatistics {
    pub(super) evaluations: u64,
    /// Evaluations that `vm.assume` rejected.
    pub(super) rejected: u64,
    /// Evaluations of an optimization test that returned no number.
    pub(super) reverted: u64,
    /// Evaluations that could not be run.
    pub(super) not_run: u64,
    /// Rows of a table test with which it was called.
    pub(super) rows: u64,
}

/// Statistics of a worker, or of all workers.
#[derive(Clone, Debug, Default)]
pub(super) struct CampaignStatistics {
    /// In the order of the target's functions.
    pub(super) functions: Vec<FunctionStatistics>,
    /// Reasons for the reverts of each function.
    pub(super) reverts: Vec<RevertLog>,
    /// Calls with calldata that matches no function, and plain transfers.
    pub(super) plain_calls: FunctionStatistics,
    pub(super) plain_call_reverts: RevertLog,
    /// In the order of the target's tests.
    pub(super) tests: Vec<TestStatistics>,
}

impl CampaignStatistics {
    pub(super) fn new(functions: usize, tests: usize) -> Self {
        Self {
            functions: vec![FunctionStatistics::default(); functions],
            reverts: vec![RevertLog::default(); functions],
            tests: vec![TestStatistics::default(); tests],
            ..Self::default()
        }
    }

    pub(super) fn function(&self, id: FunctionId) -> FunctionStatistics {
        self.functions[id.0 as usize]
    }

    pub(super) fn reverts(&self, id: FunctionId) -> &RevertLog {
        &self.reverts[id.0 as usize]
    }

    pub(super) fn test(&self, test: usize) -> TestStatistics {
        self.tests[test]
    }

    /// Adds the statistics of another worker on the same target.
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, more) in self.functions.iter_mut().zip(&other.functions) {
            *sum = sum.combine_with(*more);
        }
        for (sum, more) in self.reverts.iter_mut().zip(&other.reverts) {
            sum.merge(more);
        }
        self.plain_calls = self.plain_calls.combine_with(other.plain_calls);
        self.plain_call_reverts.merge(&other.plain_call_reverts);
        for (sum, more) in self.tests.iter_mut().zip(&other.tests) {
            sum.evaluations += more.evaluations;
            sum.rejected += more.rejected;
            sum.reverted += more.reverted;
            sum.not_run += more.not_run;
            sum.rows += more.rows;
        }
    }
}

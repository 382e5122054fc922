//! Distinct reasons for which the calls of a function reverted, with counts.

use std::cmp::Reverse;

use alloy_primitives::{Bytes, hex};

use crate::chain::{CHEATCODE_ERROR_SELECTOR, InstructionResult, NotRunReason, TransactionOutcome};

/// Maximum distinct reasons that are kept.
const MAX_REASONS: usize = 8;

/// Maximum bytes of revert data that are kept; enough for a sentence.
const MAX_OUTPUT: usize = 512;

/// Selector of `Error(string)`.
const ERROR: [u8; 4] = hex!("08c379a0");
/// Selector of `Panic(uint256)`.
const PANIC: [u8; 4] = hex!("4e487b71");

/// A reason for which calls reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertReason {
    pub cause: RevertCause,
    /// Number of calls that reverted for this reason.
    pub count: u64,
}

/// What made a call revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevertCause {
    /// The call reverted with this data.
    Reverted(Bytes),
    /// The call was aborted, for example because it ran out of gas.
    Aborted(InstructionResult),
    /// The call used something that cannot be run.
    NotRun(NotRunReason),
    /// `vm.assume` rejected the arguments.
    Rejected,
    /// An optimization test returned no number.
    NoNumber,
    /// One of the less frequent reasons that were not kept.
    Other,
}

/// Distinct reasons of reverts, with counts.
#[derive(Clone, Debug, Default)]
pub(super) struct RevertLog {
    reasons: Vec<RevertReason>,
    /// Reverts with other reasons.
    others: u64,
}

impl RevertLog {
    /// Returns the log of a test whose evaluations were rejected, or returned no number.
    pub(super) fn of_evaluations(rejected: u64, without_number: u64) -> Self {
        let mut log = Self::default();
        log.add_count(&RevertCause::Rejected, rejected);
        log.add_count(&RevertCause::NoNumber, without_number);
        log
    }

    /// Records a call that did not succeed.
    pub(super) fn record_outcome(&mut self, outcome: &TransactionOutcome) {
        // Most reverts repeat a known one, so it is compared before anything is copied.
        let known = self.reasons.iter_mut().find(|reason| reason.cause.is_cause_of(outcome));
        match known {
            Some(reason) => reason.count += 1,
            None => self.add_count(&RevertCause::of_outcome(outcome), 1),
        }
    }

    /// Adds the counts of another log.
    pub(super) fn merge(&mut self, other: &Self) {
        for reason in &other.reasons {
            self.add_count(&reason.cause, reason.count);
        }
        self.others += other.others;
    }

    /// Returns the reasons, most frequent first.
    pub(super) fn reasons(&self) -> Vec<RevertReason> {
        let mut reasons = self.reasons.clone();
        reasons.sort_by_key(|reason| Reverse(reason.count));
        if self.others > 0 {
            reasons.push(RevertReason { cause: RevertCause::Other, count: self.others });
        }
        reasons
    }

    fn add_count(&mut self, cause: &RevertCause, count: u64) {
        if count == 0 {
            return;
        }
        if let Some(known) = self.reasons.iter_mut().find(|reason| reason.cause == *cause) {
            known.count += count;
        } else if self.reasons.len() < MAX_REASONS {
            self.reasons.push(RevertReason { cause: cause.clone(), count });
        } else {
            self.others += count;
        }
    }
}

impl RevertCause {
    fn of_outcome(outcome: &TransactionOutcome) -> Self {
        match outcome.not_run_reason() {
            Some(reason) => Self::NotRun(reason.clone()),
            None if outcome.is_discarded() => Self::Rejected,
            None if outcome.is_revert() => {
                Self::Reverted(Bytes::copy_from_slice(significant_data(&outcome.output)))
            }
            None => Self::Aborted(outcome.result),
        }
    }

    fn is_cause_of(&self, outcome: &TransactionOutcome) -> bool {
        match (self, outcome.not_run_reason()) {
            (Self::NotRun(known), Some(reason)) => known == reason,
            (_, Some(_)) => false,
            (Self::Rejected, None) => outcome.is_discarded(),
            (Self::Reverted(data), None) => {
                outcome.is_revert() && data[..] == *significant_data(&outcome.output)
            }
            (Self::Aborted(result), None) => {
                !outcome.is_discarded() && !outcome.is_revert() && *result == outcome.result
            }
            (Self::NotRun(_) | Self::NoNumber | Self::Other, None) => false,
        }
    }
}

/// Returns the part of revert data that distinguishes reasons: a message or panic code in full, and only the selector of
/// a custom error, whose arguments differ from call to call.
fn significant_data(output: &[u8]) -> &[u8] {
    let is_text = [ERROR, PANIC, CHEATCODE_ERROR_SELECTOR].iter().any(|it| output.starts_with(it));
    let length = if is_text { MAX_OUTPUT } else { 4 };
    &output[..output.len().min(length)]
}

//! Checks tests, by calling them or by inspecting a finished call.

use alloy_primitives::{Address, Bytes, I256, U256, hex};

use crate::call::SequenceCall;
use crate::chain::{
    CallLimits, EvmMachine, EvmTransaction, InstructionResult, NotRunReason, ReadSet,
    TransactionOutcome,
};
use crate::target::{FunctionId, FuzzTarget, TestKind};

/// The code and offset where a test failed; (0, 0) for tests that are checked by a call of their own.
pub type FailureSite = (u32, u32);

/// Result of calling a test that is checked by a call of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TestEvaluation {
    Holds,
    Failed,
    /// Number that an optimization test returned.
    Reached(I256),
    /// An optimization test returned no number.
    NoNumber,
    /// `vm.assume` rejected the state.
    Rejected,
    /// The result is unknown.
    NotRun(NotRunReason),
}

/// Calls tests, with a fixed sender and limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct TestChecker {
    pub sender: Address,
    pub limits: CallLimits,
    /// Gas used by tests since the worker last took it. A test may cost more than the calls before it.
    pub spent: u64,
}

/// Selector of `Error(string)`.
const ERROR: [u8; 4] = hex!("08c379a0");
/// Selector of `Panic(uint256)`.
const PANIC: [u8; 4] = hex!("4e487b71");
const PANIC_ASSERT: u8 = 0x01;
const PANIC_ARITHMETIC: u8 = 0x11;

impl TestChecker {
    /// Calls a test on the current state. The state that it reads is added to `reads`.
    ///
    /// Returns `None` for tests that observe the generated calls.
    pub(super) fn evaluate_test(
        &mut self,
        target: &FuzzTarget,
        machine: &mut EvmMachine,
        kind: &TestKind,
        reads: &mut ReadSet,
    ) -> Option<TestEvaluation> {
        let (TestKind::Property { function }
        | TestKind::MustRevert { function }
        | TestKind::Invariant { function }
        | TestKind::AfterInvariant { function }
        | TestKind::Maximum { function }) = kind
        else {
            return None;
        };
        let outcome = self.call_test(target, machine, *function, reads);
        if let Some(reason) = outcome.not_run_reason() {
            return Some(TestEvaluation::NotRun(reason.clone()));
        }
        if outcome.is_discarded() {
            return Some(TestEvaluation::Rejected);
        }
        let holds = match kind {
            TestKind::Property { .. } => returns_true(&outcome),
            TestKind::MustRevert { .. } => outcome.is_revert(),
            TestKind::Maximum { .. } => return Some(read_number(&outcome)),
            _ => is_passing(&outcome),
        };
        Some(if holds { TestEvaluation::Holds } else { TestEvaluation::Failed })
    }

    fn call_test(
        &mut self,
        target: &FuzzTarget,
        machine: &mut EvmMachine,
        function: FunctionId,
        reads: &mut ReadSet,
    ) -> TransactionOutcome {
        let function = target.function(function);
        let transaction = EvmTransaction {
            from: self.sender,
            to: function.address,
            value: U256::ZERO,
            gas_price: 0,
            data: Bytes::copy_from_slice(&function.selector),
        };
        let outcome = machine.simulate_and_record_reads(&transaction, self.limits, reads);
        self.spent += outcome.gas_used;
        outcome
    }
}

/// Returns the number that a call of an optimization test returned.
fn read_number(outcome: &TransactionOutcome) -> TestEvaluation {
    match outcome.output.get(..32).filter(|_| outcome.is_success()) {
        Some(word) => TestEvaluation::Reached(I256::from_raw(U256::from_be_slice(word))),
        None => TestEvaluation::NoNumber,
    }
}

fn is_passing(outcome: &TransactionOutcome) -> bool {
    outcome.is_success() && !outcome.breaks_assertion()
}

fn returns_true(outcome: &TransactionOutcome) -> bool {
    is_passing(outcome)
        && outcome.output.len() >= 32
        && U256::from_be_slice(&outcome.output[..32]) == U256::ONE
}

/// Returns the site where the call violated an assertion: by an event, by `assert`, or by the `INVALID` opcode, which
/// older compilers emit for it.
pub(super) fn find_broken_assertion(
    machine: &EvmMachine,
    outcome: &TransactionOutcome,
) -> Option<FailureSite> {
    if let Some(event) = machine.probe().emitted.first() {
        return Some((event.code, event.offset));
    }
    find_failed_assertion(machine, outcome)
}

fn find_failed_assertion(
    machine: &EvmMachine,
    outcome: &TransactionOutcome,
) -> Option<FailureSite> {
    let failed = ends_with_assertion(outcome) || outcome.breaks_assertion();
    failed.then(|| machine.probe().last_branch())
}

/// Returns the site where an assertion failed in a call of a handler, by the rules of forge: something expected that did not
/// happen only reverts, and an error that says "assertion failed" is an assertion.
pub(super) fn find_handler_assertion(
    machine: &EvmMachine,
    outcome: &TransactionOutcome,
) -> Option<FailureSite> {
    let failed =
        ends_with_assertion(outcome) || outcome.fails_assertion() || says_assertion(outcome);
    failed.then(|| machine.probe().last_branch())
}

fn ends_with_assertion(outcome: &TransactionOutcome) -> bool {
    has_panic_code(outcome, PANIC_ASSERT) || outcome.result == InstructionResult::InvalidFEOpcode
}

/// Returns true if the call reverted with a text that says that an assertion failed.
fn says_assertion(outcome: &TransactionOutcome) -> bool {
    const TEXT: &[u8] = b"assertion failed";
    let text = outcome.output.strip_prefix(&ERROR);
    outcome.is_revert()
        && text.is_some_and(|text| text.windows(TEXT.len()).any(|window| window == TEXT))
}

/// Returns the site where arithmetic overflowed in the call, checked or unchecked.
pub(super) fn find_overflow(
    machine: &EvmMachine,
    outcome: &TransactionOutcome,
) -> Option<FailureSite> {
    let panicked = has_panic_code(outcome, PANIC_ARITHMETIC).then(|| machine.probe().last_branch());
    panicked.or_else(|| machine.probe().signs.first_overflow().filter(|_| outcome.is_success()))
}

fn has_panic_code(outcome: &TransactionOutcome, code: u8) -> bool {
    outcome.is_revert()
        && outcome.output.len() == 36
        && outcome.output[..4] == PANIC
        && outcome.output[35] == code
        && outcome.output[4..35].iter().all(|&byte| byte == 0)
}

/// Returns true if the test observes this call.
pub(super) fn is_observed_by(target: &FuzzTarget, kind: &TestKind, call: &SequenceCall) -> bool {
    match kind {
        TestKind::Assertion { function }
        | TestKind::Overflow { function }
        | TestKind::Unit { function } => call.function() == Some(*function),
        // A function with an assertion test is reported by that test.
        TestKind::AssertionEvent => !call.function().is_some_and(|function| {
            target.tests.iter().any(|test| test.kind == TestKind::Assertion { function })
        }),
        TestKind::HandlerAssertion => !call.function().is_some_and(|it| target.is_unit_test(it)),
        TestKind::Destruction { .. } => true,
        _ => false,
    }
}

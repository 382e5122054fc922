//! Whether tests hold.

use alloy_primitives::{Address, Bytes, I256, U256, hex};

use crate::call::Call;
use crate::chain::{InstructionResult, Limits, Machine, Outcome, Reads, Transaction};
use crate::target::{FunctionId, Target, TestKind};

/// The place in code where something failed; (0, 0) for tests that are calls of their own.
pub type Site = (u32, u32);

/// Who checks, and within which limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checker {
    pub sender: Address,
    pub limits: Limits,
    /// Gas that tests used since somebody took note of it: a test may cost more than the calls that it follows.
    pub spent: u64,
}

/// `Panic(uint256)`
const PANIC: [u8; 4] = hex!("4e487b71");
const PANIC_ASSERT: u8 = 0x01;
const PANIC_ARITHMETIC: u8 = 0x11;

impl Checker {
    /// What a test that is a call of its own says of the machine as it stands: None if it holds. What it looks at is
    /// added to `reads`.
    pub(super) fn call(
        &mut self,
        target: &Target,
        machine: &mut Machine,
        kind: &TestKind,
        reads: &mut Reads,
    ) -> Option<Site> {
        let (function, holds): (FunctionId, fn(&Outcome) -> bool) = match kind {
            TestKind::Property { function } => (*function, returns_true),
            TestKind::MustRevert { function } => (*function, Outcome::is_revert),
            TestKind::Invariant { function } => (*function, succeeds),
            _ => return None,
        };
        let outcome = self.ask(target, machine, function, reads);
        (!outcome.is_discarded() && !holds(&outcome)).then_some((0, 0))
    }

    /// The number that is to be as large as possible.
    pub(super) fn number(
        &mut self,
        target: &Target,
        machine: &mut Machine,
        function: FunctionId,
        reads: &mut Reads,
    ) -> Option<I256> {
        let outcome = self.ask(target, machine, function, reads);
        let word = outcome.output.get(..32).filter(|_| outcome.is_success())?;
        Some(I256::from_raw(U256::from_be_slice(word)))
    }

    fn ask(
        &mut self,
        target: &Target,
        machine: &mut Machine,
        function: FunctionId,
        reads: &mut Reads,
    ) -> Outcome {
        let function = target.function(function);
        let transaction = Transaction {
            from: self.sender,
            to: function.address,
            value: U256::ZERO,
            gas_price: 0,
            data: Bytes::copy_from_slice(&function.selector),
        };
        let outcome = machine.peek_and_note(&transaction, self.limits, reads);
        self.spent += outcome.gas_used;
        outcome
    }
}

fn succeeds(outcome: &Outcome) -> bool {
    outcome.is_success() && !outcome.breaks_assertion()
}

fn returns_true(outcome: &Outcome) -> bool {
    succeeds(outcome)
        && outcome.output.len() >= 32
        && U256::from_be_slice(&outcome.output[..32]) == U256::ONE
}

/// Where the call itself broke an assertion: by an event, by `assert`, or by the opcode that stood for it once.
pub(super) fn broken_assertion(machine: &Machine, outcome: &Outcome) -> Option<Site> {
    if let Some(event) = machine.probe().emitted.first() {
        return Some((event.code, event.offset));
    }
    let failed = panics(outcome, PANIC_ASSERT)
        || outcome.breaks_assertion()
        || outcome.result == InstructionResult::InvalidFEOpcode;
    failed.then(|| machine.probe().last_branch())
}

/// Where arithmetic overflowed in the call, whether or not it was checked.
pub(super) fn overflow(machine: &Machine, outcome: &Outcome) -> Option<Site> {
    let panicked = panics(outcome, PANIC_ARITHMETIC).then(|| machine.probe().last_branch());
    panicked.or_else(|| machine.probe().signs.overflowed().filter(|_| outcome.is_success()))
}

fn panics(outcome: &Outcome, code: u8) -> bool {
    outcome.is_revert()
        && outcome.output.len() == 36
        && outcome.output[..4] == PANIC
        && outcome.output[35] == code
        && outcome.output[4..35].iter().all(|&byte| byte == 0)
}

/// True if the call is one of the function that the test watches.
pub(super) fn is_watched(target: &Target, kind: &TestKind, call: &Call) -> bool {
    match kind {
        TestKind::Assertion { function }
        | TestKind::Overflow { function }
        | TestKind::Unit { function } => call.function() == Some(*function),
        // A function with a test of its own is told by that.
        TestKind::Event => !call.function().is_some_and(|function| {
            target.tests.iter().any(|test| test.kind == TestKind::Assertion { function })
        }),
        TestKind::Destruction { .. } => true,
        _ => false,
    }
}

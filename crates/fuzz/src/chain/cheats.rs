//! The cheat codes of Foundry and HEVM: calls to an address that nobody owns change the chain.
//!
//! This file holds what cheat codes leave to be done later, and stands between the frames where it is done; the files
//! below it hold the codes themselves, each with its table of signatures. Balances, storage, nonces and code are changed
//! through the journal, so that they are undone like everything else.
//!
//! Files, forks and mocks are out of reach, and programs unless they were allowed: what is not in [`SUPPORTED`] reverts, and the machine remembers
//! its name, so that nobody takes the revert for a failure of the contract.

mod accounts;
mod answer;
mod args;
mod assertions;
mod block;
mod expect;
mod flow;
mod keys;
mod logs;
mod near;
mod prank;
mod programs;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod unsupported;

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, address};
use revm::context::Cfg;
use revm::handler::{EthPrecompiles, FrameResult, PrecompileProvider};
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{CallInputs, FrameInput, Gas, InstructionResult, InterpreterResult};
use revm::primitives::AddressSet;
use revm::primitives::hardfork::SpecId;

pub(super) use self::accounts::Labels;
use self::expect::Expected;
use self::prank::Prank;
pub use self::table::SUPPORTED;
use super::machine::{Context, Machine, Mark};

/// Where the cheat codes answer.
pub(crate) const CHEATS: Address = address!("0x7109709ECfa91a80626fF3989D68f67F5b1DD12D");

/// The selector of the error that cheat codes revert with, `CheatcodeError(string)`.
pub(crate) const CHEAT_ERROR: [u8; 4] = answer::ERROR;

/// What a call of an address costs that was called before.
const WARM_CALL_GAS: u64 = 100;

/// What is handed to a cheat code costs no gas, so something else has to limit it; this is enough for code to etch.
const MAX_INPUT: usize = 1 << 18;

/// What cheat codes left to be done.
#[derive(Clone, Debug, Default)]
pub(super) struct Cheats {
    is_enabled: bool,
    runs_programs: bool,
    /// What programs find in their environment beside what the fuzzer finds in its own.
    variables: BTreeMap<String, String>,
    labels: Labels,
    pranks: Vec<Prank>,
    expected: Vec<Expected>,
    /// The number of events before those that are recorded.
    recorded_from: Option<usize>,
    verdict: Verdict,
    /// The contract said itself that an assertion failed.
    has_noted_failure: bool,
    unsupported: Option<String>,
}

/// What cheat codes say of a whole transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdict {
    /// The arguments were none that the contract wants to be called with.
    pub(super) is_discarded: bool,
    pub(super) breaks_assertion: bool,
}

/// A call of a cheat code.
struct Call<'a> {
    context: &'a mut Context,
    /// The contract that cheats.
    caller: Address,
    /// How deep calls of that contract are.
    depth: usize,
}

/// Why a cheat code does not return.
#[derive(Debug)]
enum Refusal {
    /// It cannot do what it was asked to.
    Misuse(String),
    /// It looked and found that something does not hold.
    Broken(String),
    /// Nothing supports it.
    Unsupported(String),
    /// The whole transaction is to be forgotten.
    Discarded,
}

/// What a cheat code returns, encoded.
type Answer = Result<Bytes, Refusal>;

impl Cheats {
    pub(super) fn new(is_enabled: bool, runs_programs: bool) -> Self {
        Self { is_enabled, runs_programs, ..Self::default() }
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// True if frames may start and end as they are.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.pranks.is_empty() && self.expected.is_empty()
    }

    pub(super) fn labels(&self) -> &Labels {
        &self.labels
    }

    pub(super) fn set_labels(&mut self, labels: &Labels) {
        self.labels.clone_from(labels);
    }

    /// Forgets what does not outlast a transaction.
    fn end_transaction(&mut self, is_success: bool) -> Verdict {
        self.pranks.clear();
        self.expected.clear();
        self.recorded_from = None;
        let has_noted_failure = std::mem::take(&mut self.has_noted_failure);
        let Verdict { is_discarded, breaks_assertion } = std::mem::take(&mut self.verdict);
        // A contract may catch the revert of an assertion; a failure that it noted stays one.
        let breaks_assertion = has_noted_failure || breaks_assertion && !is_success;
        Verdict { is_discarded, breaks_assertion: breaks_assertion && !is_discarded }
    }
}

impl Machine {
    /// The first call of a cheat code that nothing supports, whether or not the call was undone since.
    pub fn unsupported(&self) -> Option<String> {
        self.engine.ctx.chain.cheats.unsupported.clone()
    }

    /// Changes a frame before it starts, as cheat codes told.
    pub(super) fn prepare(&mut self, init: &mut FrameInit) {
        if matches!(&init.frame_input, FrameInput::Call(call) if call.bytecode_address == CHEATS) {
            return;
        }
        expect::arm(&mut self.engine.ctx.chain.cheats, init.depth);
        prank::apply(&mut self.engine.ctx, init);
    }

    /// Changes what a frame gives back, as cheat codes told.
    pub(super) fn judge(&mut self, depth: usize, result: FrameResult) -> FrameResult {
        prank::end(&mut self.engine.ctx, depth);
        expect::judge(&mut self.engine.ctx.chain.cheats, depth, result)
    }

    /// Ends what cheat codes began in the transaction.
    pub(super) fn settle(&mut self, before: &Mark, is_success: bool) -> Verdict {
        let verdict = self.engine.ctx.chain.cheats.end_transaction(is_success);
        if verdict.is_discarded || !is_success {
            // Blocks and labels are in no journal, and a frame may have been made to fail after it was committed.
            self.rewind(before);
        }
        verdict
    }
}

/// The precompiled contracts of Ethereum, and the cheat codes.
#[derive(Clone, Debug)]
pub(super) struct Precompiles {
    ethereum: EthPrecompiles,
    warm: AddressSet,
}

impl Precompiles {
    pub(super) fn new(spec: SpecId) -> Self {
        let ethereum = EthPrecompiles::new(spec);
        let mut warm = ethereum.warm_addresses().clone();
        warm.insert(CHEATS);
        Self { ethereum, warm }
    }

    pub(super) fn addresses(&self) -> &AddressSet {
        &self.warm
    }
}

impl PrecompileProvider<Context> for Precompiles {
    type Output = InterpreterResult;

    fn set_spec(
        &mut self,
        spec: <<Context as revm::context::ContextTr>::Cfg as Cfg>::Spec,
    ) -> bool {
        PrecompileProvider::<Context>::set_spec(&mut self.ethereum, spec)
    }

    fn run(
        &mut self,
        context: &mut Context,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        if context.chain.cheats.is_enabled && inputs.bytecode_address == CHEATS {
            return cheat(context, inputs).map(Some);
        }
        self.ethereum.run(context, inputs)
    }

    fn warm_addresses(&self) -> &AddressSet {
        &self.warm
    }
}

/// Runs a cheat code. An error leaves all frames at once; nothing can catch it.
fn cheat(context: &mut Context, inputs: &CallInputs) -> Result<InterpreterResult, String> {
    let answer = answer(context, inputs);
    let cheats = &mut context.chain.cheats;
    let (result, output) = match answer {
        Ok(output) => (InstructionResult::Return, output),
        Err(Refusal::Misuse(text)) => (InstructionResult::Revert, answer::error(&text)),
        Err(Refusal::Broken(text)) => {
            cheats.verdict.breaks_assertion = true;
            (InstructionResult::Revert, answer::error(&text))
        }
        Err(Refusal::Unsupported(text)) => {
            let output = answer::error(&text);
            cheats.unsupported.get_or_insert(text);
            (InstructionResult::Revert, output)
        }
        Err(Refusal::Discarded) => {
            cheats.verdict.is_discarded = true;
            return Err(String::new());
        }
    };
    // The instruction that called took this for an address that is warm; cheating costs nothing at all.
    let gas_limit = inputs.gas_limit.saturating_add(WARM_CALL_GAS);
    let gas = Gas::new_with_regular_gas_and_reservoir(gas_limit, inputs.reservoir);
    Ok(InterpreterResult::new(result, output, gas))
}

fn answer(context: &mut Context, inputs: &CallInputs) -> Answer {
    let size = inputs.input.len();
    if size > MAX_INPUT {
        let text = format!("a cheat code was called with {size} bytes, more than {MAX_INPUT}");
        return Err(Refusal::Misuse(text));
    }
    let data = inputs.input.bytes(context);
    // The journal already counts the frame of this call.
    let depth = context.journaled_state.depth.saturating_sub(1);
    table::run(&mut Call { context, caller: inputs.caller, depth }, &data)
}

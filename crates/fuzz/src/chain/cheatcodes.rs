//! The cheat codes of Foundry and HEVM: calls to a reserved address that change the chain.
//!
//! This file holds the deferred effects of cheat codes and applies them between frames. The submodules implement the
//! cheat codes, each with its table of signatures. Balances, storage, nonces and code are changed through the journal,
//! so that rewinding undoes them like everything else.
//!
//! Files, forks and mocks are unsupported; running programs must be enabled. A call of a cheat code that is not in
//! [`SUPPORTED_CHEATCODES`] reverts, and the machine records its name, so that the revert is not reported as a failure
//! of the target.

mod accounts;
mod approx_assertions;
mod args;
mod assertions;
mod block;
mod encoding;
mod expect;
mod ffi;
mod flow;
mod keys;
mod logs;
mod prank;
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

pub(super) use self::accounts::AccountLabels;
use self::expect::ExpectedRevert;
use self::prank::ActivePrank;
pub use self::table::SUPPORTED_CHEATCODES;
use super::machine::{ChainCheckpoint, EvmContext, EvmMachine};

/// Address that serves the cheat codes.
pub(crate) const CHEATCODE_ADDRESS: Address =
    address!("0x7109709ECfa91a80626fF3989D68f67F5b1DD12D");

/// Selector of the error that cheat codes revert with, `CheatcodeError(string)`.
pub(crate) const CHEATCODE_ERROR_SELECTOR: [u8; 4] = encoding::CHEATCODE_ERROR;

/// Gas cost of a call to a warm address.
const WARM_CALL_GAS: u64 = 100;

/// Maximum calldata of a cheat code, in bytes. Calldata costs no gas here; this is enough for code to etch.
const MAX_INPUT: usize = 1 << 18;

/// Cheat code settings and deferred effects.
#[derive(Clone, Debug, Default)]
pub(super) struct CheatcodeState {
    is_enabled: bool,
    runs_programs: bool,
    /// Environment variables added to those that programs inherit from the fuzzer.
    variables: BTreeMap<String, String>,
    labels: AccountLabels,
    pranks: Vec<ActivePrank>,
    expected: Vec<ExpectedRevert>,
    /// Length of the log list when recording started.
    recorded_from: Option<usize>,
    verdict: CheatcodeVerdict,
    /// The target itself reported that an assertion failed.
    has_noted_failure: bool,
    unsupported: Option<String>,
}

/// Effect of the cheat codes on a whole transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CheatcodeVerdict {
    /// The target rejected its arguments.
    pub(super) is_discarded: bool,
    pub(super) breaks_assertion: bool,
}

/// A call of a cheat code.
struct CheatcodeCall<'a> {
    context: &'a mut EvmContext,
    /// The smart contract that called the cheat code.
    caller: Address,
    /// Depth of the frames that this smart contract calls.
    depth: usize,
}

/// Reason for which a cheat code does not return.
#[derive(Debug)]
enum CheatcodeError {
    /// It was called incorrectly.
    InvalidUse(String),
    /// The condition that it checks does not hold.
    AssertionFailed(String),
    /// It is not implemented.
    Unsupported(String),
    /// The whole transaction is discarded.
    Discarded,
}

/// The encoded return value of a cheat code.
type CheatcodeResult = Result<Bytes, CheatcodeError>;

impl CheatcodeState {
    pub(super) fn new(is_enabled: bool, runs_programs: bool, path: Option<&str>) -> Self {
        let variables = path.map(|path| ("PATH".to_owned(), path.to_owned())).into_iter().collect();
        Self { is_enabled, runs_programs, variables, ..Self::default() }
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Returns true if no cheat code changes how frames start and end.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.pranks.is_empty() && self.expected.is_empty()
    }

    pub(super) fn labels(&self) -> &AccountLabels {
        &self.labels
    }

    pub(super) fn set_labels(&mut self, labels: &AccountLabels) {
        self.labels.clone_from(labels);
    }

    /// Clears the state of one transaction and returns its verdict.
    fn end_transaction(&mut self, is_success: bool) -> CheatcodeVerdict {
        self.pranks.clear();
        self.expected.clear();
        self.recorded_from = None;
        let has_noted_failure = std::mem::take(&mut self.has_noted_failure);
        let CheatcodeVerdict { is_discarded, breaks_assertion } = std::mem::take(&mut self.verdict);
        // A smart contract may catch the revert of an assertion; a failure that it recorded itself still counts.
        let breaks_assertion = has_noted_failure || breaks_assertion && !is_success;
        CheatcodeVerdict { is_discarded, breaks_assertion: breaks_assertion && !is_discarded }
    }
}

impl EvmMachine {
    /// Returns the first unsupported cheat code that was called, even if the call was undone since.
    pub fn unsupported_cheatcode(&self) -> Option<String> {
        self.engine.ctx.chain.cheats.unsupported.clone()
    }

    /// Applies active pranks to a frame before it starts and arms expected reverts.
    pub(super) fn apply_cheatcodes_to_frame(&mut self, init: &mut FrameInit) {
        if matches!(&init.frame_input, FrameInput::Call(call) if call.bytecode_address == CHEATCODE_ADDRESS)
        {
            return;
        }
        expect::arm_expected_reverts(&mut self.engine.ctx.chain.cheats, init.depth);
        prank::apply_prank(&mut self.engine.ctx, init);
    }

    /// Ends pranks of the frame and checks its result against expected reverts.
    pub(super) fn check_frame_result(&mut self, depth: usize, result: FrameResult) -> FrameResult {
        prank::end_prank(&mut self.engine.ctx, depth);
        expect::check_expected_reverts(&mut self.engine.ctx.chain.cheats, depth, result)
    }

    /// Ends the cheat code effects of a transaction and returns their verdict.
    pub(super) fn finish_cheatcodes(
        &mut self,
        before: &ChainCheckpoint,
        is_success: bool,
    ) -> CheatcodeVerdict {
        let verdict = self.engine.ctx.chain.cheats.end_transaction(is_success);
        if verdict.is_discarded || !is_success {
            // The journal holds neither block nor labels, and a frame may have been failed after it was committed.
            self.rewind(before);
        }
        verdict
    }
}

/// Ethereum's precompiles plus the cheat code address.
#[derive(Clone, Debug)]
pub(super) struct ChainPrecompiles {
    ethereum: EthPrecompiles,
    warm: AddressSet,
}

impl ChainPrecompiles {
    pub(super) fn new(spec: SpecId) -> Self {
        let ethereum = EthPrecompiles::new(spec);
        let mut warm = ethereum.warm_addresses().clone();
        warm.insert(CHEATCODE_ADDRESS);
        Self { ethereum, warm }
    }

    pub(super) fn addresses(&self) -> &AddressSet {
        &self.warm
    }
}

impl PrecompileProvider<EvmContext> for ChainPrecompiles {
    type Output = InterpreterResult;

    fn set_spec(
        &mut self,
        spec: <<EvmContext as revm::context::ContextTr>::Cfg as Cfg>::Spec,
    ) -> bool {
        PrecompileProvider::<EvmContext>::set_spec(&mut self.ethereum, spec)
    }

    fn run(
        &mut self,
        context: &mut EvmContext,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        if context.chain.cheats.is_enabled && inputs.bytecode_address == CHEATCODE_ADDRESS {
            return run_cheatcode(context, inputs).map(Some);
        }
        self.ethereum.run(context, inputs)
    }

    fn warm_addresses(&self) -> &AddressSet {
        &self.warm
    }
}

/// Runs a cheat code. Returns an error only to discard the transaction; it unwinds all frames and cannot be caught.
fn run_cheatcode(
    context: &mut EvmContext,
    inputs: &CallInputs,
) -> Result<InterpreterResult, String> {
    let answer = dispatch_cheatcode(context, inputs);
    let cheats = &mut context.chain.cheats;
    let (result, output) = match answer {
        Ok(output) => (InstructionResult::Return, output),
        Err(CheatcodeError::InvalidUse(text)) => {
            (InstructionResult::Revert, encoding::encode_error(&text))
        }
        Err(CheatcodeError::AssertionFailed(text)) => {
            cheats.verdict.breaks_assertion = true;
            (InstructionResult::Revert, encoding::encode_error(&text))
        }
        Err(CheatcodeError::Unsupported(text)) => {
            let output = encoding::encode_error(&text);
            cheats.unsupported.get_or_insert(text);
            (InstructionResult::Revert, output)
        }
        Err(CheatcodeError::Discarded) => {
            cheats.verdict.is_discarded = true;
            return Err(String::new());
        }
    };
    // The calling instruction charged for a warm address; refund that, so that cheat codes cost no gas.
    let gas_limit = inputs.gas_limit.saturating_add(WARM_CALL_GAS);
    let gas = Gas::new_with_regular_gas_and_reservoir(gas_limit, inputs.reservoir);
    Ok(InterpreterResult::new(result, output, gas))
}

fn dispatch_cheatcode(context: &mut EvmContext, inputs: &CallInputs) -> CheatcodeResult {
    let size = inputs.input.len();
    if size > MAX_INPUT {
        let text = format!("cheat code calldata has {size} bytes; the limit is {MAX_INPUT}");
        return Err(CheatcodeError::InvalidUse(text));
    }
    let data = inputs.input.bytes(context);
    // The journal depth already includes the frame of this call.
    let depth = context.journaled_state.depth.saturating_sub(1);
    table::dispatch_call(&mut CheatcodeCall { context, caller: inputs.caller, depth }, &data)
}

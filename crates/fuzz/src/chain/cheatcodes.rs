//! The cheat codes of Foundry and HEVM: calls to a reserved address that change the chain.
//!
//! This file holds the deferred effects of cheat codes and applies them between frames. The submodules implement the
//! cheat codes, each with its table of signatures. Balances, storage, nonces and code are changed through the journal,
//! so that rewinding undoes them like everything else.
//!
//! Running programs and opening remote chains must be allowed, and files and variables are only read in a project that the user
//! trusts. A call of a cheat code that is not in
//! [`SUPPORTED_CHEATCODES`] undoes the whole transaction, whose outcome names it, so that it is not reported as a failure
//! of the target. The address is an ordinary account for calls that the fuzzer makes itself, and unknown selectors only
//! revert if a contract received the address in calldata: it then calls an account, not a cheat code.

mod accounts;
mod approx_assertions;
mod args;
mod assertions;
mod block;
mod calls;
mod emits;
mod encoding;
mod env;
mod expect;
mod ffi;
mod files;
mod flow;
mod forks;
mod json;
mod keys;
mod logs;
mod parse;
mod prank;
mod random;
mod snapshots;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod unsupported;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::{Address, Bytes, Log, U256, address};
use revm::context::{Cfg, JournalTr as _};
use revm::handler::{EthPrecompiles, FrameResult, PrecompileProvider};
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{CallInputs, FrameInput, Gas, InstructionResult, InterpreterResult};
use revm::primitives::AddressSet;
use revm::primitives::hardfork::SpecId;

pub(super) use self::accounts::AccountLabels;
pub(super) use self::calls::CallMocks;
use self::calls::ExpectedCall;
use self::emits::ExpectedEmits;
use self::expect::{ExpectedRevert, RevertCheck};
use self::ffi::SetVariables;
use self::files::OpenFiles;
use self::logs::RecordedLogs;
use self::prank::ActivePrank;
use self::snapshots::StateSnapshot;
pub use self::table::{SUPPORTED_CHEATCODES, list_supported_cheatcodes};
use super::NotRunReason;
use super::machine::{ChainCheckpoint, EvmContext, EvmMachine};
use crate::config::ProjectAccess;

/// Address that serves the cheat codes.
pub(crate) const CHEATCODE_ADDRESS: Address =
    address!("0x7109709ECfa91a80626fF3989D68f67F5b1DD12D");

/// Address of Hardhat's console. Nothing is deployed there, so that its calls succeed without an effect.
pub(crate) const CONSOLE_ADDRESS: Address = address!("0x000000000000000000636F6e736F6c652e6c6f67");

/// Selector of the error that cheat codes revert with, `CheatcodeError(string)`.
pub(crate) const CHEATCODE_ERROR_SELECTOR: [u8; 4] = encoding::CHEATCODE_ERROR;

/// Gas cost of a call to a warm address.
const WARM_CALL_GAS: u64 = 100;

/// Maximum calldata of a cheat code, in bytes. Calldata costs no gas here; this is enough for code to etch.
const MAX_INPUT: usize = 1 << 18;

/// Maximum calldata of all cheat codes of one transaction, in bytes. Much of it is kept, and costs no gas.
const MAX_ALL_INPUT: usize = 1 << 27;

/// Maximum expectations, mocks or snapshots of each kind, so that a loop cannot fill the memory.
const MAX_EXPECTATIONS: usize = 1 << 12;

/// Cheat code settings and deferred effects.
#[derive(Clone, Debug, Default)]
pub(super) struct CheatcodeState {
    is_enabled: bool,
    runs_programs: bool,
    /// Environment variables added to those that programs inherit from the fuzzer.
    variables: BTreeMap<String, String>,
    /// Environment variables that contracts set. Checkpoints share them until one is set.
    set_variables: SetVariables,
    /// What contracts may read on this machine; `None` if the user does not trust the project.
    access: Option<Arc<ProjectAccess>>,
    open_files: OpenFiles,
    labels: AccountLabels,
    pranks: Vec<ActivePrank>,
    expected: Vec<ExpectedRevert>,
    emits: ExpectedEmits,
    calls: Vec<ExpectedCall>,
    mocks: CallMocks,
    snapshots: Vec<StateSnapshot>,
    /// Snapshots of this transaction that the target deleted.
    deleted_snapshots: BTreeSet<U256>,
    next_snapshot: u64,
    /// Number of random values that were returned.
    random_count: u64,
    /// Length of the log list when recording started.
    recorded_from: Option<usize>,
    /// Recorded events of earlier transactions. Checkpoints share them until one is added.
    recorded: RecordedLogs,
    verdict: CheatcodeVerdict,
    /// The last check of a cheat code that failed.
    failed_check: Option<FailedCheck>,
    /// Calldata of the cheat codes of this transaction, in bytes.
    input_bytes: usize,
    /// The target stored that an assertion failed. That counts if the storage has it when the transaction ends.
    has_stored_failure: bool,
    /// The target undid, by a snapshot, that it had stored a failed assertion. As in forge, that counts.
    has_undone_failure: bool,
    /// A contract of the current sequence received the cheat code address in calldata.
    is_address_passed: bool,
}

/// Returns true if two shared lists are the same one, or both are missing.
fn is_same_list<T>(own: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
    match (own, other) {
        (None, None) => true,
        (Some(own), Some(other)) => Arc::ptr_eq(own, other),
        _ => false,
    }
}

/// Effects that last beyond a transaction and are undone with it.
#[derive(Clone, Debug)]
pub(super) struct KeptEffects {
    mocks: CallMocks,
    random_count: u64,
    next_snapshot: u64,
    pranks: Vec<ActivePrank>,
    records_logs: bool,
    recorded: RecordedLogs,
    open_files: OpenFiles,
    set_variables: SetVariables,
}

/// Effect of the cheat codes on a whole transaction.
#[derive(Clone, Debug, Default)]
pub(super) struct CheatcodeVerdict {
    /// The target rejected its arguments, or used a cheat code that cannot be run.
    pub(super) is_discarded: bool,
    /// The transaction was in flight when the time was up.
    pub(super) is_cut_off: bool,
    /// An assertion failed and ended the transaction, or the target stored that one failed.
    pub(super) breaks_assertion: bool,
    /// Something expected did not happen, which ended the transaction.
    pub(super) misses_expectation: bool,
    /// Reason that the result of the transaction is unknown.
    pub(super) not_run: Option<NotRunReason>,
}

/// A check of a cheat code that failed. It counts if its revert ended the transaction, because the target may catch it.
#[derive(Clone, Debug)]
struct FailedCheck {
    /// The revert data.
    output: Bytes,
    /// Something expected did not happen; otherwise an assertion failed.
    is_expectation: bool,
}

/// The end of a transaction.
struct TransactionEnd<'a> {
    is_success: bool,
    output: &'a Bytes,
    logs: &'a [Log],
    /// The storage says that an assertion failed.
    has_failure: bool,
}

/// A frame that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedFrame {
    /// 0 for the top-level call.
    pub(super) depth: usize,
    /// The frame could not change any state.
    pub(super) is_static: bool,
    /// The frame was a call of a cheat code.
    pub(super) is_cheatcode: bool,
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
    /// It cannot be run, so that the result of the transaction would be meaningless; discards the whole transaction.
    NotRun(NotRunReason),
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

    pub(super) fn set_access(&mut self, access: Option<Arc<ProjectAccess>>) {
        self.access = access;
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Returns true if no cheat code changes how frames start and end.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.pranks.is_empty()
            && self.expected.is_empty()
            && self.emits.is_empty()
            && self.calls.is_empty()
            && self.mocks.is_none()
    }

    /// Returns true if a contract of the current sequence received the cheat code address in calldata.
    pub(super) fn is_address_passed(&self) -> bool {
        self.is_address_passed
    }

    pub(super) fn set_address_passed(&mut self, is_passed: bool) {
        self.is_address_passed = is_passed;
    }

    pub(super) fn labels(&self) -> &AccountLabels {
        &self.labels
    }

    pub(super) fn set_labels(&mut self, labels: &AccountLabels) {
        self.labels.clone_from(labels);
    }

    /// Returns the effects that last beyond a transaction and that contracts can observe.
    pub(super) fn kept(&self) -> KeptEffects {
        KeptEffects {
            mocks: self.mocks.clone(),
            random_count: self.random_count,
            next_snapshot: self.next_snapshot,
            pranks: self.pranks.clone(),
            records_logs: self.recorded_from.is_some(),
            recorded: self.recorded.clone(),
            open_files: self.open_files.clone(),
            set_variables: self.set_variables.clone(),
        }
    }

    pub(super) fn set_kept(&mut self, kept: &KeptEffects) {
        self.mocks.clone_from(&kept.mocks);
        self.random_count = kept.random_count;
        self.next_snapshot = kept.next_snapshot;
        self.pranks.clone_from(&kept.pranks);
        self.recorded_from = kept.records_logs.then_some(0);
        self.recorded.clone_from(&kept.recorded);
        self.open_files.clone_from(&kept.open_files);
        self.set_variables.clone_from(&kept.set_variables);
    }

    /// Returns true if contracts can observe a difference from these effects.
    pub(super) fn differs_from(&self, kept: &KeptEffects) -> bool {
        !is_same_list(&self.mocks, &kept.mocks)
            || self.random_count != kept.random_count
            || self.next_snapshot != kept.next_snapshot
            || self.pranks != kept.pranks
            || self.recorded_from.is_some() != kept.records_logs
            || !is_same_list(&self.recorded, &kept.recorded)
            || !is_same_list(&self.open_files, &kept.open_files)
            || !is_same_list(&self.set_variables, &kept.set_variables)
    }

    /// Notes that an event was emitted. If the frame that emitted it must revert therefore, returns the revert data.
    pub(super) fn note_emitted(&mut self, log: &Log) -> Result<(), Bytes> {
        if self.emits.is_empty() {
            return Ok(());
        }
        emits::note_emitted(&mut self.emits, log).map_err(|text| self.fail_check(text, true))
    }

    /// Forgets snapshots of a frame that was undone: nothing leads back to them.
    pub(super) fn drop_undone_snapshots(&mut self, journal: usize) {
        self.snapshots.retain(|snapshot| snapshot.is_within(journal));
    }

    /// Notes that a check failed, and returns the revert data.
    fn fail_check(&mut self, text: &str, is_expectation: bool) -> Bytes {
        let output = encoding::encode_error(text);
        self.failed_check = Some(FailedCheck { output: output.clone(), is_expectation });
        output
    }

    /// Prepares the effects that last for a transaction with this origin.
    pub(super) fn begin_transaction(&mut self, origin: Address) {
        prank::renew_pranks(&mut self.pranks, origin);
    }

    /// Discards the transaction, because the time was up before it ended.
    pub(super) fn cut_off(&mut self) {
        self.verdict.is_discarded = true;
        self.verdict.is_cut_off = true;
    }

    /// Discards the transaction, because its result is unknown for this reason. The first one is kept.
    pub(super) fn discard(&mut self, reason: NotRunReason) {
        self.verdict.is_discarded = true;
        self.verdict.not_run.get_or_insert(reason);
    }

    /// Clears the state of one transaction and returns its verdict.
    ///
    /// Pranks that were not stopped go on, as in forge: `setUp()` often ends with one.
    fn end_transaction(&mut self, end: &TransactionEnd<'_>) -> CheatcodeVerdict {
        self.expected.clear();
        self.emits.clear();
        self.calls.clear();
        self.snapshots.clear();
        self.deleted_snapshots.clear();
        logs::keep_recorded_logs(self, end.logs);
        let has_stored_failure = std::mem::take(&mut self.has_stored_failure);
        let has_undone_failure = std::mem::take(&mut self.has_undone_failure);
        let failed_check = self.failed_check.take();
        self.input_bytes = 0;
        let CheatcodeVerdict { is_discarded, is_cut_off, not_run, .. } =
            std::mem::take(&mut self.verdict);
        let ended_by = |is_expectation: bool| {
            let is_ending =
                |it: &FailedCheck| it.is_expectation == is_expectation && it.output == *end.output;
            !end.is_success && failed_check.as_ref().is_some_and(is_ending)
        };
        // A smart contract may catch the revert of an assertion; a failure that it recorded itself still counts.
        let is_recorded =
            has_undone_failure || has_stored_failure && end.has_failure && end.is_success;
        let breaks_assertion = !is_discarded && (is_recorded || ended_by(false));
        let misses_expectation = !is_discarded && ended_by(true);
        CheatcodeVerdict { is_discarded, is_cut_off, breaks_assertion, misses_expectation, not_run }
    }
}

impl EvmMachine {
    /// Applies active pranks to a frame before it starts and arms expected reverts.
    pub(super) fn apply_cheatcodes_to_frame(&mut self, init: &mut FrameInit) {
        if is_cheatcode_frame(init) {
            return;
        }
        let context = &mut self.engine.ctx;
        expect::arm_expected_reverts(&mut context.chain.cheats, init);
        calls::count_expected_calls(context, init);
        prank::apply_prank(&mut self.engine.ctx, init);
    }

    /// Ends pranks of the frame and checks its result against expected reverts.
    pub(super) fn check_frame_result(
        &mut self,
        frame: EndedFrame,
        result: FrameResult,
    ) -> FrameResult {
        if frame.is_cheatcode {
            return result;
        }
        prank::end_prank(&mut self.engine.ctx, frame.depth);
        let cheats = &mut self.engine.ctx.chain.cheats;
        let result = match expect::check_expected_reverts(cheats, frame.depth, result) {
            RevertCheck::Unexpected(result) => emits::check_expected_emits(cheats, frame, result),
            RevertCheck::Checked(result) => return result,
        };
        if frame.depth > 0 {
            return result;
        }
        let result = calls::check_expected_calls(cheats, result);
        emits::check_emits_at_end(cheats, result)
    }

    /// Returns true if a test library recorded that an assertion failed.
    pub(crate) fn has_noted_failure(&self) -> bool {
        accounts::has_noted_failure(&self.engine.ctx)
    }

    /// Returns the answer of a mocked call, which replaces its frame.
    pub(super) fn find_mocked_result(&mut self, init: &FrameInit) -> Option<FrameResult> {
        calls::find_mocked_result(&mut self.engine.ctx, init)
    }

    /// Ends the cheat code effects of a transaction and returns their verdict.
    pub(super) fn finish_cheatcodes(
        &mut self,
        before: &ChainCheckpoint,
        result: &InterpreterResult,
    ) -> CheatcodeVerdict {
        let context = &mut self.engine.ctx;
        let has_failure = accounts::has_noted_failure(context);
        let end = TransactionEnd {
            is_success: result.result.is_ok(),
            output: &result.output,
            logs: &context.journaled_state.logs,
            has_failure,
        };
        let verdict = context.chain.cheats.end_transaction(&end);
        if verdict.is_discarded || !result.result.is_ok() {
            // The journal holds neither block nor labels, and a frame may have been failed after it was committed.
            self.rewind(before);
        }
        verdict
    }
}

/// Returns true if the frame is a call of a cheat code.
pub(super) fn is_cheatcode_frame(init: &FrameInit) -> bool {
    matches!(&init.frame_input, FrameInput::Call(call) if call.bytecode_address == CHEATCODE_ADDRESS)
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
        // Only contracts use cheat codes. A transaction to the address itself is one to an account without code.
        let is_nested = context.journaled_state.depth > 1;
        if context.chain.cheats.is_enabled
            && inputs.bytecode_address == CHEATCODE_ADDRESS
            && is_nested
        {
            return run_cheatcode(context, inputs).map(Some);
        }
        // Settings may place a contract at the address of a precompile that came after Cancun.
        if self.warm.contains(&inputs.bytecode_address) && has_code(context, inputs) {
            return Ok(None);
        }
        self.ethereum.run(context, inputs)
    }

    fn warm_addresses(&self) -> &AddressSet {
        &self.warm
    }
}

/// Returns true if a contract was deployed at the address of the code that is called.
fn has_code(context: &mut EvmContext, inputs: &CallInputs) -> bool {
    let address = inputs.bytecode_address;
    if address == CHEATCODE_ADDRESS {
        return false;
    }
    let Ok(account) = context.journaled_state.load_account_with_code(address);
    account.info.code.as_ref().is_some_and(|code| !code.is_empty())
}

/// Runs a cheat code. Returns an error only to discard the transaction; it unwinds all frames and cannot be caught.
fn run_cheatcode(
    context: &mut EvmContext,
    inputs: &CallInputs,
) -> Result<InterpreterResult, String> {
    let database = &context.journaled_state.database;
    if database.failure().is_some() || database.is_cut_off() {
        // What the contract read is wrong, so that a cheat code must not act on it.
        context.chain.cheats.verdict.is_discarded = true;
        return Err(String::new());
    }
    let answer = dispatch_cheatcode(context, inputs);
    let cheats = &mut context.chain.cheats;
    let (result, output) = match answer {
        Ok(output) => (InstructionResult::Return, output),
        Err(CheatcodeError::InvalidUse(text)) => {
            (InstructionResult::Revert, encoding::encode_error(&text))
        }
        Err(CheatcodeError::AssertionFailed(text)) => {
            (InstructionResult::Revert, cheats.fail_check(&text, false))
        }
        Err(CheatcodeError::NotRun(reason)) => {
            cheats.verdict.is_discarded = true;
            cheats.verdict.not_run = Some(reason);
            return Err(String::new());
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
    let input_bytes = &mut context.chain.cheats.input_bytes;
    *input_bytes = input_bytes.saturating_add(size);
    if *input_bytes > MAX_ALL_INPUT {
        let text = format!("cheat codes of one call received more than {MAX_ALL_INPUT} bytes");
        return Err(CheatcodeError::NotRun(NotRunReason::RefusedCheatcode(text)));
    }
    let data = inputs.input.bytes(context);
    // The journal depth already includes the frame of this call.
    let depth = context.journaled_state.depth.saturating_sub(1);
    table::dispatch_call(&mut CheatcodeCall { context, caller: inputs.caller, depth }, &data)
}

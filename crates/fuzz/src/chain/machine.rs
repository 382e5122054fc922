//! Runs calls on `revm` and returns to checkpoints.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, Bytes, U256};
use revm::context::journal::{JournalEntry, JournalInner};
use revm::context::{BlockEnv, CfgEnv, Evm, Journal, JournalTr as _, LocalContext, TxEnv};
use revm::context_interface::CreateScheme;
use revm::context_interface::journaled_state::JournalCheckpoint;
use revm::context_interface::journaled_state::account::JournaledAccountTr as _;
use revm::handler::{EthFrame, FrameResult};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{
    CallInput, CallInputs, CallScheme, CallValue, CreateInputs, FrameInput, Gas, InstructionResult,
    InterpreterResult,
};
use revm::primitives::hardfork::SpecId;
use revm::state::Bytecode;

use super::NotRunReason;
use super::cheatcodes::{
    AccountLabels, CHEATCODE_ADDRESS, ChainPrecompiles, CheatcodeState, CheatcodeVerdict,
    KeptEffects,
};
use super::code::CompiledCodeIndex;
use super::database::ChainDatabase;
use super::forks::{self, ForkMark, ForkRegistry, ForkSummary};
use super::hooks::{self, Instructions};
use super::probe::ExecutionProbe;
use super::remote::{ForkAccess, RemoteError};
use super::trace::CallTraceRecorder;
use crate::config::ProjectAccess;

/// Hard fork whose rules apply.
const SPEC: SpecId = SpecId::OSAKA;

/// Maximum memory of all frames of a call, in bytes, as in forge.
const MEMORY_LIMIT: u64 = 1 << 27;

/// State that instructions reach in addition to the chain itself.
pub(super) struct HostExtensions {
    pub probe: ExecutionProbe,
    pub(super) cheats: CheatcodeState,
    pub(super) forks: ForkRegistry,
}

pub(super) type EvmContext =
    revm::Context<BlockEnv, TxEnv, CfgEnv, ChainDatabase, Journal<ChainDatabase>, HostExtensions>;

type EvmEngine = Evm<EvmContext, (), Instructions, ChainPrecompiles, EthFrame<EthInterpreter>>;

/// Initial settings of a chain.
#[derive(Clone, Debug)]
pub struct ChainSetup {
    pub timestamp: u64,
    pub block: u64,
    pub chain_id: u64,
    /// Maximum size of a deployed contract, in bytes.
    pub code_size: usize,
    /// Allows the cheat codes of Foundry and HEVM.
    pub cheats: bool,
    /// Allows cheat codes to run programs.
    pub ffi: bool,
    /// Value of `PATH` for these programs. `None` is that of this process.
    pub ffi_path: Option<String>,
}

/// Resource limits of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    pub gas: u64,
    /// Wall-clock limit, needed where the gas limit is too high to bound time.
    pub time: Duration,
}

/// A top-level call.
#[derive(Clone, Debug)]
pub struct EvmTransaction {
    pub from: Address,
    pub to: Address,
    pub value: U256,
    pub gas_price: u128,
    pub data: Bytes,
}

/// Outcome of a transaction.
#[derive(Clone, Debug)]
pub struct TransactionOutcome {
    pub result: InstructionResult,
    /// Gas used by the code, without the intrinsic cost of the transaction.
    pub gas_used: u64,
    /// Return data or revert data.
    pub output: Bytes,
    verdict: CheatcodeVerdict,
}

/// A point that [`EvmMachine::rewind`] returns to.
#[derive(Clone, Debug)]
pub struct ChainCheckpoint {
    pub(super) journal: JournalCheckpoint,
    pub(super) block: BlockEnv,
    pub(super) chain_id: u64,
    labels: AccountLabels,
    pub(super) kept: KeptEffects,
    pub(super) forks: ForkMark,
    is_cheatcode_address_passed: bool,
}

/// All accounts and the block, without the machine; can be sent to another thread.
#[derive(Clone, Debug)]
pub struct ChainState {
    journal: JournalInner<JournalEntry>,
    block: BlockEnv,
    chain_id: u64,
    cheats: CheatcodeState,
    forks: ForkRegistry,
    code_size: usize,
}

/// Runs transactions on in-memory state. Start with [`EvmMachine::new`] and [`EvmMachine::call`].
pub struct EvmMachine {
    pub(super) engine: EvmEngine,
    limits: CallLimits,
    /// A call was in flight at the end.
    has_cut_calls: bool,
    /// Recorder of frames while a call is traced.
    pub(super) trace: Option<CallTraceRecorder>,
}

impl TransactionOutcome {
    /// Returns true if the call ended without a revert, and was not discarded.
    pub fn is_success(&self) -> bool {
        self.result.is_ok() && !self.is_discarded()
    }

    pub fn is_revert(&self) -> bool {
        self.result.is_revert()
    }

    /// Returns true if the target rejected its arguments (`vm.assume`) or could not be run. The call changed nothing and
    /// proves nothing.
    pub fn is_discarded(&self) -> bool {
        self.verdict.is_discarded
    }

    /// Returns true if the call was in flight when the time of the campaign was up. It is discarded, and says nothing.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.verdict.is_cut_off
    }

    /// Returns the reason that the call could not be run, such as an unsupported cheat code. Such a call is discarded.
    pub fn not_run_reason(&self) -> Option<&NotRunReason> {
        self.verdict.not_run.as_ref()
    }

    /// Returns true if a cheat code assertion (`vm.assertEq` and others) failed, or something expected did not happen.
    pub fn breaks_assertion(&self) -> bool {
        self.verdict.breaks_assertion || self.verdict.misses_expectation
    }

    /// Returns true if a cheat code assertion failed. For forge, something expected that did not happen is a mere revert.
    pub(crate) fn fails_assertion(&self) -> bool {
        self.verdict.breaks_assertion
    }
}

impl ChainState {
    pub fn new(setup: &ChainSetup) -> Self {
        let mut journal = JournalInner::new();
        journal.set_spec_id(SPEC);
        let block = BlockEnv {
            number: U256::from(setup.block),
            timestamp: U256::from(setup.timestamp),
            gas_limit: u64::MAX,
            ..BlockEnv::default()
        };
        let cheats = CheatcodeState::new(setup.cheats, setup.ffi, setup.ffi_path.as_deref());
        Self {
            journal,
            block,
            chain_id: setup.chain_id,
            cheats,
            forks: ForkRegistry::default(),
            code_size: setup.code_size,
        }
    }

    /// Makes a new chain a fork, or allows cheat codes to create forks. The persistent accounts are the same on all forks.
    #[must_use]
    pub(crate) fn with_forks(mut self, access: &ForkAccess, persistent: BTreeSet<Address>) -> Self {
        self.forks = ForkRegistry::new(access, persistent);
        if let Some(remote) = &access.base {
            self.block = forks::to_block_env(remote.block());
            self.chain_id = remote.chain_id();
        }
        self
    }

    /// Returns the forks in the order of their numbers.
    pub fn forks(&self) -> Vec<ForkSummary> {
        self.forks.summaries()
    }

    /// Sets the gas limit of blocks that contracts observe. It does not limit calls.
    #[must_use]
    pub fn with_block_gas_limit(mut self, gas: u64) -> Self {
        self.block.gas_limit = gas;
        self
    }

    /// Allows cheat codes to read what `access` names on this machine.
    #[must_use]
    pub fn with_access(mut self, access: Option<Arc<ProjectAccess>>) -> Self {
        self.cheats.set_access(access);
        self
    }
}

impl EvmMachine {
    pub fn new(
        state: ChainState,
        codes: Arc<CompiledCodeIndex>,
        topics: Vec<B256>,
        limits: CallLimits,
    ) -> Self {
        let mut cfg = CfgEnv::new_with_spec(SPEC);
        cfg.chain_id = state.chain_id;
        cfg.limit_contract_code_size = Some(state.code_size);
        cfg.limit_contract_initcode_size = Some(usize::MAX);
        cfg.memory_limit = MEMORY_LIMIT;
        let instructions = hooks::build_instruction_table(SPEC, codes.has_unchecked());
        let watch = HostExtensions {
            probe: ExecutionProbe::new(codes, topics),
            cheats: state.cheats,
            forks: state.forks,
        };
        let database = ChainDatabase::new(watch.forks.active_remote());
        let mut context = EvmContext {
            block: state.block,
            tx: TxEnv::default(),
            cfg,
            journaled_state: Journal::new_with_inner(database, state.journal),
            chain: watch,
            local: LocalContext::default(),
            error: Ok(()),
        };
        let precompiles = ChainPrecompiles::new(SPEC);
        let warm = precompiles.addresses();
        context.journaled_state.warm_precompiles(warm);
        let mut machine = Self {
            engine: Evm::new(context, instructions, precompiles),
            limits,
            has_cut_calls: false,
            trace: None,
        };
        if machine.engine.ctx.chain.cheats.is_enabled() {
            // Solidity checks for code before it calls.
            machine.set_code(CHEATCODE_ADDRESS, Bytes::from_static(&[0]));
        }
        machine
    }

    /// Returns a copy of everything but the probe.
    pub fn copy_state(&self) -> ChainState {
        let context = &self.engine.ctx;
        let mut journal = context.journaled_state.to_inner();
        // Rewinding to a point before the copy is impossible, and all workers start alike.
        journal.journal.clear();
        ChainState {
            journal,
            block: context.block.clone(),
            chain_id: context.cfg.chain_id,
            cheats: context.chain.cheats.clone(),
            forks: context.chain.forks.copy(),
            code_size: context.cfg.limit_contract_code_size.unwrap_or(usize::MAX),
        }
    }

    /// Returns to a state, and forgets what was loaded since. Earlier checkpoints are no longer valid.
    ///
    /// Rewinding keeps every account and slot that was ever loaded, so that a long campaign would fill the memory.
    pub(crate) fn restore(&mut self, state: ChainState) {
        let ChainState { journal, block, chain_id, cheats, forks, code_size } = state;
        let warm = self.engine.precompiles.addresses();
        let context = &mut self.engine.ctx;
        context.chain.cheats = cheats;
        context.chain.forks = forks;
        let remote = context.chain.forks.active_remote();
        context.journaled_state.database.set_remote(remote, 0);
        context.journaled_state.inner = journal;
        context.journaled_state.warm_precompiles(warm);
        context.block = block;
        context.cfg.chain_id = chain_id;
        context.cfg.limit_contract_code_size = Some(code_size);
    }

    /// Returns the number of loaded accounts and slots.
    pub(crate) fn count_loaded(&self) -> usize {
        let accounts = self.engine.ctx.journaled_state.state.values();
        accounts.map(|account| 1 + account.storage.len()).sum()
    }

    pub fn probe(&self) -> &ExecutionProbe {
        &self.engine.ctx.chain.probe
    }

    pub(crate) fn probe_mut(&mut self) -> &mut ExecutionProbe {
        &mut self.engine.ctx.chain.probe
    }

    /// Sets the time at which every call ends, even one that waits for the state of a fork.
    pub(crate) fn set_end(&mut self, end: Option<Instant>) {
        self.engine.ctx.chain.probe.set_end(end);
        self.engine.ctx.journaled_state.database.set_end(end);
    }

    /// Lets calls run past the end. The state of a fork is not waited for, however.
    pub(crate) fn lift_end_of_calls(&mut self) {
        self.engine.ctx.chain.probe.set_end(None);
        self.has_cut_calls = false;
    }

    /// Returns true if a call was in flight at the end, or state did not arrive before it. Later results mean nothing.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.has_cut_calls || self.engine.ctx.journaled_state.database.is_cut_off()
    }

    pub fn chain_id(&self) -> u64 {
        self.engine.ctx.cfg.chain_id
    }

    /// Returns the reason that the state of the chain is not known, because its fork could not be fetched. No result of this
    /// machine means anything then.
    pub fn fork_failure(&self) -> Option<&RemoteError> {
        self.engine.ctx.journaled_state.database.failure()
    }

    /// Stores what was fetched for forks, for later campaigns.
    pub fn save_forks(&self) {
        self.engine.ctx.chain.forks.save();
    }

    /// Returns words in the storage of all accounts, sorted and without duplicates.
    pub(crate) fn stored_words(&self) -> Vec<U256> {
        let state = &self.engine.ctx.journaled_state.state;
        let slots = state.values().flat_map(|account| account.storage.values());
        let mut words: Vec<U256> = slots.map(|slot| slot.present_value).collect();
        words.sort_unstable();
        words.dedup();
        words
    }

    /// Returns the block's timestamp in Unix seconds, and its number.
    pub fn now(&self) -> (u64, u64) {
        let block = &self.engine.ctx.block;
        (block.timestamp.saturating_to(), block.number.saturating_to())
    }

    /// Advances the block's timestamp and number.
    pub fn advance_time(&mut self, seconds: u64, blocks: u64) {
        let block = &mut self.engine.ctx.block;
        block.timestamp = block.timestamp.saturating_add(U256::from(seconds));
        block.number = block.number.saturating_add(U256::from(blocks));
    }

    pub fn checkpoint(&mut self) -> ChainCheckpoint {
        let journal = &mut self.engine.ctx.journaled_state;
        let checkpoint = journal.checkpoint();
        journal.checkpoint_commit();
        let context = &self.engine.ctx;
        ChainCheckpoint {
            journal: checkpoint,
            block: context.block.clone(),
            chain_id: context.cfg.chain_id,
            labels: context.chain.cheats.labels().clone(),
            kept: context.chain.cheats.kept(),
            forks: context.chain.forks.mark(),
            is_cheatcode_address_passed: context.chain.cheats.is_address_passed(),
        }
    }

    /// Undoes everything since the checkpoint.
    pub fn rewind(&mut self, mark: &ChainCheckpoint) {
        let context = &mut self.engine.ctx;
        forks::return_to_mark(context, &mark.forks);
        context.journaled_state.checkpoint_revert(mark.journal);
        context.block.clone_from(&mark.block);
        context.cfg.chain_id = mark.chain_id;
        context.chain.cheats.set_labels(&mark.labels);
        context.chain.cheats.set_kept(&mark.kept);
        context.chain.cheats.set_address_passed(mark.is_cheatcode_address_passed);
    }

    pub fn balance(&mut self, address: Address) -> U256 {
        let Ok(account) = self.engine.ctx.journaled_state.load_account(address);
        account.info.balance
    }

    pub(crate) fn set_balance(&mut self, address: Address, balance: U256) {
        let Ok(mut account) = self.engine.ctx.journaled_state.load_account_mut(address);
        account.set_balance(balance);
        account.touch();
    }

    /// Sets the nonce to that of an account without transactions.
    pub(crate) fn reset_nonce(&mut self, address: Address) {
        self.set_nonce(address, 0);
    }

    pub(crate) fn set_nonce(&mut self, address: Address, nonce: u64) {
        let Ok(mut account) = self.engine.ctx.journaled_state.load_account_mut(address);
        if account.nonce() != nonce {
            account.set_nonce(nonce);
        }
    }

    pub(crate) fn set_code(&mut self, address: Address, code: Bytes) {
        let journal = &mut self.engine.ctx.journaled_state;
        let Ok(_) = journal.load_account(address);
        journal.set_code(address, Bytecode::new_legacy(code));
    }

    /// Returns the code at the address.
    pub fn code(&mut self, address: Address) -> Bytes {
        let Ok(account) = self.engine.ctx.journaled_state.load_account_with_code(address);
        account.info.code.as_ref().map(Bytecode::original_bytes).unwrap_or_default()
    }

    /// Returns true if the account has code, and it is that of the remote chain.
    pub(crate) fn has_remote_code(&mut self, address: Address) -> bool {
        let Some(remote) = self.engine.ctx.chain.forks.active_remote() else { return false };
        let code = self.code(address);
        // The account was loaded before, so that nothing is fetched.
        address != CHEATCODE_ADDRESS
            && !code.is_empty()
            && remote.account(address).is_ok_and(|account| account.code == code)
    }

    /// Sets the maximum size of contracts deployed from now on.
    pub(crate) fn set_code_size_limit(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.engine.ctx.cfg.limit_contract_code_size = Some(bytes);
    }

    /// Returns the addresses of accounts that have code, sorted.
    pub fn contract_addresses(&self) -> Vec<Address> {
        let state = &self.engine.ctx.journaled_state.state;
        let mut addresses: Vec<Address> = state
            .iter()
            .filter(|(_, account)| !account.info.is_empty_code_hash())
            .map(|(address, _)| *address)
            .collect();
        addresses.sort_unstable();
        addresses
    }

    /// Runs a call and keeps its changes.
    pub fn call(&mut self, transaction: &EvmTransaction) -> TransactionOutcome {
        let limits = self.limits;
        self.call_with_limits(transaction, limits)
    }

    /// Runs a call with limits other than the machine's own.
    pub(crate) fn call_with_limits(
        &mut self,
        transaction: &EvmTransaction,
        limits: CallLimits,
    ) -> TransactionOutcome {
        let context = &mut self.engine.ctx;
        context.tx.caller = transaction.from;
        context.chain.cheats.begin_transaction(transaction.from);
        context.tx.gas_price = transaction.gas_price;
        if contains_address(&transaction.data, CHEATCODE_ADDRESS) {
            context.chain.cheats.set_address_passed(true);
        }
        let Some(gas_limit) = limits.gas.checked_sub(intrinsic_gas(&transaction.data)) else {
            let (output, verdict) = (Bytes::new(), CheatcodeVerdict::default());
            let result = InstructionResult::OutOfGas;
            return TransactionOutcome { result, gas_used: limits.gas, output, verdict };
        };
        let journal = &mut context.journaled_state;
        let Ok(_) = journal.load_account(transaction.from);
        let Ok(account) = journal.load_account_with_code(transaction.to);
        let known_bytecode =
            (account.info.code_hash, account.info.code.clone().unwrap_or_default());
        let input = FrameInput::Call(Box::new(CallInputs {
            input: CallInput::Bytes(transaction.data.clone()),
            return_memory_offset: 0..0,
            gas_limit,
            reservoir: 0,
            bytecode_address: transaction.to,
            known_bytecode,
            target_address: transaction.to,
            caller: transaction.from,
            value: CallValue::Transfer(transaction.value),
            scheme: CallScheme::Call,
            is_static: false,
            charged_new_account_state_gas: false,
        }));
        let (result, verdict) = self.run_transaction(input, limits);
        build_outcome(&result, verdict, gas_limit)
    }

    /// Deploys code, at the given address or at the one that follows from the sender's nonce.
    pub fn deploy_code(
        &mut self,
        from: Address,
        at: Option<Address>,
        code: Bytes,
        value: U256,
    ) -> (TransactionOutcome, Option<Address>) {
        let limits = CallLimits { gas: u64::MAX / 2, ..self.limits };
        self.engine.ctx.tx.caller = from;
        let scheme = at.map_or(CreateScheme::Create, |address| CreateScheme::Custom { address });
        let input = CreateInputs::new(from, scheme, value, code, limits.gas, 0);
        let (result, verdict) = self.run_transaction(FrameInput::Create(Box::new(input)), limits);
        let address = match &result {
            FrameResult::Create(created) => created.address,
            FrameResult::Call(_) => None,
        };
        (build_outcome(&result, verdict, limits.gas), address)
    }

    /// Runs a call and undoes it.
    pub fn simulate_call(
        &mut self,
        transaction: &EvmTransaction,
        limits: CallLimits,
    ) -> TransactionOutcome {
        let mark = self.checkpoint();
        let outcome = self.call_with_limits(transaction, limits);
        self.rewind(&mark);
        outcome
    }

    /// Runs the first frame and its subcalls, then ends the transaction as far as later ones can observe.
    fn run_transaction(
        &mut self,
        input: FrameInput,
        limits: CallLimits,
    ) -> (FrameResult, CheatcodeVerdict) {
        let context = &mut self.engine.ctx;
        context.chain.probe.set_time_limit(limits.time);
        context.journaled_state.database.reset_waiting();
        let is_undoable = context.chain.cheats.is_enabled() || context.chain.forks.is_used();
        let before = is_undoable.then(|| self.checkpoint());
        let result = self.run_to_completion(input);
        let context = &mut self.engine.ctx;
        context.chain.forks.end_transaction();
        let is_cut_off = context.journaled_state.database.is_cut_off();
        let is_timed_out = std::mem::take(&mut context.chain.probe.is_timed_out);
        if is_cut_off || is_timed_out && context.chain.probe.is_past_end() {
            context.chain.cheats.cut_off();
            self.has_cut_calls = true;
        } else if is_timed_out {
            context.chain.cheats.discard(NotRunReason::TimedOut(limits.time.as_secs()));
        }
        if let Some(failure) = context.journaled_state.database.failure() {
            let reason = NotRunReason::ForkUnavailable(failure.to_string());
            context.chain.cheats.discard(reason);
        }
        let verdict = before.map_or_else(CheatcodeVerdict::default, |mark| {
            self.finish_cheatcodes(&mark, result.interpreter_result())
        });
        let journal = &mut *self.engine.ctx.journaled_state;
        journal.transient_storage.clear();
        journal.logs.clear();
        journal.selfdestructed_addresses.clear();
        journal.depth = 0;
        journal.transaction_id.increment();
        (result, verdict)
    }
}

/// Returns the gas that a transaction costs before any code runs.
fn intrinsic_gas(data: &[u8]) -> u64 {
    const TRANSACTION: u64 = 21_000;
    const ZERO_BYTE: u64 = 4;
    const OTHER_BYTE: u64 = 16;
    let zeros = data.iter().filter(|byte| **byte == 0).count() as u64;
    TRANSACTION + zeros * ZERO_BYTE + (data.len() as u64 - zeros) * OTHER_BYTE
}

/// Returns true if the data contains the address, at any offset.
fn contains_address(data: &[u8], address: Address) -> bool {
    let Some(last) = data.len().checked_sub(address.len()) else { return false };
    let first = address[0];
    (0..=last).any(|at| data[at] == first && data[at..at + address.len()] == *address.as_slice())
}

fn build_outcome(
    result: &FrameResult,
    verdict: CheatcodeVerdict,
    gas_limit: u64,
) -> TransactionOutcome {
    let InterpreterResult { result, output, gas } = result.interpreter_result();
    let gas_used = match result {
        // The remaining gas of aborted frames is unknown.
        _ if verdict.is_discarded => 0,
        _ if result.is_halt() => gas_limit,
        _ => compute_gas_used(gas, gas_limit),
    };
    TransactionOutcome { result: *result, gas_used, output: output.clone(), verdict }
}

fn compute_gas_used(gas: &Gas, limit: u64) -> u64 {
    let spent = limit.saturating_sub(gas.remaining());
    let refund = u64::try_from(gas.refunded()).unwrap_or(0).min(spent / 5);
    spent - refund
}

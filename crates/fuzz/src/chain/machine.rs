//! Runs calls, remembers points to return to.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, U256};
use revm::context::journal::{JournalEntry, JournalInner};
use revm::context::{BlockEnv, CfgEnv, Evm, Journal, JournalTr as _, LocalContext, TxEnv};
use revm::context_interface::CreateScheme;
use revm::context_interface::journaled_state::JournalCheckpoint;
use revm::context_interface::journaled_state::account::JournaledAccountTr as _;
use revm::database_interface::EmptyDB;
use revm::handler::{EthFrame, FrameResult};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{
    CallInput, CallInputs, CallScheme, CallValue, CreateInputs, FrameInput, Gas, InstructionResult,
    InterpreterResult,
};
use revm::primitives::hardfork::SpecId;
use revm::state::Bytecode;

use super::cheats::{CHEATS, Cheats, Labels, Precompiles, Verdict};
use super::code::Codes;
use super::hooks::{self, Instructions};
use super::probe::Probe;
use super::trace::Trace;

/// The rules that calls run under.
const SPEC: SpecId = SpecId::OSAKA;

/// What instructions reach beside the chain itself.
pub(super) struct Watch {
    pub probe: Probe,
    pub(super) cheats: Cheats,
}

pub(super) type Context = revm::Context<BlockEnv, TxEnv, CfgEnv, EmptyDB, Journal<EmptyDB>, Watch>;

type Engine = Evm<Context, (), Instructions, Precompiles, EthFrame<EthInterpreter>>;

/// How a chain begins.
#[derive(Clone, Debug)]
pub struct Setup {
    pub timestamp: u64,
    pub block: u64,
    /// The largest contract that may be deployed, in bytes.
    pub code_size: usize,
    /// Whether contracts may call the cheat codes of Foundry and HEVM.
    pub cheats: bool,
    /// Whether cheat codes may run programs.
    pub ffi: bool,
}

/// What a call may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub gas: u64,
    /// Gas bounds time, but not where the limit was set so high that it no longer does.
    pub time: Duration,
}

/// A call from outside.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub from: Address,
    pub to: Address,
    pub value: U256,
    pub gas_price: u128,
    pub data: Bytes,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub result: InstructionResult,
    /// By the code that ran, without what each transaction costs.
    pub gas_used: u64,
    /// What was returned, or the reason of the revert.
    pub output: Bytes,
    verdict: Verdict,
}

/// A point to return to.
#[derive(Clone, Debug)]
pub struct Mark {
    pub(super) journal: JournalCheckpoint,
    pub(super) block: BlockEnv,
    pub(super) chain_id: u64,
    labels: Labels,
}

/// All accounts and the block, without the machine; this can go to another thread.
#[derive(Clone, Debug)]
pub struct State {
    journal: JournalInner<JournalEntry>,
    block: BlockEnv,
    chain_id: u64,
    cheats: Cheats,
    code_size: usize,
}

/// See the module.
pub struct Machine {
    pub(super) engine: Engine,
    limits: Limits,
    /// Where frames are written down, while somebody wants them.
    pub(super) trace: Option<Trace>,
}

impl Outcome {
    pub fn is_success(&self) -> bool {
        self.result.is_ok()
    }

    pub fn is_revert(&self) -> bool {
        self.result.is_revert()
    }

    /// The contract did not want to be called like this (`vm.assume`): the call changed nothing and says nothing.
    pub(crate) fn is_discarded(&self) -> bool {
        self.verdict.is_discarded
    }

    /// An assertion among the cheat codes (`vm.assertEq` and others) failed, or an expected revert did not come.
    pub fn breaks_assertion(&self) -> bool {
        self.verdict.breaks_assertion
    }
}

impl State {
    pub fn new(setup: &Setup) -> Self {
        let mut journal = JournalInner::new();
        journal.set_spec_id(SPEC);
        let block = BlockEnv {
            number: U256::from(setup.block),
            timestamp: U256::from(setup.timestamp),
            gas_limit: u64::MAX,
            ..BlockEnv::default()
        };
        let cheats = Cheats::new(setup.cheats, setup.ffi);
        let chain_id = CfgEnv::<SpecId>::default().chain_id;
        Self { journal, block, chain_id, cheats, code_size: setup.code_size }
    }
}

impl Machine {
    pub fn new(state: State, codes: Arc<Codes>, topics: Vec<B256>, limits: Limits) -> Self {
        let mut cfg = CfgEnv::new_with_spec(SPEC);
        cfg.chain_id = state.chain_id;
        cfg.limit_contract_code_size = Some(state.code_size);
        cfg.limit_contract_initcode_size = Some(usize::MAX);
        let instructions = hooks::instructions(SPEC, codes.has_unchecked());
        let watch = Watch { probe: Probe::new(codes, topics), cheats: state.cheats };
        let mut context = Context {
            block: state.block,
            tx: TxEnv::default(),
            cfg,
            journaled_state: Journal::new_with_inner(EmptyDB::default(), state.journal),
            chain: watch,
            local: LocalContext::default(),
            error: Ok(()),
        };
        let precompiles = Precompiles::new(SPEC);
        let warm = precompiles.addresses();
        context.journaled_state.warm_precompiles(warm);
        let mut machine =
            Self { engine: Evm::new(context, instructions, precompiles), limits, trace: None };
        if machine.engine.ctx.chain.cheats.is_enabled() {
            // Solidity asks for code before it calls.
            machine.set_code(CHEATS, Bytes::from_static(&[0]));
        }
        machine
    }

    /// A copy of everything but the probe.
    pub fn state(&self) -> State {
        let context = &self.engine.ctx;
        let mut journal = context.journaled_state.to_inner();
        // Nobody returns to a point before the copy, and workers start alike.
        journal.journal.clear();
        State {
            journal,
            block: context.block.clone(),
            chain_id: context.cfg.chain_id,
            cheats: context.chain.cheats.clone(),
            code_size: context.cfg.limit_contract_code_size.unwrap_or(usize::MAX),
        }
    }

    pub fn probe(&self) -> &Probe {
        &self.engine.ctx.chain.probe
    }

    pub(crate) fn probe_mut(&mut self) -> &mut Probe {
        &mut self.engine.ctx.chain.probe
    }

    /// Seconds since 1970 on the chain, and the number of its block.
    pub fn now(&self) -> (u64, u64) {
        let block = &self.engine.ctx.block;
        (block.timestamp.saturating_to(), block.number.saturating_to())
    }

    /// Lets time and blocks go by.
    pub fn wait(&mut self, seconds: u64, blocks: u64) {
        let block = &mut self.engine.ctx.block;
        block.timestamp = block.timestamp.saturating_add(U256::from(seconds));
        block.number = block.number.saturating_add(U256::from(blocks));
    }

    pub fn mark(&mut self) -> Mark {
        let journal = &mut self.engine.ctx.journaled_state;
        let checkpoint = journal.checkpoint();
        journal.checkpoint_commit();
        let context = &self.engine.ctx;
        Mark {
            journal: checkpoint,
            block: context.block.clone(),
            chain_id: context.cfg.chain_id,
            labels: context.chain.cheats.labels().clone(),
        }
    }

    /// Undoes everything since the mark.
    pub fn rewind(&mut self, mark: &Mark) {
        let context = &mut self.engine.ctx;
        context.journaled_state.checkpoint_revert(mark.journal);
        context.block.clone_from(&mark.block);
        context.cfg.chain_id = mark.chain_id;
        context.chain.cheats.set_labels(&mark.labels);
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

    pub(crate) fn set_code(&mut self, address: Address, code: Bytes) {
        let journal = &mut self.engine.ctx.journaled_state;
        let Ok(_) = journal.load_account(address);
        journal.set_code(address, Bytecode::new_legacy(code));
    }

    /// The code at the address.
    pub fn code(&mut self, address: Address) -> Bytes {
        let Ok(account) = self.engine.ctx.journaled_state.load_account_with_code(address);
        account.info.code.as_ref().map(Bytecode::original_bytes).unwrap_or_default()
    }

    /// The size that contracts may have which are deployed from now on.
    pub(crate) fn limit_code(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.engine.ctx.cfg.limit_contract_code_size = Some(bytes);
    }

    /// Accounts that have code, in the order of their addresses.
    pub fn contracts(&self) -> Vec<Address> {
        let state = &self.engine.ctx.journaled_state.state;
        let mut addresses: Vec<Address> = state
            .iter()
            .filter(|(_, account)| !account.info.is_empty_code_hash())
            .map(|(address, _)| *address)
            .collect();
        addresses.sort_unstable();
        addresses
    }

    /// Runs a call and keeps what it did.
    pub fn call(&mut self, transaction: &Transaction) -> Outcome {
        let limits = self.limits;
        self.call_within(transaction, limits)
    }

    /// Runs a call within other limits than the usual ones.
    pub(crate) fn call_within(&mut self, transaction: &Transaction, limits: Limits) -> Outcome {
        let context = &mut self.engine.ctx;
        context.tx.caller = transaction.from;
        context.tx.gas_price = transaction.gas_price;
        let Some(gas_limit) = limits.gas.checked_sub(intrinsic_gas(&transaction.data)) else {
            let (output, verdict) = (Bytes::new(), Verdict::default());
            let result = InstructionResult::OutOfGas;
            return Outcome { result, gas_used: limits.gas, output, verdict };
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
        let (result, verdict) = self.transact(input, limits);
        outcome(&result, verdict, gas_limit)
    }

    /// Deploys code, at a given address or at that which the sender's nonce leads to.
    pub fn deploy(
        &mut self,
        from: Address,
        at: Option<Address>,
        code: Bytes,
        value: U256,
    ) -> (Outcome, Option<Address>) {
        let limits = Limits { gas: u64::MAX / 2, ..self.limits };
        self.engine.ctx.tx.caller = from;
        let scheme = at.map_or(CreateScheme::Create, |address| CreateScheme::Custom { address });
        let input = CreateInputs::new(from, scheme, value, code, limits.gas, 0);
        let (result, verdict) = self.transact(FrameInput::Create(Box::new(input)), limits);
        let address = match &result {
            FrameResult::Create(created) => created.address,
            FrameResult::Call(_) => None,
        };
        (outcome(&result, verdict, limits.gas), address)
    }

    /// Runs a call and undoes it.
    pub fn peek(&mut self, transaction: &Transaction, limits: Limits) -> Outcome {
        let mark = self.mark();
        let outcome = self.call_within(transaction, limits);
        self.rewind(&mark);
        outcome
    }

    /// Runs the first frame and all that it calls, then ends the transaction as far as later ones notice.
    fn transact(&mut self, input: FrameInput, limits: Limits) -> (FrameResult, Verdict) {
        self.engine.ctx.chain.probe.limit(limits.time);
        let before = self.engine.ctx.chain.cheats.is_enabled().then(|| self.mark());
        let result = self.run(input);
        let is_success = result.instruction_result().is_ok();
        let verdict = before.map_or_else(Verdict::default, |mark| self.settle(&mark, is_success));
        let journal = &mut *self.engine.ctx.journaled_state;
        journal.transient_storage.clear();
        journal.logs.clear();
        journal.selfdestructed_addresses.clear();
        journal.depth = 0;
        journal.transaction_id.increment();
        (result, verdict)
    }
}

/// What a transaction costs before any code runs.
fn intrinsic_gas(data: &[u8]) -> u64 {
    const TRANSACTION: u64 = 21_000;
    const ZERO_BYTE: u64 = 4;
    const OTHER_BYTE: u64 = 16;
    let zeros = data.iter().filter(|byte| **byte == 0).count() as u64;
    TRANSACTION + zeros * ZERO_BYTE + (data.len() as u64 - zeros) * OTHER_BYTE
}

fn outcome(result: &FrameResult, verdict: Verdict, gas_limit: u64) -> Outcome {
    let InterpreterResult { result, output, gas } = result.interpreter_result();
    let gas_used = match result {
        // Nobody counted what the frames had left that were given up.
        _ if verdict.is_discarded => 0,
        _ if result.is_halt() => gas_limit,
        _ => used(gas, gas_limit),
    };
    Outcome { result: *result, gas_used, output: output.clone(), verdict }
}

fn used(gas: &Gas, limit: u64) -> u64 {
    let spent = limit.saturating_sub(gas.remaining());
    let refund = u64::try_from(gas.refunded()).unwrap_or(0).min(spent / 5);
    spent - refund
}

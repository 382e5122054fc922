//! Forks: chains that start from remote state, and the switching between them.
//!
//! Each fork has a journal of its own. Switching sets the current one aside and continues on another, which takes over the
//! persistent accounts. Journals that were set aside are numbered: rewinding to a point before a switch takes the old one
//! back, as it was. The journal in use has the number of those before it, its *epoch*.
//!
//! Frames that run during a switch hold positions in the journal that they began with. The new journal has as many
//! entries, which undo nothing. If such a frame reverts, its earlier changes would be lost, so that the transaction is
//! discarded then ([`ForkRegistry::end_frame`]).

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use alloy_primitives::{Address, U256};
use revm::context::journal::{JournalEntry, JournalInner};
use revm::context::{BlockEnv, JournalTr as _};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::primitives::eip4844::BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE;
use revm::state::{Account, EvmState};

use super::CHEATCODE_ADDRESS;
use super::machine::EvmContext;
use super::remote::{ForkAccess, RemoteBlock, RemoteChains, RemoteState};

/// Maximum forks of one chain, and maximum switches that can be undone. Each holds a copy of the accounts in use.
const MAX_FORKS: usize = 256;
const MAX_SWITCHES: usize = 1024;
/// Largest excess of blob gas of which a price is computed. A node may send any number, and the price of larger ones
/// overflows; this one is about 5·10²¹ wei.
const MAX_EXCESS_BLOB_GAS: u64 = 50 * BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE;

type ChainJournal = JournalInner<JournalEntry>;

/// An entry whose undoing changes nothing: the touched state of this precompile is never undone.
const NO_CHANGE: JournalEntry =
    JournalEntry::AccountTouched { address: revm::primitives::PRECOMPILE3 };

/// The forks of a machine.
#[derive(Clone, Debug, Default)]
pub(super) struct ForkRegistry {
    chains: Option<Arc<dyn RemoteChains>>,
    /// Shared with checkpoints; `None` while there are no forks and no persistent accounts.
    table: Option<Arc<ForkTable>>,
    /// Journals that were set aside, oldest first.
    left: Vec<Arc<ChainJournal>>,
    /// Accounts whose code runs, outermost first. Only kept if there may be forks.
    running: Vec<Address>,
    /// Depth of the outermost running frame in which another fork was selected.
    switched_at: Option<usize>,
}

#[derive(Clone, Debug, Default)]
struct ForkTable {
    forks: Vec<ChainFork>,
    active: Option<usize>,
    /// Accounts that are the same on all forks.
    persistent: BTreeSet<Address>,
    /// Accounts that the first transaction with a fork created before. They exist on all forks.
    created: Vec<(Address, Account)>,
}

/// A chain that starts from remote state.
#[derive(Clone, Debug)]
struct ChainFork {
    remote: Arc<dyn RemoteState>,
    /// Its state when another fork was selected.
    left: Option<LeftChain>,
}

#[derive(Clone, Debug)]
struct LeftChain {
    journal: Arc<ChainJournal>,
    block: BlockEnv,
    chain_id: u64,
}

/// The forks at a checkpoint.
#[derive(Clone, Debug)]
pub(super) struct ForkMark {
    table: Option<Arc<ForkTable>>,
    epoch: usize,
}

/// A fork of a chain, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkSummary {
    /// Name of the endpoint, without secrets.
    pub endpoint: String,
    pub chain_id: u64,
    pub block: RemoteBlock,
}

impl ForkSummary {
    /// Returns the host of the endpoint.
    pub fn host(&self) -> &str {
        self.endpoint.split('#').next().unwrap_or_default()
    }
}

/// Reason that a fork cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ForkError {
    #[error("no fork is active")]
    NoActiveFork,
    #[error("unknown fork")]
    UnknownFork,
    #[error("too many forks; the limit is {MAX_FORKS}")]
    TooManyForks,
    #[error("forks were selected too often in one sequence; the limit is {MAX_SWITCHES}")]
    TooManySwitches,
}

impl ForkRegistry {
    pub(super) fn new(access: &ForkAccess, persistent: BTreeSet<Address>) -> Self {
        let forks: Vec<_> =
            access.base.iter().map(|remote| ChainFork::new(Arc::clone(remote))).collect();
        let is_used = !forks.is_empty() || access.chains.is_some();
        let active = (!forks.is_empty()).then_some(0);
        let table = ForkTable { forks, active, persistent, created: Vec::new() };
        Self {
            chains: access.chains.clone(),
            table: is_used.then(|| Arc::new(table)),
            ..Self::default()
        }
    }

    /// Returns a copy for another machine, which cannot rewind to points before it.
    pub(super) fn copy(&self) -> Self {
        Self { chains: self.chains.clone(), table: self.table.clone(), ..Self::default() }
    }

    pub(super) fn chains(&self) -> Option<&Arc<dyn RemoteChains>> {
        self.chains.as_ref()
    }

    /// Returns true if the chain is a fork, or cheat codes may make it one.
    #[inline]
    pub(super) fn is_used(&self) -> bool {
        self.table.is_some()
    }

    /// Returns the state that the chain in use starts from.
    pub(super) fn active_remote(&self) -> Option<Arc<dyn RemoteState>> {
        let table = self.table.as_deref()?;
        Some(Arc::clone(&table.forks.get(table.active?)?.remote))
    }

    pub(super) fn active(&self) -> Result<usize, ForkError> {
        self.table.as_deref().and_then(|table| table.active).ok_or(ForkError::NoActiveFork)
    }

    pub(super) fn summaries(&self) -> Vec<ForkSummary> {
        let forks = self.table.iter().flat_map(|table| &table.forks);
        forks
            .map(|fork| ForkSummary {
                endpoint: fork.remote.endpoint().to_owned(),
                chain_id: fork.remote.chain_id(),
                block: fork.remote.block().clone(),
            })
            .collect()
    }

    /// Stores what was fetched for the forks.
    pub(super) fn save(&self) {
        let forks = self.table.iter().flat_map(|table| &table.forks);
        forks.for_each(|fork| fork.remote.save());
    }

    pub(super) fn mark(&self) -> ForkMark {
        ForkMark { table: self.table.clone(), epoch: self.left.len() }
    }

    /// Returns true if forks, or what is persistent, changed since the mark.
    pub(super) fn differs_from(&self, mark: &ForkMark) -> bool {
        let is_same = match (&self.table, &mark.table) {
            (None, None) => true,
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        };
        !is_same || self.left.len() != mark.epoch
    }

    /// Returns true if another journal is in use than at the mark, so that positions in it say nothing.
    pub(super) fn has_switched_since(&self, mark: &ForkMark) -> bool {
        self.left.len() != mark.epoch
    }

    /// Adds a fork and returns its number.
    pub(super) fn add(&mut self, remote: Arc<dyn RemoteState>) -> Result<usize, ForkError> {
        let table = Arc::make_mut(self.table.get_or_insert_default());
        if table.forks.len() >= MAX_FORKS {
            return Err(ForkError::TooManyForks);
        }
        table.forks.push(ChainFork::new(remote));
        Ok(table.forks.len() - 1)
    }

    /// Returns the state that a fork starts from.
    pub(super) fn remote(&self, fork: usize) -> Result<Arc<dyn RemoteState>, ForkError> {
        let fork = self.table.as_deref().and_then(|table| table.forks.get(fork));
        fork.map(|fork| Arc::clone(&fork.remote)).ok_or(ForkError::UnknownFork)
    }

    pub(super) fn is_persistent(&self, address: Address) -> bool {
        self.table.as_deref().is_some_and(|table| table.persistent.contains(&address))
    }

    pub(super) fn set_persistent(&mut self, address: Address, is_persistent: bool) {
        if self.is_persistent(address) == is_persistent {
            return;
        }
        let persistent = &mut Arc::make_mut(self.table.get_or_insert_default()).persistent;
        match is_persistent {
            true => persistent.insert(address),
            false => persistent.remove(&address),
        };
    }

    /// Records that the code of an account runs in a frame of this depth.
    pub(super) fn enter_frame(&mut self, depth: usize, address: Address) {
        self.running.truncate(depth);
        self.running.push(address);
    }

    /// Ends a frame. Returns true if another fork was selected in it and it is undone, which a journal cannot do.
    pub(super) fn end_frame(&mut self, depth: usize, is_kept: bool) -> bool {
        let is_concerned = self.switched_at.is_some_and(|at| at >= depth);
        if !is_concerned {
            return false;
        }
        self.switched_at = depth.checked_sub(1);
        // The outermost frame is undone as a whole, by its checkpoint.
        !is_kept && depth > 0
    }

    /// Ends a transaction.
    pub(super) fn end_transaction(&mut self) {
        self.switched_at = None;
        self.running.clear();
    }
}

impl ChainFork {
    fn new(remote: Arc<dyn RemoteState>) -> Self {
        Self { remote, left: None }
    }
}

impl ForkTable {
    /// Returns the accounts that the chain in use has in common with the next one: the persistent ones, and perhaps created
    /// ones.
    fn common_accounts(
        &self,
        journal: &ChainJournal,
        kept: KeptAccounts,
    ) -> Vec<(Address, Account)> {
        let is_created = |account: &Account| match kept {
            KeptAccounts::Persistent => false,
            KeptAccounts::CreatedNow => {
                account.is_created_locally()
                    && !account.is_cold_transaction_id(journal.transaction_id)
            }
            KeptAccounts::Created => account.is_created(),
        };
        let accounts = journal.state.iter().filter(|(address, account)| {
            self.persistent.contains(*address)
                || **address == CHEATCODE_ADDRESS
                || is_created(account)
        });
        accounts.map(|(address, account)| (*address, account.clone())).collect()
    }
}

/// Accounts that the next chain takes over, by the rules of forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeptAccounts {
    /// Another fork is selected.
    Persistent,
    /// The first fork is selected: also what the transaction created before.
    CreatedNow,
    /// The active fork moves to another block: also what was ever created on it.
    Created,
}

/// Selects a fork.
pub(super) fn select_fork(
    context: &mut EvmContext,
    fork: usize,
    depth: usize,
) -> Result<(), ForkError> {
    let registry = &context.chain.forks;
    registry.remote(fork)?;
    let active = registry.active().ok();
    if active == Some(fork) {
        return Ok(());
    }
    set_journal_aside(context, fork, depth, |table, left| {
        let kept = match table.active {
            None => KeptAccounts::CreatedNow,
            Some(_) => KeptAccounts::Persistent,
        };
        let common = table.common_accounts(&left.journal, kept);
        match table.active {
            None => {
                let is_created = |address: &Address| !table.persistent.contains(address);
                table.created = common.iter().filter(|it| is_created(&it.0)).cloned().collect();
            }
            Some(active) => table.forks[active].left = Some(left),
        }
        table.active = Some(fork);
        let entered = &mut table.forks[fork];
        let (state, block, chain_id) = match entered.left.take() {
            Some(left) => (left.journal.state.clone(), left.block, left.chain_id),
            None => {
                let state = table.created.iter().cloned().collect();
                (state, to_block_env(entered.remote.block()), entered.remote.chain_id())
            }
        };
        NextChain { state, common, block, chain_id }
    })
}

/// Moves a fork to another block, whose state was opened. What is persistent stays, also if the fork is the active one.
pub(super) fn roll_fork(
    context: &mut EvmContext,
    fork: usize,
    remote: Arc<dyn RemoteState>,
    depth: usize,
) -> Result<(), ForkError> {
    let registry = &mut context.chain.forks;
    registry.remote(fork)?;
    if registry.active() != Ok(fork) {
        let table = Arc::make_mut(registry.table.get_or_insert_default());
        table.forks[fork] = ChainFork::new(remote);
        return Ok(());
    }
    set_journal_aside(context, fork, depth, |table, left| {
        let common = table.common_accounts(&left.journal, KeptAccounts::Created);
        let (block, chain_id) = (to_block_env(remote.block()), remote.chain_id());
        table.forks[fork] = ChainFork::new(remote);
        NextChain { state: EvmState::default(), common, block, chain_id }
    })
}

/// The chain to continue on.
struct NextChain {
    state: EvmState,
    /// Accounts that replace those of the state.
    common: Vec<(Address, Account)>,
    block: BlockEnv,
    chain_id: u64,
}

/// Replaces the journal in use by the one of another chain, which `choose` returns given the chain that is left.
fn set_journal_aside(
    context: &mut EvmContext,
    fork: usize,
    depth: usize,
    choose: impl FnOnce(&mut ForkTable, LeftChain) -> NextChain,
) -> Result<(), ForkError> {
    let registry = &mut context.chain.forks;
    if registry.left.len() >= MAX_SWITCHES {
        return Err(ForkError::TooManySwitches);
    }
    let old = std::mem::replace(&mut context.journaled_state.inner, ChainJournal::new());
    let old = Arc::new(old);
    let left = LeftChain {
        journal: Arc::clone(&old),
        block: context.block.clone(),
        chain_id: context.cfg.chain_id,
    };
    let table = Arc::make_mut(registry.table.get_or_insert_default());
    let NextChain { mut state, common, block, chain_id } = choose(table, left);
    state.extend(common);
    let remote = Arc::clone(&table.forks[fork].remote);
    registry.left.push(Arc::clone(&old));
    registry.switched_at = Some(registry.switched_at.map_or(depth, |at| at.min(depth)));
    let journal = &mut context.journaled_state;
    journal.database.set_remote(Some(remote), registry.left.len());
    journal.inner = ChainJournal {
        state,
        journal: vec![NO_CHANGE; old.journal.len()],
        transient_storage: old.transient_storage.clone(),
        logs: old.logs.clone(),
        depth: old.depth,
        transaction_id: old.transaction_id,
        cfg: old.cfg.clone(),
        warm_addresses: old.warm_addresses.clone(),
        selfdestructed_addresses: old.selfdestructed_addresses.clone(),
    };
    context.block = block;
    context.cfg.chain_id = chain_id;
    load_running_accounts(context);
    Ok(())
}

/// Loads the accounts whose code runs. Instructions expect that.
fn load_running_accounts(context: &mut EvmContext) {
    for address in context.chain.forks.running.clone() {
        let Ok(_) = context.journaled_state.load_account(address);
    }
}

/// Returns to the journal and the forks of a mark. The caller undoes the changes in that journal since then.
pub(super) fn return_to_mark(context: &mut EvmContext, mark: &ForkMark) {
    let registry = &mut context.chain.forks;
    if !registry.differs_from(mark) {
        return;
    }
    registry.table.clone_from(&mark.table);
    registry.left.truncate(mark.epoch + 1);
    if registry.left.len() > mark.epoch
        && let Some(left) = registry.left.pop()
    {
        let inner = &mut context.journaled_state.inner;
        let depth = inner.depth;
        *inner = Arc::unwrap_or_clone(left);
        inner.depth = depth;
    }
    let remote = registry.active_remote();
    context.journaled_state.database.set_remote(remote, mark.epoch);
    load_running_accounts(context);
}

/// Returns the environment of a block.
pub(super) fn to_block_env(block: &RemoteBlock) -> BlockEnv {
    let excess = block.excess_blob_gas.unwrap_or_default().min(MAX_EXCESS_BLOB_GAS);
    BlockEnv {
        number: U256::from(block.number),
        timestamp: U256::from(block.timestamp),
        gas_limit: block.gas_limit,
        basefee: block.base_fee,
        beneficiary: block.beneficiary,
        difficulty: block.difficulty,
        prevrandao: Some(block.prev_randao),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice::new(
            excess,
            BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE,
        )),
        ..BlockEnv::default()
    }
}

//! Tracks the state that calls read, to skip calls whose inputs have not changed and which would end as before.

use alloy_primitives::map::HashSet;
use alloy_primitives::{Address, U256};
use revm::context::journal::JournalEntry;

use super::machine::{ChainCheckpoint, EvmMachine, EvmTransaction, TransactionOutcome};
use super::{CHEATCODE_ADDRESS, CallLimits};

/// Maximum distinct storage slots. A call that reads more is treated as reading everything.
const MAX_SLOTS: usize = 4096;

/// State that one or more calls read.
#[derive(Clone, Debug, Default)]
pub struct ReadSet {
    slots: HashSet<(Address, U256)>,
    /// Timestamp, number, or another field of the block.
    block: bool,
    /// State that is not tracked in detail.
    everything: bool,
}

/// Difference of a machine's state from an earlier point, as far as contracts can observe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateChange {
    /// Time or block number advanced, or a cheat code changed the block.
    pub block: bool,
    pub storage: bool,
    /// Balances, code, or the set of accounts.
    pub accounts: bool,
}

impl ReadSet {
    /// Records access to a storage slot. Writes count too: their gas cost depends on the old value.
    pub(super) fn record_slot(&mut self, address: Address, key: U256) {
        if self.slots.len() < MAX_SLOTS {
            self.slots.insert((address, key));
        } else {
            self.everything = true;
        }
    }

    pub(super) fn record_block(&mut self) {
        self.block = true;
    }

    /// Records a call. Cheat codes can read state without any instruction.
    pub(super) fn record_call(&mut self, address: Address) {
        self.everything |= address == CHEATCODE_ADDRESS;
    }
}

impl StateChange {
    pub const NOTHING: Self = Self { block: false, storage: false, accounts: false };
    pub const EVERYTHING: Self = Self { block: true, storage: true, accounts: true };
}

impl EvmMachine {
    /// Runs a call, undoes it, and adds the state that it read.
    pub(crate) fn simulate_and_record_reads(
        &mut self,
        transaction: &EvmTransaction,
        limits: CallLimits,
        reads: &mut ReadSet,
    ) -> TransactionOutcome {
        self.probe_mut().reads = Some(std::mem::take(reads));
        let outcome = self.simulate_call(transaction, limits);
        *reads = self.probe_mut().reads.take().unwrap_or_default();
        outcome
    }

    /// Returns the difference from the state at the checkpoint.
    pub(crate) fn change_since(&self, mark: &ChainCheckpoint) -> StateChange {
        let context = &self.engine.ctx;
        if context.chain.forks.has_switched_since(&mark.forks) {
            return StateChange::EVERYTHING;
        }
        let mut change = StateChange { block: context.block != mark.block, ..StateChange::NOTHING };
        change.accounts = context.cfg.chain_id != mark.chain_id
            || context.chain.cheats.differs_from(&mark.kept)
            || context.chain.forks.differs_from(&mark.forks);
        for entry in &context.journaled_state.journal[mark.journal.journal_i..] {
            match entry {
                JournalEntry::AccountWarmed { .. }
                | JournalEntry::AccountTouched { .. }
                | JournalEntry::StorageWarmed { .. }
                | JournalEntry::TransientStorageChange { .. } => {}
                JournalEntry::StorageChanged { .. } => change.storage = true,
                _ => change.accounts = true,
            }
        }
        change
    }

    /// Returns true if a change since the checkpoint can affect the outcome of calls that read this state.
    pub fn affects_reads(
        &self,
        change: StateChange,
        mark: &ChainCheckpoint,
        reads: &ReadSet,
    ) -> bool {
        if change.accounts || reads.everything && change != StateChange::NOTHING {
            return true;
        }
        let journal = &self.engine.ctx.journaled_state.journal;
        change.block && reads.block
            || change.storage
                && journal[mark.journal.journal_i..].iter().any(|entry| match entry {
                    JournalEntry::StorageChanged { address, key, .. } => {
                        reads.slots.contains(&(*address, *key))
                    }
                    _ => false,
                })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use alloy_primitives::{Bytes, address, hex};

    use super::super::{ChainSetup, ChainState, CompiledCodeIndex};
    use super::*;

    const SENDER: Address = address!("0x0000000000000000000000000000000000010000");
    const READER: Address = address!("0x00000000000000000000000000000000000000a1");
    const WRITER: Address = address!("0x00000000000000000000000000000000000000a2");
    const LIMITS: CallLimits = CallLimits { gas: 1_000_000, time: Duration::from_secs(60) };

    type Mutation<'a> = &'a dyn Fn(&mut EvmMachine);

    fn call(to: Address, value: u64, data: &[u8]) -> EvmTransaction {
        let (data, value) = (Bytes::copy_from_slice(data), U256::from(value));
        EvmTransaction { from: SENDER, to, value, gas_price: 0, data }
    }

    /// Returns the names of the changes that affect a call of the code.
    fn check(code: &[u8]) -> String {
        let setup = ChainSetup {
            timestamp: 1_000,
            block: 10,
            chain_id: 1,
            code_size: 0x6000,
            cheats: true,
            ffi: false,
            ffi_path: None,
        };
        let codes = Arc::new(CompiledCodeIndex::default());
        let mut machine = EvmMachine::new(ChainState::new(&setup), codes, Vec::new(), LIMITS);
        machine.set_balance(SENDER, U256::from(100));
        machine.set_code(READER, Bytes::copy_from_slice(code));
        // Stores a word at a slot; calldata holds both.
        machine.set_code(WRITER, hex!("60203560003555").into());
        let mut reads = ReadSet::default();
        machine.simulate_and_record_reads(&call(READER, 0, &[]), LIMITS, &mut reads);
        let store = |slot: u8| {
            let mut data = [0; 64];
            (data[31], data[63]) = (slot, 9);
            data
        };
        let changes: [(&str, Mutation<'_>); 5] = [
            ("nothing", &|machine| drop(machine.call(&call(SENDER, 0, &[])))),
            ("wait", &|machine| machine.advance_time(1, 1)),
            ("slot 1", &|machine| drop(machine.call(&call(WRITER, 0, &store(1))))),
            ("slot 2", &|machine| drop(machine.call(&call(WRITER, 0, &store(2))))),
            ("balance", &|machine| drop(machine.call(&call(WRITER, 1, &store(2))))),
        ];
        let mut concerning = Vec::new();
        for (name, change) in changes {
            let mark = machine.checkpoint();
            change(&mut machine);
            let since = machine.change_since(&mark);
            if machine.affects_reads(since, &mark, &reads) {
                concerning.push(name);
            }
            machine.rewind(&mark);
        }
        concerning.join(", ")
    }

    #[test]
    fn only_changes_of_read_state_affect_a_call() {
        // STOP
        assert_eq!(check(&hex!("00")), "balance");
        // SLOAD of slot 1 of the reader; the writer stores to its own storage.
        assert_eq!(check(&hex!("600154")), "balance");
        // CALL of the writer, which writes its own slot 0.
        assert_eq!(check(&hex!("6000600060006000600060a25af1")), "balance");
        // CALL of the writer with slot 1: PUSH1 1 MSTORE at 0, 32 bytes of data.
        assert_eq!(check(&hex!("60016000526000600060206000600060a25af1")), "slot 1, balance");
        // TIMESTAMP, NUMBER
        assert_eq!(check(&hex!("42")), "wait, balance");
        assert_eq!(check(&hex!("43")), "wait, balance");
        // CALL of the cheat code address.
        let cheats = hex!("60006000600060006000737109709ecfa91a80626ff3989d68f67f5b1dd12d5af1");
        assert_eq!(check(&cheats), "wait, slot 1, slot 2, balance");
    }
}

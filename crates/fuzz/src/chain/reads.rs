//! What calls looked at, and whether that has changed: a call that looks only at what is as it was ends as it did.

use alloy_primitives::map::HashSet;
use alloy_primitives::{Address, U256};
use revm::context::journal::JournalEntry;

use super::machine::{Machine, Mark, Outcome, Transaction};
use super::{CHEATS, Limits};

/// Slots that are told apart. A test that looks at more is taken to look at everything.
const MAX_SLOTS: usize = 4096;

/// What one or more calls looked at.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    slots: HashSet<(Address, U256)>,
    /// The time, the number, or another figure of the block.
    block: bool,
    /// Something that nobody follows.
    everything: bool,
}

/// How a machine differs from what it was, as far as contracts can see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Time and blocks went by, or a cheat code changed the block.
    pub block: bool,
    pub storage: bool,
    /// Balances, code, or which accounts there are.
    pub accounts: bool,
}

impl Reads {
    /// A slot of storage was read or written; what writing costs depends on what was there.
    pub(super) fn slot(&mut self, address: Address, key: U256) {
        if self.slots.len() < MAX_SLOTS {
            self.slots.insert((address, key));
        } else {
            self.everything = true;
        }
    }

    pub(super) fn block(&mut self) {
        self.block = true;
    }

    /// A contract was called. Cheat codes see what no instruction tells.
    pub(super) fn call(&mut self, address: Address) {
        self.everything |= address == CHEATS;
    }
}

impl Change {
    pub const NOTHING: Self = Self { block: false, storage: false, accounts: false };
    pub const EVERYTHING: Self = Self { block: true, storage: true, accounts: true };
}

impl Machine {
    /// Runs a call, undoes it, and adds what it looked at.
    pub(crate) fn peek_and_note(
        &mut self,
        transaction: &Transaction,
        limits: Limits,
        reads: &mut Reads,
    ) -> Outcome {
        self.probe_mut().reads = Some(std::mem::take(reads));
        let outcome = self.peek(transaction, limits);
        *reads = self.probe_mut().reads.take().unwrap_or_default();
        outcome
    }

    /// What differs from how it was at the mark.
    pub(crate) fn change_since(&self, mark: &Mark) -> Change {
        let context = &self.engine.ctx;
        let mut change = Change { block: context.block != mark.block, ..Change::NOTHING };
        change.accounts = context.cfg.chain_id != mark.chain_id;
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

    /// True if calls that looked at this could end otherwise after the change, which is that since the mark.
    pub fn concerns(&self, change: Change, mark: &Mark, reads: &Reads) -> bool {
        if change.accounts || reads.everything && change != Change::NOTHING {
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

    use super::super::{Codes, Setup, State};
    use super::*;

    const SENDER: Address = address!("0x0000000000000000000000000000000000010000");
    const READER: Address = address!("0x00000000000000000000000000000000000000a1");
    const WRITER: Address = address!("0x00000000000000000000000000000000000000a2");
    const LIMITS: Limits = Limits { gas: 1_000_000, time: Duration::from_secs(60) };

    type Step<'a> = &'a dyn Fn(&mut Machine);

    fn call(to: Address, value: u64, data: &[u8]) -> Transaction {
        let (data, value) = (Bytes::copy_from_slice(data), U256::from(value));
        Transaction { from: SENDER, to, value, gas_price: 0, data }
    }

    /// Which changes concern a call of code that looks at something.
    fn check(code: &[u8]) -> String {
        let setup =
            Setup { timestamp: 1_000, block: 10, code_size: 0x6000, cheats: true, ffi: false };
        let codes = Arc::new(Codes::default());
        let mut machine = Machine::new(State::new(&setup), codes, Vec::new(), LIMITS);
        machine.set_balance(SENDER, U256::from(100));
        machine.set_code(READER, Bytes::copy_from_slice(code));
        // Stores a word at a slot, both in the data.
        machine.set_code(WRITER, hex!("60203560003555").into());
        let mut reads = Reads::default();
        machine.peek_and_note(&call(READER, 0, &[]), LIMITS, &mut reads);
        let store = |slot: u8| {
            let mut data = [0; 64];
            (data[31], data[63]) = (slot, 9);
            data
        };
        let changes: [(&str, Step<'_>); 5] = [
            ("nothing", &|machine| drop(machine.call(&call(SENDER, 0, &[])))),
            ("wait", &|machine| machine.wait(1, 1)),
            ("slot 1", &|machine| drop(machine.call(&call(WRITER, 0, &store(1))))),
            ("slot 2", &|machine| drop(machine.call(&call(WRITER, 0, &store(2))))),
            ("balance", &|machine| drop(machine.call(&call(WRITER, 1, &store(2))))),
        ];
        let mut concerning = Vec::new();
        for (name, change) in changes {
            let mark = machine.mark();
            change(&mut machine);
            let since = machine.change_since(&mark);
            if machine.concerns(since, &mark, &reads) {
                concerning.push(name);
            }
            machine.rewind(&mark);
        }
        concerning.join(", ")
    }

    #[test]
    fn only_what_was_looked_at_matters() {
        // STOP
        assert_eq!(check(&hex!("00")), "balance");
        // SLOAD of slot 1, which is not the one that the writer has.
        assert_eq!(check(&hex!("600154")), "balance");
        // CALL of the writer, which writes slot 0 of its own.
        assert_eq!(check(&hex!("6000600060006000600060a25af1")), "balance");
        // The same with slot 1: PUSH1 1 MSTORE at 0, 32 bytes of data.
        assert_eq!(check(&hex!("60016000526000600060206000600060a25af1")), "slot 1, balance");
        // TIMESTAMP, NUMBER
        assert_eq!(check(&hex!("42")), "wait, balance");
        assert_eq!(check(&hex!("43")), "wait, balance");
        // CALL of the cheat codes.
        let cheats = hex!("60006000600060006000737109709ecfa91a80626ff3989d68f67f5b1dd12d5af1");
        assert_eq!(check(&cheats), "wait, slot 1, slot 2, balance");
    }
}

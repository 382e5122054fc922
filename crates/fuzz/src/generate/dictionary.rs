//! Values that the code knows: its constants and literals, and what it wrote, returned and compared.

use std::collections::{BTreeSet, HashSet};

use alloy_primitives::{Address, U256};
use fastrand::Rng;

use crate::config::Settings;
use crate::target::Target;

/// Values that were learned from execution; the oldest go first.
const MAX_LEARNED: usize = 2048;

/// Of contracts that create others without end, the first ones are enough.
const MAX_ADDRESSES: usize = 256;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    /// From code and source; these stay.
    words: Vec<U256>,
    learned: Vec<U256>,
    next: usize,
    known: HashSet<U256>,
    pub strings: Vec<Vec<u8>>,
    pub addresses: Vec<Address>,
}

impl Dictionary {
    /// What the code and the source of the target say.
    pub fn of(target: &Target, settings: &Settings) -> Self {
        let mut dictionary = Self::default();
        let used: BTreeSet<usize> = target.contracts.iter().map(|it| it.contract).collect();
        for contract in used {
            let code = &target.build.contracts[contract].runtime.bytes;
            for word in solidity::push_operands(code) {
                dictionary.add(word);
            }
        }
        let literals = solidity::literals(&target.build);
        for number in literals.numbers {
            dictionary.add(number);
        }
        dictionary.strings.extend(literals.strings);
        let deployed = target.contracts.iter().map(|it| it.address);
        let known = deployed
            .chain(settings.senders.iter().copied())
            .chain([settings.deployer, settings.property_sender, Address::ZERO])
            .chain(literals.addresses);
        for address in known {
            dictionary.add_address(address);
        }
        dictionary
    }

    /// Adds a constant.
    pub fn add(&mut self, word: U256) {
        if self.known.insert(word) {
            self.words.push(word);
        }
    }

    /// Adds an address, as long as there are not too many.
    pub(crate) fn add_address(&mut self, address: Address) {
        if self.addresses.len() < MAX_ADDRESSES && !self.addresses.contains(&address) {
            self.addresses.push(address);
        }
    }

    /// Adds a value that was seen.
    pub fn learn(&mut self, word: U256) {
        if !self.known.insert(word) {
            return;
        }
        if self.learned.len() < MAX_LEARNED {
            self.learned.push(word);
        } else {
            let old = std::mem::replace(&mut self.learned[self.next], word);
            self.known.remove(&old);
            self.next = (self.next + 1) % MAX_LEARNED;
        }
    }

    /// Any value; constants as often as all that was learned.
    pub fn word(&self, rng: &mut Rng) -> Option<U256> {
        let learned = !self.learned.is_empty() && (self.words.is_empty() || rng.u8(0..3) == 0);
        let from = if learned { &self.learned } else { &self.words };
        (!from.is_empty()).then(|| from[rng.usize(0..from.len())])
    }

    pub fn string(&self, rng: &mut Rng) -> Option<&[u8]> {
        (!self.strings.is_empty()).then(|| &*self.strings[rng.usize(0..self.strings.len())])
    }

    pub fn address(&self, rng: &mut Rng) -> Option<Address> {
        (!self.addresses.is_empty()).then(|| self.addresses[rng.usize(0..self.addresses.len())])
    }
}

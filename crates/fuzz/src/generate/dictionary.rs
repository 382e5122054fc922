//! Values taken from the target: constants and literals of its code, and values observed during execution.

use std::collections::{BTreeSet, HashSet};

use alloy_primitives::{Address, U256};
use fastrand::Rng;

use super::is_cheatcode_address;
use crate::chain::CHEATCODE_ADDRESS;
use crate::config::CampaignSettings;
use crate::target::FuzzTarget;

/// Maximum values learned from execution; the oldest are replaced first.
const MAX_LEARNED: usize = 2048;

/// Maximum addresses. Bounds the growth when contracts keep creating others.
const MAX_ADDRESSES: usize = 256;

/// Words, strings and addresses to generate values from.
#[derive(Clone, Debug, Default)]
pub struct ValueDictionary {
    /// Constants of code and source; never replaced.
    words: Vec<U256>,
    learned: Vec<U256>,
    next: usize,
    known: HashSet<U256>,
    pub strings: Vec<Vec<u8>>,
    pub addresses: Vec<Address>,
}

impl ValueDictionary {
    /// Returns the dictionary of the constants and literals in the target's code and source.
    pub fn from_target(target: &FuzzTarget, settings: &CampaignSettings) -> Self {
        let mut dictionary = Self::default();
        let used: BTreeSet<usize> = target.contracts.iter().map(|it| it.contract).collect();
        for contract in used {
            let code = &target.build.contracts[contract].runtime.bytes;
            for word in solidity::collect_push_operands(code) {
                dictionary.add_constant(word);
            }
        }
        let literals = solidity::collect_literals(&target.build);
        for number in literals.numbers {
            dictionary.add_constant(number);
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
    pub fn add_constant(&mut self, word: U256) {
        if !is_cheatcode_address(word) && self.known.insert(word) {
            self.words.push(word);
        }
    }

    /// Adds an address; no-op once [`MAX_ADDRESSES`] are stored.
    pub(crate) fn add_address(&mut self, address: Address) {
        let is_full = self.addresses.len() >= MAX_ADDRESSES;
        if !is_full && address != CHEATCODE_ADDRESS && !self.addresses.contains(&address) {
            self.addresses.push(address);
        }
    }

    /// Adds a value observed during execution.
    pub fn learn(&mut self, word: U256) {
        if is_cheatcode_address(word) || !self.known.insert(word) {
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

    /// Returns a random word: a learned one in a third of cases, otherwise a constant.
    pub fn pick_word(&self, rng: &mut Rng) -> Option<U256> {
        let learned = !self.learned.is_empty() && (self.words.is_empty() || rng.u8(0..3) == 0);
        let from = if learned { &self.learned } else { &self.words };
        (!from.is_empty()).then(|| from[rng.usize(0..from.len())])
    }

    pub fn pick_string(&self, rng: &mut Rng) -> Option<&[u8]> {
        (!self.strings.is_empty()).then(|| &*self.strings[rng.usize(0..self.strings.len())])
    }

    pub fn pick_address(&self, rng: &mut Rng) -> Option<Address> {
        (!self.addresses.is_empty()).then(|| self.addresses[rng.usize(0..self.addresses.len())])
    }
}

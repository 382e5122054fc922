//! Generates calls, with values from ABI types, from the dictionary and from other values.
//!
//! Generation has no knowledge of contract semantics. Interesting values come from the code and from earlier executions;
//! see [`ValueDictionary`]. Start at [`CallGenerator`].

mod dictionary;
mod fill;
mod mutate;
mod values;

pub use dictionary::ValueDictionary;

use alloy_primitives::{Address, U256};
use fastrand::Rng;

use crate::abi::AbiValue;
use crate::call::{CallDelay, CallPayload, SequenceCall};
use crate::chain::CHEATCODE_ADDRESS;
use crate::config::CampaignSettings;
use crate::target::{FunctionId, FuzzTarget};

/// Percentage of calls that go to `view` and `pure` functions, if there are others. They cannot change the state, but they
/// may violate an assertion.
const VIEW_PERCENT: u32 = 5;

/// Percentage of calls that are preceded by a delay.
const DELAY_PERCENT: u32 = 30;

/// Percentage of calls that send raw calldata, if a contract accepts it.
const DATA_PERCENT: u32 = 3;

/// Percentage of calls that go to contracts which the sequence created, if there are any to be called.
const CREATED_PERCENT: u32 = 25;

/// Percentage of new calls that go to prioritized functions, if there are any. The rest are drawn from all functions,
/// including the prioritized ones: with k of n functions prioritized, their share is 90 % plus k/n of 10 %.
const PRIORITY_PERCENT: u32 = 90;

/// The functions to choose from when generating a call.
#[derive(Clone, Debug, Default)]
pub struct FunctionChoice {
    acting: Vec<FunctionId>,
    viewing: Vec<FunctionId>,
    /// Unit tests that are called apart from sequences.
    units: Vec<FunctionId>,
    pub priorities: Vec<FunctionId>,
}

/// Generates calls and values; see the module documentation.
pub struct CallGenerator<'a> {
    pub rng: &'a mut Rng,
    pub dictionary: &'a ValueDictionary,
    pub settings: &'a CampaignSettings,
    pub target: &'a FuzzTarget,
    pub choice: &'a FunctionChoice,
    /// Words returned by the last calls of the sequence.
    pub returned: &'a [U256],
    /// Contracts that the sequence created.
    pub created: &'a [CreatedContract],
}

/// A contract that the current sequence created, and whose functions are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreatedContract {
    pub address: Address,
    /// Index of the contract in the build.
    pub contract: usize,
    /// Number of calls after which it exists.
    pub after: usize,
}

impl FunctionChoice {
    pub fn new(target: &FuzzTarget) -> Self {
        let callable = target.callable.iter().copied().filter(|&id| !target.is_single_unit(id));
        let (units, others): (Vec<_>, Vec<_>) = callable.partition(|&id| target.is_unit_test(id));
        // A unit test ends the sequence that it is part of. If there are sequences, it is called apart from them.
        let (units, others) = if others.is_empty() { (Vec::new(), units) } else { (units, others) };
        let (viewing, acting) = others.into_iter().partition(|&id| target.function(id).is_view);
        Self { acting, viewing, units, priorities: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.acting.is_empty() && self.viewing.is_empty()
    }

    /// Removes a function about which nothing more can be learned.
    pub(crate) fn remove_function(&mut self, id: FunctionId) {
        for list in [&mut self.acting, &mut self.viewing, &mut self.units] {
            list.retain(|known| *known != id);
        }
    }

    /// Returns a prioritized function in [`PRIORITY_PERCENT`] of cases.
    fn pick_prioritized(&self, rng: &mut Rng) -> Option<FunctionId> {
        if self.priorities.is_empty() || rng.u32(0..100) >= PRIORITY_PERCENT {
            return None;
        }
        rng.choice(self.priorities.iter().copied())
    }

    /// Returns any function, `view` functions less often.
    fn pick_function(&self, rng: &mut Rng) -> Option<FunctionId> {
        let views = self.acting.is_empty() || rng.u32(0..100) < VIEW_PERCENT;
        let from = if views && !self.viewing.is_empty() { &self.viewing } else { &self.acting };
        (!from.is_empty()).then(|| from[rng.usize(0..from.len())])
    }
}

/// Returns true for the address of the cheat codes, which the fuzzer never passes as an argument: a contract that calls the
/// address it was given would use cheat codes by accident.
pub(crate) fn is_cheatcode_address(word: U256) -> bool {
    word == U256::from_be_bytes(CHEATCODE_ADDRESS.into_word().0)
}

impl CallGenerator<'_> {
    /// Returns a call of any function, or raw calldata.
    pub fn generate_call(&mut self) -> SequenceCall {
        let target = self.target;
        if let Some(preferred) = self.choice.pick_prioritized(self.rng) {
            return self.generate_call_to(preferred);
        }
        if !self.created.is_empty() && self.roll_percent(CREATED_PERCENT) {
            return self.generate_call_to_created();
        }
        if !target.fallbacks.is_empty()
            && (self.choice.is_empty() || self.roll_percent(DATA_PERCENT))
        {
            return self.generate_data_call();
        }
        match self.choice.pick_function(self.rng) {
            Some(function) => self.generate_call_to(function),
            None => {
                SequenceCall { payload: CallPayload::WaitOnly, ..self.new_call_to(Address::ZERO) }
            }
        }
    }

    /// Returns a call of this function with generated arguments.
    pub fn generate_call_to(&mut self, id: FunctionId) -> SequenceCall {
        let function = self.target.function(id);
        let mut args: Vec<AbiValue> = Vec::with_capacity(function.inputs.len());
        for (index, ty) in function.inputs.iter().enumerate() {
            let value = match self.pick_fixture(id, index) {
                Some(value) => value,
                None => self.generate_argument(ty, &args),
            };
            args.push(value);
        }
        let mut call = self.new_call_to(function.address);
        call.payload = CallPayload::Function { function: id, args };
        if function.is_payable {
            call.value = self.generate_wei();
        }
        call
    }

    /// Returns a call of a contract that the sequence created.
    fn generate_call_to_created(&mut self) -> SequenceCall {
        let created = self.created[self.rng.usize(0..self.created.len())];
        let functions = self.target.foundry.created.get(&created.contract);
        match functions.map(Vec::as_slice).unwrap_or_default() {
            [] => {
                SequenceCall { payload: CallPayload::WaitOnly, ..self.new_call_to(Address::ZERO) }
            }
            functions => {
                let function = functions[self.rng.usize(0..functions.len())];
                SequenceCall { to: created.address, ..self.generate_call_to(function) }
            }
        }
    }

    /// Returns a value that the project wants the parameter to have, in half of the cases.
    fn pick_fixture(&mut self, id: FunctionId, index: usize) -> Option<AbiValue> {
        let target = self.target;
        if target.fixtures.is_empty() {
            return None;
        }
        let values = target.fixtures.get(&(id, index)).filter(|_| self.rng.bool())?;
        (!values.is_empty()).then(|| values[self.rng.usize(0..values.len())].clone())
    }

    /// Returns a call of any unit test.
    pub(crate) fn generate_unit_call(&mut self) -> Option<SequenceCall> {
        let units = &self.choice.units;
        let unit = (!units.is_empty()).then(|| units[self.rng.usize(0..units.len())])?;
        Some(self.generate_call_to(unit))
    }

    fn generate_data_call(&mut self) -> SequenceCall {
        let open = &self.target.fallbacks[self.rng.usize(0..self.target.fallbacks.len())];
        let mut call = self.new_call_to(open.address);
        if open.is_payable {
            call.value = self.generate_wei();
        }
        call.payload =
            CallPayload::Data(if open.takes_data { self.generate_bytes() } else { Vec::new() });
        call
    }

    /// Returns a call with sender, gas price and delay, but without a payload.
    fn new_call_to(&mut self, to: Address) -> SequenceCall {
        SequenceCall {
            payload: CallPayload::WaitOnly,
            from: self.pick_sender(),
            to,
            value: U256::ZERO,
            gas_price: self.pick_gas_price(),
            delay: self.generate_delay(),
        }
    }

    fn pick_sender(&mut self) -> Address {
        let senders = &self.settings.senders;
        if senders.is_empty() { Address::ZERO } else { senders[self.rng.usize(0..senders.len())] }
    }

    fn pick_gas_price(&mut self) -> u128 {
        match self.settings.max_gas_price {
            0 => 0,
            max => self.rng.u128(0..=max),
        }
    }

    /// Returns the value of a call: zero, small, any, or a constant of the code.
    fn generate_wei(&mut self) -> U256 {
        // A sender cannot send more than its balance.
        let max = self.settings.max_value.min(self.settings.sender_balance);
        let any = match self.rng.u8(0..8) {
            0..=2 => U256::ZERO,
            3 => U256::from(self.rng.u8(..)),
            4 => self.dictionary.pick_word(self.rng).unwrap_or_default(),
            5 => max,
            _ => self.generate_up_to(max),
        };
        any.min(max)
    }

    fn generate_delay(&mut self) -> CallDelay {
        if !self.roll_percent(DELAY_PERCENT) {
            return CallDelay::default();
        }
        let CampaignSettings { max_time_delay, max_block_delay, .. } = *self.settings;
        CallDelay {
            seconds: self.generate_wait(max_time_delay),
            blocks: self.generate_wait(max_block_delay),
        }
    }

    fn generate_wait(&mut self, max: u64) -> u64 {
        match self.rng.u8(0..8) {
            0 => 0,
            1 => 1.min(max),
            2 => max,
            3 => {
                self.dictionary.pick_word(self.rng).map_or(0, |word| word.saturating_to()).min(max)
            }
            4 | 5 => self.rng.u64(0..=max),
            _ => {
                let bits = self.rng.u8(0..24);
                self.rng.u64(0..=max.min(1 << bits))
            }
        }
    }

    fn roll_percent(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }
}

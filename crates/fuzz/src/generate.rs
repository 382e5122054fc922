//! Makes calls: values from the types of the ABI, from the dictionary and from other values.
//!
//! Nothing here knows what a contract does. What is worth trying comes from its code and from what it did when it ran;
//! see [`Dictionary`].

mod dictionary;
mod fill;
mod mutate;
mod values;

pub use dictionary::Dictionary;

use alloy_primitives::{Address, U256};
use fastrand::Rng;

use crate::abi::Value;
use crate::call::{Call, Delay, What};
use crate::config::Settings;
use crate::target::{FunctionId, Target};

/// Out of a hundred calls, how many go to functions that change nothing while others exist. They cannot bring the
/// system into a new state, but they may break an assertion.
const VIEW_PERCENT: u32 = 5;

/// Out of a hundred calls, how many are preceded by a wait.
const DELAY_PERCENT: u32 = 30;

/// Out of a hundred calls, how many bring bytes that belong to no function, where a contract takes such.
const DATA_PERCENT: u32 = 3;

/// Out of a hundred new calls, how many are drawn from the set of priorities, if there is one. The rest are drawn from
/// all functions, those of the set among them: with k of n functions in the set its share is 90 % and k/n of 10 %.
const PRIORITY_PERCENT: u32 = 90;

/// Functions to choose from.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    acting: Vec<FunctionId>,
    viewing: Vec<FunctionId>,
    pub priorities: Vec<FunctionId>,
}

/// See the module.
pub struct Generator<'a> {
    pub rng: &'a mut Rng,
    pub dictionary: &'a Dictionary,
    pub settings: &'a Settings,
    pub target: &'a Target,
    pub choice: &'a Choice,
    /// What the last calls of the sequence returned.
    pub returned: &'a [U256],
}

impl Choice {
    pub fn new(target: &Target) -> Self {
        let (viewing, acting) =
            target.callable.iter().partition(|&&id| target.function(id).is_view);
        Self { acting, viewing, priorities: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.acting.is_empty() && self.viewing.is_empty()
    }

    /// One of the set of priorities, as often as it is their turn.
    fn pick_preferred(&self, rng: &mut Rng) -> Option<FunctionId> {
        if self.priorities.is_empty() || rng.u32(0..100) >= PRIORITY_PERCENT {
            return None;
        }
        rng.choice(self.priorities.iter().copied())
    }

    /// One of all functions.
    fn pick(&self, rng: &mut Rng) -> Option<FunctionId> {
        let views = self.acting.is_empty() || rng.u32(0..100) < VIEW_PERCENT;
        let from = if views && !self.viewing.is_empty() { &self.viewing } else { &self.acting };
        (!from.is_empty()).then(|| from[rng.usize(0..from.len())])
    }
}

impl Generator<'_> {
    /// A call of any function.
    pub fn call(&mut self) -> Call {
        let target = self.target;
        if let Some(preferred) = self.choice.pick_preferred(self.rng) {
            return self.call_of(preferred);
        }
        if !target.open.is_empty() && (self.choice.is_empty() || self.percent(DATA_PERCENT)) {
            return self.data_call();
        }
        match self.choice.pick(self.rng) {
            Some(function) => self.call_of(function),
            None => Call { what: What::Nothing, ..self.frame(Address::ZERO) },
        }
    }

    /// A call of this function.
    pub fn call_of(&mut self, id: FunctionId) -> Call {
        let function = self.target.function(id);
        let mut args: Vec<Value> = Vec::with_capacity(function.inputs.len());
        for ty in &function.inputs {
            let value = self.argument(ty, &args);
            args.push(value);
        }
        let mut call = self.frame(function.address);
        call.what = What::Function { function: id, args };
        if function.is_payable {
            call.value = self.wei();
        }
        call
    }

    fn data_call(&mut self) -> Call {
        let open = &self.target.open[self.rng.usize(0..self.target.open.len())];
        let mut call = self.frame(open.address);
        if open.is_payable {
            call.value = self.wei();
        }
        call.what = What::Data(if open.takes_data { self.bytes() } else { Vec::new() });
        call
    }

    /// A call without what it calls.
    fn frame(&mut self, to: Address) -> Call {
        Call {
            what: What::Nothing,
            from: self.sender(),
            to,
            value: U256::ZERO,
            gas_price: self.gas_price(),
            delay: self.delay(),
        }
    }

    fn sender(&mut self) -> Address {
        let senders = &self.settings.senders;
        if senders.is_empty() { Address::ZERO } else { senders[self.rng.usize(0..senders.len())] }
    }

    fn gas_price(&mut self) -> u128 {
        match self.settings.max_gas_price {
            0 => 0,
            max => self.rng.u128(0..=max),
        }
    }

    /// Value of a call: nothing, little, any, or what the code compares with.
    fn wei(&mut self) -> U256 {
        // More than a sender has cannot be sent.
        let max = self.settings.max_value.min(self.settings.sender_balance);
        let any = match self.rng.u8(0..8) {
            0..=2 => U256::ZERO,
            3 => U256::from(self.rng.u8(..)),
            4 => self.dictionary.word(self.rng).unwrap_or_default(),
            5 => max,
            _ => self.below(max),
        };
        any.min(max)
    }

    fn delay(&mut self) -> Delay {
        if !self.percent(DELAY_PERCENT) {
            return Delay::default();
        }
        let Settings { max_time_delay, max_block_delay, .. } = *self.settings;
        Delay { seconds: self.wait(max_time_delay), blocks: self.wait(max_block_delay) }
    }

    fn wait(&mut self, max: u64) -> u64 {
        match self.rng.u8(0..8) {
            0 => 0,
            1 => 1.min(max),
            2 => max,
            3 => self.dictionary.word(self.rng).map_or(0, |word| word.saturating_to()).min(max),
            4 | 5 => self.rng.u64(0..=max),
            _ => {
                let bits = self.rng.u8(0..24);
                self.rng.u64(0..=max.min(1 << bits))
            }
        }
    }

    fn percent(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }
}

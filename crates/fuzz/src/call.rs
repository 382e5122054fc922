//! A call of a sequence: what the fuzzer makes, changes, runs, keeps and prints.

use alloy_primitives::{Address, Bytes, U256};

use crate::abi::{Value, encode_into};
use crate::chain::Transaction;
use crate::target::{FunctionId, Target};

/// One step of a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Call {
    pub what: What,
    pub from: Address,
    pub to: Address,
    /// Wei that go with it.
    pub value: U256,
    pub gas_price: u128,
    pub delay: Delay,
}

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    Function {
        function: FunctionId,
        args: Vec<Value>,
    },
    /// Bytes for `fallback` and `receive`.
    Data(Vec<u8>),
    /// Nothing: time goes by.
    Nothing,
}

/// What goes by before a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Delay {
    pub seconds: u64,
    pub blocks: u64,
}

impl Delay {
    pub fn is_none(self) -> bool {
        self.seconds == 0 && self.blocks == 0
    }
}

impl Call {
    /// What the chain runs; None where only time goes by. `buffer` is kept between calls.
    pub fn transaction(&self, target: &Target, buffer: &mut Vec<u8>) -> Option<Transaction> {
        let data = match &self.what {
            What::Function { function, args } => {
                let function = target.function(*function);
                encode_into(buffer, function.selector, &function.inputs, args);
                Bytes::copy_from_slice(buffer)
            }
            What::Data(data) => Bytes::copy_from_slice(data),
            What::Nothing => return None,
        };
        let Self { from, to, value, gas_price, .. } = *self;
        Some(Transaction { from, to, value, gas_price, data })
    }

    /// The function that is called.
    pub fn function(&self) -> Option<FunctionId> {
        match &self.what {
            What::Function { function, .. } => Some(*function),
            What::Data(_) | What::Nothing => None,
        }
    }
}

//! One call of a sequence, the unit that the fuzzer generates, mutates, executes, stores and prints.

use alloy_primitives::{Address, Bytes, U256};

use crate::abi::{AbiValue, encode_call_into};
use crate::chain::EvmTransaction;
use crate::target::{FunctionId, FuzzTarget};

/// One call of a sequence, with the delay before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SequenceCall {
    pub payload: CallPayload,
    pub from: Address,
    pub to: Address,
    /// Wei sent with the call.
    pub value: U256,
    pub gas_price: u128,
    pub delay: CallDelay,
}

/// The function or calldata of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallPayload {
    Function {
        function: FunctionId,
        args: Vec<AbiValue>,
    },
    /// Raw calldata for `fallback` and `receive`.
    Data(Vec<u8>),
    /// No transaction; only time passes.
    WaitOnly,
}

/// Time and blocks that pass before a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallDelay {
    pub seconds: u64,
    pub blocks: u64,
}

impl CallDelay {
    pub fn is_zero(self) -> bool {
        self.seconds == 0 && self.blocks == 0
    }
}

impl SequenceCall {
    /// Returns the transaction to execute, or `None` if only time passes.
    ///
    /// `buffer` holds the encoded calldata and is reused between calls.
    pub fn to_transaction(
        &self,
        target: &FuzzTarget,
        buffer: &mut Vec<u8>,
    ) -> Option<EvmTransaction> {
        let data = match &self.payload {
            CallPayload::Function { function, args } => {
                let function = target.function(*function);
                encode_call_into(buffer, function.selector, &function.inputs, args);
                Bytes::copy_from_slice(buffer)
            }
            CallPayload::Data(data) => Bytes::copy_from_slice(data),
            CallPayload::WaitOnly => return None,
        };
        let Self { from, to, value, gas_price, .. } = *self;
        Some(EvmTransaction { from, to, value, gas_price, data })
    }

    /// Returns the called function, or `None` for raw calldata and delays.
    pub fn function(&self) -> Option<FunctionId> {
        match &self.payload {
            CallPayload::Function { function, .. } => Some(*function),
            CallPayload::Data(_) | CallPayload::WaitOnly => None,
        }
    }
}

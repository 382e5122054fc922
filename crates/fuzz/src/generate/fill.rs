//! Fills the holes of user-written calls with generated values.

use alloy_primitives::{Address, U256};

use super::CallGenerator;
use crate::abi::{AbiType, AbiValue};
use crate::call::{CallDelay, CallPayload, SequenceCall};
use crate::script::{ArgumentPattern, ScriptStep};

impl CallGenerator<'_> {
    /// Returns the call of a script step. The value is sent to payable functions only; others would revert.
    pub fn fill_step(&mut self, step: &ScriptStep, sender: Address, value: U256) -> SequenceCall {
        let function = self.target.function(step.function);
        let mut args: Vec<AbiValue> = Vec::with_capacity(step.args.len());
        for (ty, pattern) in function.inputs.iter().zip(&step.args) {
            let arg = match pattern {
                ArgumentPattern::Any => self.generate_argument(ty, &args),
                _ => self.fill_pattern(ty, pattern),
            };
            args.push(arg);
        }
        SequenceCall {
            payload: CallPayload::Function { function: step.function, args },
            from: sender,
            to: function.address,
            value: if function.is_payable { value } else { U256::ZERO },
            gas_price: 0,
            delay: CallDelay::default(),
        }
    }

    fn fill_pattern(&mut self, ty: &AbiType, pattern: &ArgumentPattern) -> AbiValue {
        match (ty, pattern) {
            (_, ArgumentPattern::Value(value)) => value.clone(),
            (
                AbiType::Array(element) | AbiType::FixedArray(element, _),
                ArgumentPattern::Array(inner),
            ) => AbiValue::List(inner.iter().map(|it| self.fill_pattern(element, it)).collect()),
            (AbiType::Tuple(fields), ArgumentPattern::Tuple(inner)) => {
                let fields = fields.iter().zip(inner);
                AbiValue::List(fields.map(|(ty, it)| self.fill_pattern(ty, it)).collect())
            }
            // The script parser rejects patterns that do not fit their type, so only holes are left.
            _ => self.generate_value(ty),
        }
    }
}

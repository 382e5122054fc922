//! Calls that somebody wrote, with values in place of their holes.

use alloy_primitives::{Address, U256};

use super::Generator;
use crate::abi::{Type, Value};
use crate::call::{Call, Delay, What};
use crate::script::{Pattern, Step};

impl Generator<'_> {
    /// The call. Wei go with functions that take some; others would only revert.
    pub fn fill(&mut self, step: &Step, sender: Address, value: U256) -> Call {
        let function = self.target.function(step.function);
        let mut args: Vec<Value> = Vec::with_capacity(step.args.len());
        for (ty, pattern) in function.inputs.iter().zip(&step.args) {
            let arg = match pattern {
                Pattern::Any => self.argument(ty, &args),
                _ => self.fill_value(ty, pattern),
            };
            args.push(arg);
        }
        Call {
            what: What::Function { function: step.function, args },
            from: sender,
            to: function.address,
            value: if function.is_payable { value } else { U256::ZERO },
            gas_price: 0,
            delay: Delay::default(),
        }
    }

    fn fill_value(&mut self, ty: &Type, pattern: &Pattern) -> Value {
        match (ty, pattern) {
            (_, Pattern::Value(value)) => value.clone(),
            (Type::Array(element) | Type::FixedArray(element, _), Pattern::Array(inner)) => {
                Value::List(inner.iter().map(|it| self.fill_value(element, it)).collect())
            }
            (Type::Tuple(fields), Pattern::Tuple(inner)) => {
                let fields = fields.iter().zip(inner);
                Value::List(fields.map(|(ty, it)| self.fill_value(ty, it)).collect())
            }
            // What does not fit its type was never read, so only holes are left.
            _ => self.value(ty),
        }
    }
}

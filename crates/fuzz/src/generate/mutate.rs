//! Calls made from others by small changes.

use alloy_primitives::U256;

use super::Generator;
use crate::abi::{Type, Value, clamp};
use crate::call::{Call, What};

/// Longest arrays and strings that mutation makes.
const MAX_LENGTH: usize = 256;

impl Generator<'_> {
    /// Changes one or a few things of the call.
    pub fn mutate(&mut self, call: &mut Call) {
        loop {
            self.mutate_once(call);
            if self.rng.u8(0..3) != 0 {
                return;
            }
        }
    }

    fn mutate_once(&mut self, call: &mut Call) {
        let payable = match &call.what {
            What::Function { function, .. } => self.target.function(*function).is_payable,
            What::Data(_) => true,
            What::Nothing => false,
        };
        match self.rng.u8(0..16) {
            0 => call.from = self.sender(),
            1 => call.delay = self.delay(),
            2 | 3 if payable => call.value = self.wei(),
            _ => self.mutate_input(call),
        }
    }

    fn mutate_input(&mut self, call: &mut Call) {
        match &mut call.what {
            What::Function { function, args } if !args.is_empty() => {
                let types = &self.target.function(*function).inputs;
                let index = self.rng.usize(0..args.len());
                if let Some(word) = self.sibling(args, index, &types[index]) {
                    args[index] = Value::Word(word);
                } else {
                    self.mutate_value(&types[index], &mut args[index]);
                }
            }
            What::Data(data) => self.mutate_bytes(data),
            What::Function { .. } | What::Nothing => call.from = self.sender(),
        }
    }

    /// Now and then what another argument of the call is, or the sum or difference of two.
    fn sibling(&mut self, args: &[Value], index: usize, ty: &Type) -> Option<U256> {
        if !ty.is_word() || args.len() < 2 || self.rng.u8(0..6) != 0 {
            return None;
        }
        let (Value::Word(own), Value::Word(other)) =
            (&args[index], &args[self.rng.usize(0..args.len())])
        else {
            return None;
        };
        let word = match self.rng.u8(0..4) {
            0 => own.wrapping_add(*other),
            1 => own.wrapping_sub(*other),
            _ => *other,
        };
        Some(clamp(ty, word))
    }

    /// Changes a value, or makes a new one.
    pub(crate) fn mutate_value(&mut self, ty: &Type, value: &mut Value) {
        if self.rng.u8(0..5) == 0 {
            *value = self.value(ty);
            return;
        }
        match (ty, value) {
            (_, Value::Word(word)) => *word = clamp(ty, self.mutate_word(ty, *word)),
            (_, Value::Bytes(bytes)) => self.mutate_bytes(bytes),
            (Type::Array(element), Value::List(values)) => self.mutate_array(element, values),
            (Type::FixedArray(element, _), Value::List(values)) if !values.is_empty() => {
                let index = self.rng.usize(0..values.len());
                self.mutate_value(element, &mut values[index]);
            }
            (Type::Tuple(fields), Value::List(values)) if !values.is_empty() => {
                let index = self.rng.usize(0..values.len());
                self.mutate_value(&fields[index], &mut values[index]);
            }
            (_, Value::List(_)) => {}
        }
    }

    fn mutate_word(&mut self, ty: &Type, word: U256) -> U256 {
        match ty {
            Type::Bool => return word ^ U256::ONE,
            Type::Address => return self.word(ty),
            _ => {}
        }
        let little = U256::from(self.rng.u8(1..=16));
        match self.rng.u8(0..10) {
            0 | 1 => word.wrapping_add(U256::ONE),
            2 | 3 => word.wrapping_sub(U256::ONE),
            4 => word.wrapping_add(little),
            5 => word.wrapping_sub(little),
            6 => word << 1_usize,
            7 => word >> 1_usize,
            8 => word ^ (U256::ONE << usize::from(self.rng.u8(..))),
            _ => self.word(ty),
        }
    }

    fn mutate_array(&mut self, element: &Type, values: &mut Vec<Value>) {
        match self.rng.u8(0..6) {
            0 if values.len() < MAX_LENGTH => {
                let value = self.value(element);
                values.insert(self.rng.usize(0..=values.len()), value);
            }
            1 if !values.is_empty() && values.len() < MAX_LENGTH => {
                let copy = values[self.rng.usize(0..values.len())].clone();
                values.push(copy);
            }
            2 if !values.is_empty() => {
                values.remove(self.rng.usize(0..values.len()));
            }
            3 if values.len() > 1 => {
                let (a, b) = (self.rng.usize(0..values.len()), self.rng.usize(0..values.len()));
                values.swap(a, b);
            }
            _ if !values.is_empty() => {
                let index = self.rng.usize(0..values.len());
                self.mutate_value(element, &mut values[index]);
            }
            _ => {
                let value = self.value(element);
                values.push(value);
            }
        }
    }

    fn mutate_bytes(&mut self, bytes: &mut Vec<u8>) {
        let at = |rng: &mut fastrand::Rng, bytes: &[u8]| rng.usize(0..bytes.len());
        match self.rng.u8(0..6) {
            0 if bytes.len() < MAX_LENGTH => {
                let index = self.rng.usize(0..=bytes.len());
                bytes.insert(index, self.rng.u8(..));
            }
            1 if !bytes.is_empty() => {
                let index = at(self.rng, bytes);
                bytes.remove(index);
            }
            2 if !bytes.is_empty() => {
                let index = at(self.rng, bytes);
                bytes.truncate(index);
            }
            3 if bytes.len() < MAX_LENGTH => {
                if let Some(text) = self.dictionary.string(self.rng) {
                    bytes.extend_from_slice(&text[..text.len().min(MAX_LENGTH)]);
                }
            }
            _ if !bytes.is_empty() => {
                let index = at(self.rng, bytes);
                bytes[index] = self.rng.u8(..);
            }
            _ => *bytes = self.bytes(),
        }
    }
}

//! Mutates calls by small changes.

use alloy_primitives::U256;

use super::{CallGenerator, is_cheatcode_address};
use crate::abi::{AbiType, AbiValue, clamp_to_type};
use crate::call::{CallPayload, SequenceCall};

/// Maximum length of arrays and strings grown by mutation.
const MAX_LENGTH: usize = 256;

/// Replaces the address of the cheat codes by zero; a sum or a neighboring value may hit it.
fn clear_cheatcode_address(value: &mut AbiValue) {
    match value {
        AbiValue::Word(word) if is_cheatcode_address(*word) => *word = U256::ZERO,
        AbiValue::Word(_) | AbiValue::Bytes(_) => {}
        AbiValue::List(values) => values.iter_mut().for_each(clear_cheatcode_address),
    }
}

impl CallGenerator<'_> {
    /// Applies one or a few mutations to the call.
    pub fn mutate_call(&mut self, call: &mut SequenceCall) {
        loop {
            self.mutate_once(call);
            if self.rng.u8(0..3) != 0 {
                break;
            }
        }
        if let CallPayload::Function { args, .. } = &mut call.payload {
            args.iter_mut().for_each(clear_cheatcode_address);
        }
    }

    fn mutate_once(&mut self, call: &mut SequenceCall) {
        let payable = match &call.payload {
            CallPayload::Function { function, .. } => self.target.function(*function).is_payable,
            CallPayload::Data(_) => true,
            CallPayload::WaitOnly => false,
        };
        match self.rng.u8(0..16) {
            0 => call.from = self.pick_sender(),
            1 => call.delay = self.generate_delay(),
            2 | 3 if payable => call.value = self.generate_wei(),
            _ => self.mutate_input(call),
        }
    }

    fn mutate_input(&mut self, call: &mut SequenceCall) {
        match &mut call.payload {
            CallPayload::Function { function, args } if !args.is_empty() => {
                let types = &self.target.function(*function).inputs;
                let index = self.rng.usize(0..args.len());
                if let Some(word) = self.derive_from_sibling(args, index, &types[index]) {
                    args[index] = AbiValue::Word(word);
                } else {
                    self.mutate_value(&types[index], &mut args[index]);
                }
            }
            CallPayload::Data(data) => self.mutate_bytes(data),
            CallPayload::Function { .. } | CallPayload::WaitOnly => call.from = self.pick_sender(),
        }
    }

    /// Occasionally returns the word of another argument, or its sum or difference with this one.
    fn derive_from_sibling(
        &mut self,
        args: &[AbiValue],
        index: usize,
        ty: &AbiType,
    ) -> Option<U256> {
        if !ty.is_word() || args.len() < 2 || self.rng.u8(0..6) != 0 {
            return None;
        }
        let (AbiValue::Word(own), AbiValue::Word(other)) =
            (&args[index], &args[self.rng.usize(0..args.len())])
        else {
            return None;
        };
        let word = match self.rng.u8(0..4) {
            0 => own.wrapping_add(*other),
            1 => own.wrapping_sub(*other),
            _ => *other,
        };
        Some(clamp_to_type(ty, word))
    }

    /// Mutates a value, or replaces it by a new one.
    pub(crate) fn mutate_value(&mut self, ty: &AbiType, value: &mut AbiValue) {
        if self.rng.u8(0..5) == 0 {
            *value = self.generate_value(ty);
            return;
        }
        match (ty, value) {
            (_, AbiValue::Word(word)) => *word = clamp_to_type(ty, self.mutate_word(ty, *word)),
            (_, AbiValue::Bytes(bytes)) => self.mutate_bytes(bytes),
            (AbiType::Array(element), AbiValue::List(values)) => self.mutate_array(element, values),
            (AbiType::FixedArray(element, _), AbiValue::List(values)) if !values.is_empty() => {
                let index = self.rng.usize(0..values.len());
                self.mutate_value(element, &mut values[index]);
            }
            (AbiType::Tuple(fields), AbiValue::List(values)) if !values.is_empty() => {
                let index = self.rng.usize(0..values.len());
                self.mutate_value(&fields[index], &mut values[index]);
            }
            (_, AbiValue::List(_)) => {}
        }
    }

    fn mutate_word(&mut self, ty: &AbiType, word: U256) -> U256 {
        match ty {
            AbiType::Bool => return word ^ U256::ONE,
            AbiType::Address => return self.generate_word(ty),
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
            _ => self.generate_word(ty),
        }
    }

    fn mutate_array(&mut self, element: &AbiType, values: &mut Vec<AbiValue>) {
        match self.rng.u8(0..6) {
            0 if values.len() < MAX_LENGTH => {
                let value = self.generate_value(element);
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
                let value = self.generate_value(element);
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
                if let Some(text) = self.dictionary.pick_string(self.rng) {
                    bytes.extend_from_slice(&text[..text.len().min(MAX_LENGTH)]);
                }
            }
            _ if !bytes.is_empty() => {
                let index = at(self.rng, bytes);
                bytes[index] = self.rng.u8(..);
            }
            _ => *bytes = self.generate_bytes(),
        }
    }
}

//! Generates new values of each type.

use alloy_primitives::U256;

use super::{CallGenerator, is_cheatcode_address};
use crate::abi::{AbiType, AbiValue, clamp_to_type, encode_call};

/// Maximum lengths of new arrays and byte strings; mutation makes longer ones.
const MAX_ELEMENTS: usize = 8;
const MAX_BYTES: usize = 96;

/// Percentage of byte strings that are encoded calls. Such a call may contain another one; the percentage bounds the depth.
const CALLDATA_PERCENT: u32 = 8;

/// Percentage of arguments that repeat an earlier argument of the same call, such as self-transfers or equal bounds.
const REPEAT_PERCENT: u32 = 8;

/// Percentage of words that an earlier call of the sequence returned, such as keys, shares and addresses.
const RETURNED_PERCENT: u32 = 8;

impl CallGenerator<'_> {
    /// Returns a value for the next argument of a call.
    pub(super) fn generate_argument(&mut self, ty: &AbiType, earlier: &[AbiValue]) -> AbiValue {
        if ty.is_word()
            && !earlier.is_empty()
            && self.roll_percent(REPEAT_PERCENT)
            && let AbiValue::Word(word) = earlier[self.rng.usize(0..earlier.len())]
        {
            return AbiValue::Word(clamp_to_type(ty, word));
        }
        self.generate_value(ty)
    }

    /// Returns a value of the type.
    pub fn generate_value(&mut self, ty: &AbiType) -> AbiValue {
        match ty {
            AbiType::Bytes | AbiType::String => AbiValue::Bytes(self.generate_bytes()),
            AbiType::Array(element) => {
                let length = self.generate_length(MAX_ELEMENTS);
                AbiValue::List((0..length).map(|_| self.generate_value(element)).collect())
            }
            AbiType::FixedArray(element, length) => {
                AbiValue::List((0..*length).map(|_| self.generate_value(element)).collect())
            }
            AbiType::Tuple(fields) => {
                AbiValue::List(fields.iter().map(|field| self.generate_value(field)).collect())
            }
            _ => AbiValue::Word(self.generate_word(ty)),
        }
    }

    /// Returns a word in the range of the type; never the cheat code address.
    pub(super) fn generate_word(&mut self, ty: &AbiType) -> U256 {
        let word = self.generate_unchecked_word(ty);
        if is_cheatcode_address(word) { U256::ZERO } else { word }
    }

    fn generate_unchecked_word(&mut self, ty: &AbiType) -> U256 {
        let word = match ty {
            AbiType::Bool => return U256::from(self.rng.bool()),
            _ if !self.returned.is_empty() && self.roll_percent(RETURNED_PERCENT) => {
                self.returned[self.rng.usize(0..self.returned.len())]
            }
            AbiType::Address => return self.generate_address(),
            AbiType::Uint(bits) | AbiType::Int(bits) => self.generate_number(u32::from(*bits)),
            AbiType::FixedBytes(length) => self.generate_fixed_bytes(*length),
            _ => self.generate_any_word(),
        };
        clamp_to_type(ty, word)
    }

    fn generate_number(&mut self, bits: u32) -> U256 {
        if self.rng.f64() < self.settings.dictionary_frequency
            && let Some(word) = self.dictionary.pick_word(self.rng)
        {
            return match self.rng.u8(0..8) {
                0 => word.wrapping_add(U256::ONE),
                1 => word.wrapping_sub(U256::ONE),
                _ => word,
            };
        }
        match self.rng.u8(0..8) {
            0..=2 => U256::from(self.rng.u8(0..=16)),
            3 => self.generate_boundary(bits),
            4 => self.generate_any_word(),
            5 => U256::ZERO.wrapping_sub(U256::from(self.rng.u8(..))),
            // Uniform in bit length: most uniformly random 256-bit numbers are astronomically large.
            _ => self.generate_any_word() >> (256 - self.rng.u32(1..=bits.max(1))) as usize,
        }
    }

    /// Returns a boundary value: a power of two, or one less. This includes half of the range and its end.
    fn generate_boundary(&mut self, bits: u32) -> U256 {
        let power = U256::ONE << self.rng.u32(0..bits.max(1)) as usize;
        if self.rng.bool() { power } else { power - U256::ONE }
    }

    fn generate_fixed_bytes(&mut self, length: u8) -> U256 {
        if self.rng.f64() < self.settings.dictionary_frequency {
            if self.rng.bool()
                && let Some(text) = self.dictionary.pick_string(self.rng)
            {
                return left_align_bytes(text);
            }
            if let Some(word) = self.dictionary.pick_word(self.rng) {
                // In code, constants of `bytesN` are aligned to either end of a word.
                return if self.rng.bool() {
                    word
                } else {
                    word << (256 - 8 * usize::from(length))
                };
            }
        }
        if self.rng.u8(0..4) == 0 { U256::ZERO } else { self.generate_any_word() }
    }

    fn generate_address(&mut self) -> U256 {
        let known = match self.rng.u8(0..16) {
            0 => None,
            1 => return U256::ZERO,
            2..=8 => {
                let senders = &self.settings.senders;
                (!senders.is_empty()).then(|| senders[self.rng.usize(0..senders.len())])
            }
            9 => {
                // A constant that fits in an address may be one.
                let word = self.dictionary.pick_word(self.rng).filter(|word| word.bit_len() <= 160);
                return word.unwrap_or_default();
            }
            _ => self.dictionary.pick_address(self.rng),
        };
        known.map_or_else(
            || self.generate_any_word() >> 96_usize,
            |address| U256::from_be_slice(address.as_slice()),
        )
    }

    /// Returns an encoded call, a string literal, printable text or random bytes; possibly empty.
    pub(super) fn generate_bytes(&mut self) -> Vec<u8> {
        if self.roll_percent(CALLDATA_PERCENT) && !self.target.functions.is_empty() {
            return self.generate_calldata();
        }
        if self.rng.f64() < self.settings.dictionary_frequency
            && let Some(text) = self.dictionary.pick_string(self.rng)
        {
            return text.to_vec();
        }
        let length = self.generate_length(MAX_BYTES);
        let printable = self.rng.bool();
        (0..length)
            .map(|_| if printable { self.rng.u8(b' '..=b'~') } else { self.rng.u8(..) })
            .collect()
    }

    /// Returns an encoded call of any function, for contracts that forward calldata.
    fn generate_calldata(&mut self) -> Vec<u8> {
        let function = &self.target.functions[self.rng.usize(0..self.target.functions.len())];
        let args: Vec<AbiValue> =
            function.inputs.iter().map(|ty| self.generate_value(ty)).collect();
        encode_call(function.selector, &function.inputs, &args)
    }

    /// Returns a length; short ones are more likely than long ones.
    fn generate_length(&mut self, max: usize) -> usize {
        let max = self.rng.usize(0..=max);
        self.rng.usize(0..=max)
    }

    pub(super) fn generate_any_word(&mut self) -> U256 {
        U256::from_limbs([self.rng.u64(..), self.rng.u64(..), self.rng.u64(..), self.rng.u64(..)])
    }

    /// Returns a number up to the maximum, uniform in bit length.
    pub(super) fn generate_up_to(&mut self, max: U256) -> U256 {
        if max.is_zero() {
            return max;
        }
        let bits = max.bit_len() as u32;
        let word = self.generate_any_word() >> (256 - self.rng.u32(1..=bits)) as usize;
        if word > max { word % max } else { word }
    }
}

fn left_align_bytes(bytes: &[u8]) -> U256 {
    let mut word = [0; 32];
    let length = bytes.len().min(32);
    word[..length].copy_from_slice(&bytes[..length]);
    U256::from_be_bytes(word)
}

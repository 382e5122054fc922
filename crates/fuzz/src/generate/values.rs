//! New values of each type.

use alloy_primitives::U256;

use super::Generator;
use crate::abi::{Type, Value, clamp, encode};

/// Lengths of new arrays and strings; longer ones arise by mutation.
const MAX_ELEMENTS: usize = 8;
const MAX_BYTES: usize = 96;

/// Out of a hundred byte strings, how many are calls of functions. Bytes in such a call may be one again, which ends soon.
const CALLDATA_PERCENT: u32 = 8;

/// Out of a hundred arguments, how many repeat another argument of the same call: accounts that pay themselves, equal bounds.
const REPEAT_PERCENT: u32 = 8;

/// Out of a hundred words, how many are what an earlier call of the sequence returned: keys, shares, addresses.
const RETURNED_PERCENT: u32 = 8;

impl Generator<'_> {
    /// A value for the next argument of a call.
    pub(super) fn argument(&mut self, ty: &Type, earlier: &[Value]) -> Value {
        if ty.is_word()
            && !earlier.is_empty()
            && self.percent(REPEAT_PERCENT)
            && let Value::Word(word) = earlier[self.rng.usize(0..earlier.len())]
        {
            return Value::Word(clamp(ty, word));
        }
        self.value(ty)
    }

    /// A value of the type.
    pub fn value(&mut self, ty: &Type) -> Value {
        match ty {
            Type::Bytes | Type::String => Value::Bytes(self.bytes()),
            Type::Array(element) => {
                let length = self.length(MAX_ELEMENTS);
                Value::List((0..length).map(|_| self.value(element)).collect())
            }
            Type::FixedArray(element, length) => {
                Value::List((0..*length).map(|_| self.value(element)).collect())
            }
            Type::Tuple(fields) => {
                Value::List(fields.iter().map(|field| self.value(field)).collect())
            }
            _ => Value::Word(self.word(ty)),
        }
    }

    /// A word of the type.
    pub(super) fn word(&mut self, ty: &Type) -> U256 {
        let word = match ty {
            Type::Bool => return U256::from(self.rng.bool()),
            _ if !self.returned.is_empty() && self.percent(RETURNED_PERCENT) => {
                self.returned[self.rng.usize(0..self.returned.len())]
            }
            Type::Address => return self.address(),
            Type::Uint(bits) | Type::Int(bits) => self.number(u32::from(*bits)),
            Type::FixedBytes(length) => self.fixed_bytes(*length),
            _ => self.any_word(),
        };
        clamp(ty, word)
    }

    fn number(&mut self, bits: u32) -> U256 {
        if self.rng.f64() < self.settings.dictionary_frequency
            && let Some(word) = self.dictionary.word(self.rng)
        {
            return match self.rng.u8(0..8) {
                0 => word.wrapping_add(U256::ONE),
                1 => word.wrapping_sub(U256::ONE),
                _ => word,
            };
        }
        match self.rng.u8(0..8) {
            0..=2 => U256::from(self.rng.u8(0..=16)),
            3 => self.boundary(bits),
            4 => self.any_word(),
            5 => U256::ZERO.wrapping_sub(U256::from(self.rng.u8(..))),
            // As many numbers of each length: most numbers of 256 bits are astronomically large.
            _ => self.any_word() >> (256 - self.rng.u32(1..=bits.max(1))) as usize,
        }
    }

    /// A number where something ends: a power of two, or one less; half of the range, its end.
    fn boundary(&mut self, bits: u32) -> U256 {
        let power = U256::ONE << self.rng.u32(0..bits.max(1)) as usize;
        if self.rng.bool() { power } else { power - U256::ONE }
    }

    fn fixed_bytes(&mut self, length: u8) -> U256 {
        if self.rng.f64() < self.settings.dictionary_frequency {
            if self.rng.bool()
                && let Some(text) = self.dictionary.string(self.rng)
            {
                return left_aligned(text);
            }
            if let Some(word) = self.dictionary.word(self.rng) {
                // Constants of `bytesN` stand in code at either end of a word.
                return if self.rng.bool() {
                    word
                } else {
                    word << (256 - 8 * usize::from(length))
                };
            }
        }
        if self.rng.u8(0..4) == 0 { U256::ZERO } else { self.any_word() }
    }

    fn address(&mut self) -> U256 {
        let known = match self.rng.u8(0..16) {
            0 => None,
            1 => return U256::ZERO,
            2..=8 => {
                let senders = &self.settings.senders;
                (!senders.is_empty()).then(|| senders[self.rng.usize(0..senders.len())])
            }
            9 => {
                // A constant that has room in an address may be meant as one.
                let word = self.dictionary.word(self.rng).filter(|word| word.bit_len() <= 160);
                return word.unwrap_or_default();
            }
            _ => self.dictionary.address(self.rng),
        };
        known.map_or_else(
            || self.any_word() >> 96_usize,
            |address| U256::from_be_slice(address.as_slice()),
        )
    }

    /// Bytes: nothing, a literal, text, or anything.
    pub(super) fn bytes(&mut self) -> Vec<u8> {
        if self.percent(CALLDATA_PERCENT) && !self.target.functions.is_empty() {
            return self.calldata();
        }
        if self.rng.f64() < self.settings.dictionary_frequency
            && let Some(text) = self.dictionary.string(self.rng)
        {
            return text.to_vec();
        }
        let length = self.length(MAX_BYTES);
        let printable = self.rng.bool();
        (0..length)
            .map(|_| if printable { self.rng.u8(b' '..=b'~') } else { self.rng.u8(..) })
            .collect()
    }

    /// A call of any function, for contracts that hand on what they are given.
    fn calldata(&mut self) -> Vec<u8> {
        let function = &self.target.functions[self.rng.usize(0..self.target.functions.len())];
        let args: Vec<Value> = function.inputs.iter().map(|ty| self.value(ty)).collect();
        encode(function.selector, &function.inputs, &args)
    }

    /// Short lengths more often than long ones.
    fn length(&mut self, max: usize) -> usize {
        let max = self.rng.usize(0..=max);
        self.rng.usize(0..=max)
    }

    pub(super) fn any_word(&mut self) -> U256 {
        U256::from_limbs([self.rng.u64(..), self.rng.u64(..), self.rng.u64(..), self.rng.u64(..)])
    }

    /// A number up to the maximum, each length alike.
    pub(super) fn below(&mut self, max: U256) -> U256 {
        if max.is_zero() {
            return max;
        }
        let bits = max.bit_len() as u32;
        let word = self.any_word() >> (256 - self.rng.u32(1..=bits)) as usize;
        if word > max { word % max } else { word }
    }
}

fn left_aligned(bytes: &[u8]) -> U256 {
    let mut word = [0; 32];
    let length = bytes.len().min(32);
    word[..length].copy_from_slice(&bytes[..length]);
    U256::from_be_bytes(word)
}

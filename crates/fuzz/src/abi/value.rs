//! Values of the ABI's types.

use alloy_primitives::{Address, U256};

use super::Type;

/// A value. Which type it has is said by the function it is an argument of.
///
/// A word is kept as it is encoded: an integer sign-extended to 256 bits, `bytesN` at the upper end, an address at the
/// lower, a boolean as 0 or 1. Strings are bytes because nothing keeps a contract's caller from sending any.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    Word(U256),
    Bytes(Vec<u8>),
    /// The elements of an array or the fields of a tuple.
    List(Vec<Value>),
}

impl Value {
    pub fn address(address: Address) -> Self {
        Value::Word(U256::from_be_slice(address.as_slice()))
    }

    /// The simplest value of the type: zero, empty, or made of such.
    pub fn zero(ty: &Type) -> Self {
        match ty {
            Type::Bytes | Type::String => Value::Bytes(Vec::new()),
            Type::Array(_) => Value::List(Vec::new()),
            Type::FixedArray(element, length) => Value::List(vec![Value::zero(element); *length]),
            Type::Tuple(fields) => Value::List(fields.iter().map(Value::zero).collect()),
            _ => Value::Word(U256::ZERO),
        }
    }

    /// True if the value has the shape of the type and every word is in its range.
    pub fn is_of(&self, ty: &Type) -> bool {
        match (self, ty) {
            (Value::Bytes(_), Type::Bytes | Type::String) => true,
            (Value::List(values), Type::Array(element)) => values.iter().all(|v| v.is_of(element)),
            (Value::List(values), Type::FixedArray(element, length)) => {
                values.len() == *length && values.iter().all(|v| v.is_of(element))
            }
            (Value::List(values), Type::Tuple(fields)) => {
                values.len() == fields.len() && values.iter().zip(fields).all(|(v, ty)| v.is_of(ty))
            }
            (Value::Word(word), ty) if ty.is_word() => *word == clamp(ty, *word),
            _ => false,
        }
    }
}

/// The word that the type makes of any word, by cutting what it has no room for.
pub fn clamp(ty: &Type, word: U256) -> U256 {
    match ty {
        Type::Bool => U256::from(word.bit(0)),
        Type::Address => word & low_bits(160),
        Type::Uint(bits) => word & low_bits(usize::from(*bits)),
        Type::Int(bits) => sign_extend(word, usize::from(*bits)),
        Type::FixedBytes(length) => word & !low_bits(256 - 8 * usize::from(*length)),
        Type::Function => word & !low_bits(64),
        _ => word,
    }
}

fn low_bits(bits: usize) -> U256 {
    if bits >= 256 { U256::MAX } else { (U256::ONE << bits) - U256::ONE }
}

fn sign_extend(word: U256, bits: usize) -> U256 {
    if bits >= 256 {
        return word;
    }
    let mask = low_bits(bits);
    if word.bit(bits - 1) { word | !mask } else { word & mask }
}

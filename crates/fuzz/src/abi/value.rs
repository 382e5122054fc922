//! Values of ABI types.

use alloy_primitives::{Address, U256};

use super::AbiType;

/// An ABI value. Its type is not stored; it follows from the function that takes the value as an argument.
///
/// A word is stored in encoded form: an integer sign-extended to 256 bits, `bytesN` left-aligned, an address
/// right-aligned, a boolean as 0 or 1. Strings are raw bytes because callers may send invalid UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AbiValue {
    Word(U256),
    Bytes(Vec<u8>),
    /// The elements of an array or the fields of a tuple.
    List(Vec<AbiValue>),
}

impl AbiValue {
    pub fn from_address(address: Address) -> Self {
        AbiValue::Word(U256::from_be_slice(address.as_slice()))
    }

    /// Returns the simplest value of the type: zero, empty, or composed of such values.
    pub fn zero(ty: &AbiType) -> Self {
        match ty {
            AbiType::Bytes | AbiType::String => AbiValue::Bytes(Vec::new()),
            AbiType::Array(_) => AbiValue::List(Vec::new()),
            AbiType::FixedArray(element, length) => {
                AbiValue::List(vec![AbiValue::zero(element); *length])
            }
            AbiType::Tuple(fields) => AbiValue::List(fields.iter().map(AbiValue::zero).collect()),
            _ => AbiValue::Word(U256::ZERO),
        }
    }

    /// Returns true if the value has the shape of the type and every word is in range.
    pub fn matches_type(&self, ty: &AbiType) -> bool {
        match (self, ty) {
            (AbiValue::Bytes(_), AbiType::Bytes | AbiType::String) => true,
            (AbiValue::List(values), AbiType::Array(element)) => {
                values.iter().all(|v| v.matches_type(element))
            }
            (AbiValue::List(values), AbiType::FixedArray(element, length)) => {
                values.len() == *length && values.iter().all(|v| v.matches_type(element))
            }
            (AbiValue::List(values), AbiType::Tuple(fields)) => {
                values.len() == fields.len()
                    && values.iter().zip(fields).all(|(v, ty)| v.matches_type(ty))
            }
            (AbiValue::Word(word), ty) if ty.is_word() => *word == clamp_to_type(ty, *word),
            _ => false,
        }
    }
}

/// Returns the word truncated to the range of the type: excess bits are dropped, integers sign-extended.
pub fn clamp_to_type(ty: &AbiType, word: U256) -> U256 {
    match ty {
        AbiType::Bool => U256::from(word.bit(0)),
        AbiType::Address => word & low_bits(160),
        AbiType::Uint(bits) => word & low_bits(usize::from(*bits)),
        AbiType::Int(bits) => sign_extend(word, usize::from(*bits)),
        AbiType::FixedBytes(length) => word & !low_bits(256 - 8 * usize::from(*length)),
        AbiType::Function => word & !low_bits(64),
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

//! The ABI types.

use std::fmt;

use alloy_dyn_abi::DynSolType;
use alloy_json_abi::Param;

/// Maximum arrays and tuples in a type, which are parsed and visited recursively.
const MAX_BRACKETS: usize = 512;

/// Maximum words of a value whose dynamic parts are empty. An ABI may name arrays of any length.
const MAX_WORDS: usize = 1 << 16;

/// An ABI type. Enums are integers, smart contracts are addresses, and structs are tuples.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AbiType {
    Bool,
    Address,
    /// Unsigned integer of this many bits.
    Uint(u16),
    /// Signed integer of this many bits.
    Int(u16),
    /// `bytesN` of this many bytes, 1 to 32.
    FixedBytes(u8),
    /// An address and a selector, 24 bytes.
    Function,
    Bytes,
    String,
    Array(Box<AbiType>),
    FixedArray(Box<AbiType>, usize),
    Tuple(Vec<AbiType>),
}

/// The ABI names a type that this crate does not support.
#[derive(Debug, thiserror::Error)]
#[error("unknown ABI type `{0}`")]
pub struct UnknownAbiType(String);

impl AbiType {
    /// Returns the type of a parameter.
    pub fn from_param(param: &Param) -> Result<Self, UnknownAbiType> {
        Self::parse(&param.selector_type())
    }

    /// Parses a canonical type name, such as `(uint256,bytes4[2])[]`.
    pub fn parse(name: &str) -> Result<Self, UnknownAbiType> {
        let unknown = || UnknownAbiType(shorten_name(name));
        let brackets = name.bytes().filter(|byte| matches!(byte, b'(' | b'[')).count();
        if brackets > MAX_BRACKETS {
            return Err(unknown());
        }
        let ty = from_dyn_type(&DynSolType::parse(name).map_err(|_| unknown())?);
        ty.filter(|ty| ty.count_words().is_some_and(|words| words <= MAX_WORDS)).ok_or_else(unknown)
    }

    /// Returns the number of words of a value whose dynamic parts are empty, or `None` if it overflows.
    fn count_words(&self) -> Option<usize> {
        match self {
            AbiType::FixedArray(element, length) => {
                element.count_words()?.checked_mul(*length)?.checked_add(1)
            }
            AbiType::Tuple(fields) => {
                fields.iter().try_fold(1_usize, |sum, field| sum.checked_add(field.count_words()?))
            }
            _ => Some(1),
        }
    }

    /// Returns true if values vary in length, so that the encoding refers to them by offset.
    pub(crate) fn is_dynamic(&self) -> bool {
        match self {
            AbiType::Bytes | AbiType::String | AbiType::Array(_) => true,
            AbiType::FixedArray(element, _) => element.is_dynamic(),
            AbiType::Tuple(fields) => fields.iter().any(AbiType::is_dynamic),
            _ => false,
        }
    }

    /// Returns the number of words that a value takes in the head of its enclosing encoding.
    pub(super) fn head_words(&self) -> usize {
        match self {
            _ if self.is_dynamic() => 1,
            AbiType::FixedArray(element, length) => element.head_words() * length,
            AbiType::Tuple(fields) => fields.iter().map(AbiType::head_words).sum(),
            _ => 1,
        }
    }

    /// Returns true if a value of the type is a single word.
    pub fn is_word(&self) -> bool {
        !matches!(
            self,
            AbiType::Bytes
                | AbiType::String
                | AbiType::Array(_)
                | AbiType::FixedArray(..)
                | AbiType::Tuple(_)
        )
    }
}

/// Formats the canonical name.
impl fmt::Display for AbiType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AbiType::Bool => out.write_str("bool"),
            AbiType::Address => out.write_str("address"),
            AbiType::Uint(bits) => write!(out, "uint{bits}"),
            AbiType::Int(bits) => write!(out, "int{bits}"),
            AbiType::FixedBytes(length) => write!(out, "bytes{length}"),
            AbiType::Function => out.write_str("function"),
            AbiType::Bytes => out.write_str("bytes"),
            AbiType::String => out.write_str("string"),
            AbiType::Array(element) => write!(out, "{element}[]"),
            AbiType::FixedArray(element, length) => write!(out, "{element}[{length}]"),
            AbiType::Tuple(fields) => {
                out.write_str("(")?;
                for (index, field) in fields.iter().enumerate() {
                    if index > 0 {
                        out.write_str(",")?;
                    }
                    write!(out, "{field}")?;
                }
                out.write_str(")")
            }
        }
    }
}

/// Returns the beginning of a name that may be very long.
fn shorten_name(name: &str) -> String {
    const MAX: usize = 100;
    match name.len() > MAX {
        true => format!("{}…", &name[..name.floor_char_boundary(MAX)]),
        false => name.to_owned(),
    }
}

fn from_dyn_type(ty: &DynSolType) -> Option<AbiType> {
    Some(match ty {
        DynSolType::Bool => AbiType::Bool,
        DynSolType::Address => AbiType::Address,
        DynSolType::Uint(bits) => AbiType::Uint(u16::try_from(*bits).ok()?),
        DynSolType::Int(bits) => AbiType::Int(u16::try_from(*bits).ok()?),
        DynSolType::FixedBytes(length) => AbiType::FixedBytes(u8::try_from(*length).ok()?),
        DynSolType::Function => AbiType::Function,
        DynSolType::Bytes => AbiType::Bytes,
        DynSolType::String => AbiType::String,
        DynSolType::Array(element) => AbiType::Array(Box::new(from_dyn_type(element)?)),
        DynSolType::FixedArray(element, length) => {
            AbiType::FixedArray(Box::new(from_dyn_type(element)?), *length)
        }
        DynSolType::Tuple(fields) => {
            AbiType::Tuple(fields.iter().map(from_dyn_type).collect::<Option<_>>()?)
        }
        // Named structs and enums exist in EIP-712 only.
        #[expect(unreachable_patterns, reason = "a feature of the library adds variants")]
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_types_of_huge_values() {
        let deep = format!("uint256{}", "[]".repeat(100_000));
        let nested = format!("{}bool{}", "(".repeat(10_000), ")".repeat(10_000));
        let huge = [
            "uint256[4294967295]",
            "uint256[18446744073709551615]",
            "bool[65535][65535][65535][65535][65535]",
        ];
        for name in [deep.as_str(), nested.as_str()].into_iter().chain(huge) {
            let error = AbiType::parse(name).unwrap_err();
            assert!(error.to_string().len() < 200, "{error}");
        }
        assert!(AbiType::parse("(uint256[1000],bytes)[2][]").is_ok());
    }
}

//! The types of the ABI.

use std::fmt;

use alloy_dyn_abi::DynSolType;
use alloy_json_abi::Param;

/// A type as the ABI knows it: enums are integers, contracts are addresses, structs are tuples.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Bool,
    Address,
    /// Of this many bits.
    Uint(u16),
    /// Of this many bits.
    Int(u16),
    /// Of this many bytes, 1 to 32.
    FixedBytes(u8),
    /// An address and a selector, 24 bytes.
    Function,
    Bytes,
    String,
    Array(Box<Type>),
    FixedArray(Box<Type>, usize),
    Tuple(Vec<Type>),
}

/// A type that the ABI names and nobody knows.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no type of the ABI")]
pub struct UnknownType(String);

impl Type {
    /// The type of a parameter.
    pub fn of(param: &Param) -> Result<Self, UnknownType> {
        Self::parse(&param.selector_type())
    }

    /// Reads a canonical name, such as `(uint256,bytes4[2])[]`.
    pub fn parse(name: &str) -> Result<Self, UnknownType> {
        let unknown = || UnknownType(name.to_owned());
        from_dyn(&DynSolType::parse(name).map_err(|_| unknown())?).ok_or_else(unknown)
    }

    /// True if values differ in length, so that the encoding refers to them by offset.
    pub(crate) fn is_dynamic(&self) -> bool {
        match self {
            Type::Bytes | Type::String | Type::Array(_) => true,
            Type::FixedArray(element, _) => element.is_dynamic(),
            Type::Tuple(fields) => fields.iter().any(Type::is_dynamic),
            _ => false,
        }
    }

    /// How many words a value takes in the head of the encoding that it is part of.
    pub(super) fn head_words(&self) -> usize {
        match self {
            _ if self.is_dynamic() => 1,
            Type::FixedArray(element, length) => element.head_words() * length,
            Type::Tuple(fields) => fields.iter().map(Type::head_words).sum(),
            _ => 1,
        }
    }

    /// True for the types whose values are one word.
    pub fn is_word(&self) -> bool {
        !matches!(
            self,
            Type::Bytes | Type::String | Type::Array(_) | Type::FixedArray(..) | Type::Tuple(_)
        )
    }
}

/// The canonical name.
impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => out.write_str("bool"),
            Type::Address => out.write_str("address"),
            Type::Uint(bits) => write!(out, "uint{bits}"),
            Type::Int(bits) => write!(out, "int{bits}"),
            Type::FixedBytes(length) => write!(out, "bytes{length}"),
            Type::Function => out.write_str("function"),
            Type::Bytes => out.write_str("bytes"),
            Type::String => out.write_str("string"),
            Type::Array(element) => write!(out, "{element}[]"),
            Type::FixedArray(element, length) => write!(out, "{element}[{length}]"),
            Type::Tuple(fields) => {
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

fn from_dyn(ty: &DynSolType) -> Option<Type> {
    Some(match ty {
        DynSolType::Bool => Type::Bool,
        DynSolType::Address => Type::Address,
        DynSolType::Uint(bits) => Type::Uint(u16::try_from(*bits).ok()?),
        DynSolType::Int(bits) => Type::Int(u16::try_from(*bits).ok()?),
        DynSolType::FixedBytes(length) => Type::FixedBytes(u8::try_from(*length).ok()?),
        DynSolType::Function => Type::Function,
        DynSolType::Bytes => Type::Bytes,
        DynSolType::String => Type::String,
        DynSolType::Array(element) => Type::Array(Box::new(from_dyn(element)?)),
        DynSolType::FixedArray(element, length) => {
            Type::FixedArray(Box::new(from_dyn(element)?), *length)
        }
        DynSolType::Tuple(fields) => {
            Type::Tuple(fields.iter().map(from_dyn).collect::<Option<_>>()?)
        }
        // Structs and enums by name exist in EIP-712 only.
        #[expect(unreachable_patterns, reason = "a feature of the library adds variants")]
        _ => return None,
    })
}

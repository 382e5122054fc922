//! Values that cheat codes parse from text: environment variables and JSON.

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::{Address, B256, Bytes, I256, U256, hex};

use super::CheatcodeError;
use super::args::CheatcodeArgs;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Bool,
    Uint,
    Int,
    Address,
    Bytes32,
    String,
    Bytes,
}

impl ValueKind {
    fn name(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Uint => "an unsigned integer",
            Self::Int => "an integer",
            Self::Address => "an address",
            Self::Bytes32 => "32 bytes in hex",
            Self::String => "text",
            Self::Bytes => "bytes in hex",
        }
    }

    /// Parses a value, without the space around it.
    pub(super) fn parse(self, text: &str) -> Result<DynSolValue, CheatcodeError> {
        self.try_parse(text).ok_or_else(|| {
            // The text may be a secret.
            CheatcodeError::InvalidUse(format!("the value is not {}", self.name()))
        })
    }

    fn try_parse(self, text: &str) -> Option<DynSolValue> {
        let trimmed = text.trim();
        Some(match self {
            Self::Bool => DynSolValue::Bool(trimmed.parse().ok()?),
            Self::Uint => DynSolValue::Uint(parse_uint(trimmed)?, 256),
            Self::Int => DynSolValue::Int(parse_int(trimmed)?, 256),
            Self::Address => DynSolValue::Address(trimmed.parse::<Address>().ok()?),
            Self::Bytes32 => {
                let bytes = hex::decode(trimmed).ok().filter(|bytes| bytes.len() <= 32)?;
                DynSolValue::FixedBytes(B256::right_padding_from(&bytes), 32)
            }
            Self::String => DynSolValue::String(text.to_owned()),
            Self::Bytes => DynSolValue::Bytes(hex::decode(trimmed).ok()?),
        })
    }

    /// Reads an argument of this type.
    pub(super) fn read_from(
        self,
        args: &mut CheatcodeArgs<'_>,
    ) -> Result<DynSolValue, CheatcodeError> {
        Ok(match self {
            Self::Bool => DynSolValue::Bool(args.read_bool()?),
            Self::Uint => DynSolValue::Uint(args.read_uint()?, 256),
            Self::Int => DynSolValue::Int(args.read_int()?, 256),
            Self::Address => DynSolValue::Address(args.read_address()?),
            Self::Bytes32 => DynSolValue::FixedBytes(args.read_word()?, 32),
            Self::String => DynSolValue::String(args.read_text()?),
            Self::Bytes => DynSolValue::Bytes(args.read_bytes()?.to_vec()),
        })
    }

    /// Reads an argument that is an array of this type.
    pub(super) fn read_list_from(
        self,
        args: &mut CheatcodeArgs<'_>,
    ) -> Result<DynSolValue, CheatcodeError> {
        const MAX_ITEMS: usize = 1 << 12;
        let (mut items, count) = args.read_list()?;
        if count > MAX_ITEMS {
            let text = format!("{count} values are too many; the limit is {MAX_ITEMS}");
            return Err(CheatcodeError::InvalidUse(text));
        }
        let items = (0..count).map(|_| self.read_from(&mut items)).collect::<Result<_, _>>()?;
        Ok(DynSolValue::Array(items))
    }
}

/// Encodes a value as the only one that is returned.
pub(super) fn encode_value(value: &DynSolValue) -> Bytes {
    value.abi_encode().into()
}

fn parse_uint(text: &str) -> Option<U256> {
    match text.strip_prefix("0x") {
        Some(digits) => U256::from_str_radix(digits, 16).ok(),
        None => U256::from_str_radix(text, 10).ok(),
    }
}

fn parse_int(text: &str) -> Option<I256> {
    text.strip_prefix('+').unwrap_or(text).parse().ok()
}

//! Assertion cheat codes: compare two values and revert with both if the relation does not hold.

use std::fmt::{self, Write as _};

use alloy_primitives::{Address, B256, Bytes, I256, U256};

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeError, CheatcodeResult};

#[derive(Clone, Copy)]
enum AssertRelation {
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
}

/// A type that assertions compare. Bytes are borrowed, because an array may reference the same ones many times.
trait AssertOperand<'a>: PartialOrd + Sized {
    fn read_from(args: &mut CheatcodeArgs<'a>) -> Result<Self, CheatcodeError>;
    fn write_to(&self, out: &mut TruncatedText) -> fmt::Result;
}

/// Formatted value, truncated to a length people can read.
#[derive(Default)]
struct TruncatedText(String);

#[derive(PartialEq, PartialOrd)]
struct StringOperand<'a>(&'a [u8]);

/// Expands each assertion to its form without and with a message.
macro_rules! assertions {
    ($($name:literal $relation:ident { $($solidity:literal $operand:ty),* $(,)? })*) => {
        &[
            $(
                (concat!($name, "Decimal(uint256,uint256,uint256)"), |_, args| {
                    assert_decimal::<U256>(args, AssertRelation::$relation, false)
                }),
                (concat!($name, "Decimal(uint256,uint256,uint256,string)"), |_, args| {
                    assert_decimal::<U256>(args, AssertRelation::$relation, true)
                }),
                (concat!($name, "Decimal(int256,int256,uint256)"), |_, args| {
                    assert_decimal::<I256>(args, AssertRelation::$relation, false)
                }),
                (concat!($name, "Decimal(int256,int256,uint256,string)"), |_, args| {
                    assert_decimal::<I256>(args, AssertRelation::$relation, true)
                }),
            )*
            ("assertTrue(bool)", |_, args| assert_truth(args, true, false)),
            ("assertTrue(bool,string)", |_, args| assert_truth(args, true, true)),
            ("assertFalse(bool)", |_, args| assert_truth(args, false, false)),
            ("assertFalse(bool,string)", |_, args| assert_truth(args, false, true)),
            $($(
                (concat!($name, "(", $solidity, ",", $solidity, ")"), |_, args| {
                    assert_compare::<$operand>(args, AssertRelation::$relation, false)
                }),
                (concat!($name, "(", $solidity, ",", $solidity, ",string)"), |_, args| {
                    assert_compare::<$operand>(args, AssertRelation::$relation, true)
                }),
            )*)*
        ]
    };
}

pub(super) const TABLE: &[CheatcodeEntry] = assertions! {
    "assertEq" Equal {
        "bool" bool, "uint256" U256, "int256" I256, "address" Address, "bytes32" B256,
        "string" StringOperand<'_>, "bytes" &[u8],
        "bool[]" Vec<bool>, "uint256[]" Vec<U256>, "int256[]" Vec<I256>, "address[]" Vec<Address>,
        "bytes32[]" Vec<B256>, "string[]" Vec<StringOperand<'_>>, "bytes[]" Vec<&[u8]>,
    }
    "assertNotEq" NotEqual {
        "bool" bool, "uint256" U256, "int256" I256, "address" Address, "bytes32" B256,
        "string" StringOperand<'_>, "bytes" &[u8],
        "bool[]" Vec<bool>, "uint256[]" Vec<U256>, "int256[]" Vec<I256>, "address[]" Vec<Address>,
        "bytes32[]" Vec<B256>, "string[]" Vec<StringOperand<'_>>, "bytes[]" Vec<&[u8]>,
    }
    "assertLt" Less { "uint256" U256, "int256" I256 }
    "assertGt" Greater { "uint256" U256, "int256" I256 }
    "assertLe" LessOrEqual { "uint256" U256, "int256" I256 }
    "assertGe" GreaterOrEqual { "uint256" U256, "int256" I256 }
};

fn assert_truth(args: &mut CheatcodeArgs<'_>, expected: bool, has_text: bool) -> CheatcodeResult {
    if args.read_bool()? == expected {
        return Ok(Bytes::new());
    }
    Err(CheatcodeError::AssertionFailed(read_message(args, has_text)?))
}

fn assert_compare<'a, T: AssertOperand<'a>>(
    args: &mut CheatcodeArgs<'a>,
    relation: AssertRelation,
    has_text: bool,
) -> CheatcodeResult {
    let (left, right) = (T::read_from(args)?, T::read_from(args)?);
    compare_operands(&left, &right, args, relation, has_text)
}

/// Compares numbers that are shown with this many decimals. The message has them without a decimal point.
fn assert_decimal<'a, T: AssertOperand<'a>>(
    args: &mut CheatcodeArgs<'a>,
    relation: AssertRelation,
    has_text: bool,
) -> CheatcodeResult {
    let (left, right) = (T::read_from(args)?, T::read_from(args)?);
    args.read_uint()?;
    compare_operands(&left, &right, args, relation, has_text)
}

fn compare_operands<'a, T: AssertOperand<'a>>(
    left: &T,
    right: &T,
    args: &mut CheatcodeArgs<'a>,
    relation: AssertRelation,
    has_text: bool,
) -> CheatcodeResult {
    if relation.holds(left, right) {
        return Ok(Bytes::new());
    }
    let text = read_message(args, has_text)?;
    let (left, right) = (TruncatedText::from_operand(left), TruncatedText::from_operand(right));
    Err(CheatcodeError::AssertionFailed(format!(
        "{text}: {left} {} {right}",
        relation.negated_symbol()
    )))
}

pub(super) fn read_message(
    args: &mut CheatcodeArgs<'_>,
    has_text: bool,
) -> Result<String, CheatcodeError> {
    if has_text { args.read_text() } else { Ok("assertion failed".to_owned()) }
}

impl TruncatedText {
    fn from_operand<'a>(operand: &impl AssertOperand<'a>) -> String {
        let mut out = Self::default();
        let is_whole = operand.write_to(&mut out).is_ok();
        if !is_whole {
            out.0.push('…');
        }
        out.0
    }
}

impl fmt::Write for TruncatedText {
    /// Fails once the limit is reached, which stops the writer.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const MAX: usize = 1000;
        let end = text.floor_char_boundary(MAX.saturating_sub(self.0.len()));
        self.0.push_str(&text[..end]);
        if end == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

impl AssertRelation {
    fn holds<T: PartialOrd>(self, left: &T, right: &T) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::Greater => left > right,
            Self::LessOrEqual => left <= right,
            Self::GreaterOrEqual => left >= right,
        }
    }

    /// Returns the operator that holds for two values that violate the relation.
    fn negated_symbol(self) -> &'static str {
        match self {
            Self::Equal => "!=",
            Self::NotEqual => "==",
            Self::Less => ">=",
            Self::Greater => "<=",
            Self::LessOrEqual => ">",
            Self::GreaterOrEqual => "<",
        }
    }
}

/// Implements the trait for types with a suitable `Display`.
macro_rules! operands {
    ($($operand:ty, $read:ident;)*) => {$(
        impl AssertOperand<'_> for $operand {
            fn read_from(args: &mut CheatcodeArgs<'_>) -> Result<Self, CheatcodeError> {
                args.$read()
            }

            fn write_to(&self, out: &mut TruncatedText) -> fmt::Result {
                write!(out, "{self}")
            }
        }
    )*};
}

operands! {
    bool, read_bool;
    U256, read_uint;
    I256, read_int;
    Address, read_address;
    B256, read_word;
}

impl<'a> AssertOperand<'a> for StringOperand<'a> {
    fn read_from(args: &mut CheatcodeArgs<'a>) -> Result<Self, CheatcodeError> {
        args.read_bytes().map(Self)
    }

    fn write_to(&self, out: &mut TruncatedText) -> fmt::Result {
        out.write_str(&String::from_utf8_lossy(self.0))
    }
}

impl<'a> AssertOperand<'a> for &'a [u8] {
    fn read_from(args: &mut CheatcodeArgs<'a>) -> Result<Self, CheatcodeError> {
        args.read_bytes()
    }

    fn write_to(&self, out: &mut TruncatedText) -> fmt::Result {
        out.write_str("0x")?;
        self.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl<'a, T: AssertOperand<'a>> AssertOperand<'a> for Vec<T> {
    fn read_from(args: &mut CheatcodeArgs<'a>) -> Result<Self, CheatcodeError> {
        let (mut items, count) = args.read_list()?;
        // Each item takes a word, so the data bounds their number.
        (0..count).map(|_| T::read_from(&mut items)).collect()
    }

    fn write_to(&self, out: &mut TruncatedText) -> fmt::Result {
        for (index, item) in self.iter().enumerate() {
            out.write_str(if index == 0 { "[" } else { ", " })?;
            item.write_to(out)?;
        }
        out.write_str(if self.is_empty() { "[]" } else { "]" })
    }
}

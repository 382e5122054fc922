//! Assertions: cheat codes that compare two values, and revert with both if they do not hold.

use std::fmt::{self, Write as _};

use alloy_primitives::{Address, B256, Bytes, I256, U256};

use super::args::Args;
use super::table::Entry;
use super::{Answer, Refusal};

#[derive(Clone, Copy)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    Greater,
    LessOrEqual,
    GreaterOrEqual,
}

/// A type that assertions compare. Bytes stay where they are: a list may name the same ones many times.
trait Operand<'a>: PartialOrd + Sized {
    fn read(args: &mut Args<'a>) -> Result<Self, Refusal>;
    fn show(&self, out: &mut Clipped) -> fmt::Result;
}

/// Text for people; they know a value by its beginning.
#[derive(Default)]
struct Clipped(String);

#[derive(PartialEq, PartialOrd)]
struct Text<'a>(&'a [u8]);

/// Without and with a text of the contract's own.
macro_rules! assertions {
    ($($name:literal $relation:ident { $($solidity:literal $operand:ty),* $(,)? })*) => {
        &[
            ("assertTrue(bool)", |_, args| truth(args, true, false)),
            ("assertTrue(bool,string)", |_, args| truth(args, true, true)),
            ("assertFalse(bool)", |_, args| truth(args, false, false)),
            ("assertFalse(bool,string)", |_, args| truth(args, false, true)),
            $($(
                (concat!($name, "(", $solidity, ",", $solidity, ")"), |_, args| {
                    compare::<$operand>(args, Relation::$relation, false)
                }),
                (concat!($name, "(", $solidity, ",", $solidity, ",string)"), |_, args| {
                    compare::<$operand>(args, Relation::$relation, true)
                }),
            )*)*
        ]
    };
}

pub(super) const TABLE: &[Entry] = assertions! {
    "assertEq" Equal {
        "bool" bool, "uint256" U256, "int256" I256, "address" Address, "bytes32" B256,
        "string" Text<'_>, "bytes" &[u8],
        "bool[]" Vec<bool>, "uint256[]" Vec<U256>, "int256[]" Vec<I256>, "address[]" Vec<Address>,
        "bytes32[]" Vec<B256>, "string[]" Vec<Text<'_>>, "bytes[]" Vec<&[u8]>,
    }
    "assertNotEq" NotEqual {
        "bool" bool, "uint256" U256, "int256" I256, "address" Address, "bytes32" B256,
        "string" Text<'_>, "bytes" &[u8],
        "bool[]" Vec<bool>, "uint256[]" Vec<U256>, "int256[]" Vec<I256>, "address[]" Vec<Address>,
        "bytes32[]" Vec<B256>, "string[]" Vec<Text<'_>>, "bytes[]" Vec<&[u8]>,
    }
    "assertLt" Less { "uint256" U256, "int256" I256 }
    "assertGt" Greater { "uint256" U256, "int256" I256 }
    "assertLe" LessOrEqual { "uint256" U256, "int256" I256 }
    "assertGe" GreaterOrEqual { "uint256" U256, "int256" I256 }
};

fn truth(args: &mut Args<'_>, expected: bool, has_text: bool) -> Answer {
    if args.bool()? == expected {
        return Ok(Bytes::new());
    }
    Err(Refusal::Broken(text(args, has_text)?))
}

fn compare<'a, T: Operand<'a>>(args: &mut Args<'a>, relation: Relation, has_text: bool) -> Answer {
    let (left, right) = (T::read(args)?, T::read(args)?);
    if relation.holds(&left, &right) {
        return Ok(Bytes::new());
    }
    let text = text(args, has_text)?;
    let (left, right) = (Clipped::of(&left), Clipped::of(&right));
    Err(Refusal::Broken(format!("{text}: {left} {} {right}", relation.denied())))
}

pub(super) fn text(args: &mut Args<'_>, has_text: bool) -> Result<String, Refusal> {
    if has_text { args.text() } else { Ok("assertion failed".to_owned()) }
}

impl Clipped {
    fn of<'a>(operand: &impl Operand<'a>) -> String {
        let mut out = Self::default();
        let is_whole = operand.show(&mut out).is_ok();
        if !is_whole {
            out.0.push('…');
        }
        out.0
    }
}

impl fmt::Write for Clipped {
    /// Fails once there is enough, which ends whatever writes.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const MAX: usize = 1000;
        let end = text.floor_char_boundary(MAX.saturating_sub(self.0.len()));
        self.0.push_str(&text[..end]);
        if end == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

impl Relation {
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

    /// The relation of two values for which it does not hold.
    fn denied(self) -> &'static str {
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

/// Types that show themselves.
macro_rules! operands {
    ($($operand:ty, $read:ident;)*) => {$(
        impl Operand<'_> for $operand {
            fn read(args: &mut Args<'_>) -> Result<Self, Refusal> {
                args.$read()
            }

            fn show(&self, out: &mut Clipped) -> fmt::Result {
                write!(out, "{self}")
            }
        }
    )*};
}

operands! {
    bool, bool;
    U256, uint;
    I256, int;
    Address, address;
    B256, word;
}

impl<'a> Operand<'a> for Text<'a> {
    fn read(args: &mut Args<'a>) -> Result<Self, Refusal> {
        args.bytes().map(Self)
    }

    fn show(&self, out: &mut Clipped) -> fmt::Result {
        out.write_str(&String::from_utf8_lossy(self.0))
    }
}

impl<'a> Operand<'a> for &'a [u8] {
    fn read(args: &mut Args<'a>) -> Result<Self, Refusal> {
        args.bytes()
    }

    fn show(&self, out: &mut Clipped) -> fmt::Result {
        out.write_str("0x")?;
        self.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl<'a, T: Operand<'a>> Operand<'a> for Vec<T> {
    fn read(args: &mut Args<'a>) -> Result<Self, Refusal> {
        let (mut items, count) = args.list()?;
        // Each item takes a word, so there are no more than the data holds.
        (0..count).map(|_| T::read(&mut items)).collect()
    }

    fn show(&self, out: &mut Clipped) -> fmt::Result {
        for (index, item) in self.iter().enumerate() {
            out.write_str(if index == 0 { "[" } else { ", " })?;
            item.show(out)?;
        }
        out.write_str(if self.is_empty() { "[]" } else { "]" })
    }
}

//! What a call did that tests may be about and that is undone where its frame reverts: contracts that destroyed
//! themselves, and arithmetic that wrapped.

use std::collections::BTreeMap;

use alloy_primitives::{Address, I256, U256};
use solidity::Arithmetic;

use super::code::Codes;

/// Signs of one call that are worth keeping.
const MAX_SIGNS: usize = 256;

/// A place in code: its number and the offset.
type Site = (u32, u32);

/// See the module.
#[derive(Clone, Debug)]
pub struct Signs {
    /// Each with the depth of the frame that it is part of.
    seen: Vec<(usize, Sign)>,
    unchecked: BTreeMap<Site, Arithmetic>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Destroyed(Address),
    Overflowed(Site),
}

/// How a number is made of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
}

impl Signs {
    pub(super) fn new(codes: &Codes) -> Self {
        let unchecked = (0..).zip(codes.known()).flat_map(|(code, known)| {
            known.unchecked.iter().map(move |it| ((code, it.offset as u32), *it))
        });
        Self { seen: Vec::new(), unchecked: unchecked.collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Forgets the call before.
    pub fn clear(&mut self) {
        self.seen.clear();
    }

    /// True if the contract destroyed itself in the last call.
    pub(crate) fn is_destroyed(&self, address: Address) -> bool {
        self.seen.iter().any(|(_, sign)| *sign == Sign::Destroyed(address))
    }

    /// Where arithmetic wrapped without a word in the last call.
    pub(crate) fn overflowed(&self) -> Option<Site> {
        self.seen.iter().find_map(|(_, sign)| match sign {
            Sign::Overflowed(site) => Some(*site),
            Sign::Destroyed(_) => None,
        })
    }

    /// A contract destroys itself in a frame of this depth.
    pub(super) fn destroy(&mut self, depth: usize, address: Address) {
        self.add(depth, Sign::Destroyed(address));
    }

    /// A number is made of two; noted if it has no room in its type.
    pub(super) fn calculate(
        &mut self,
        depth: usize,
        site: Site,
        mut operation: Operation,
        [mut left, mut right]: [U256; 2],
    ) {
        let Some(instruction) = self.unchecked.get(&site) else { return };
        let Arithmetic { bits, is_signed, adds_opposite, .. } = instruction;
        let bits = usize::from(*bits);
        if *adds_opposite && !is_signed {
            // What was a small number to take away is now a large one to add; with signs that is the same.
            if left.bit(255) {
                std::mem::swap(&mut left, &mut right);
            }
            right = U256::ZERO.wrapping_sub(right);
            operation = Operation::Subtract;
        }
        let overflows = match is_signed {
            true => operation.overflows_signed(signed(left, bits), signed(right, bits), bits),
            false => operation.overflows(low(left, bits), low(right, bits), bits),
        };
        if overflows {
            self.add(depth, Sign::Overflowed(site));
        }
    }

    /// A frame ends: what was done in it is undone with it, or becomes part of the frame that called.
    pub(super) fn leave(&mut self, depth: usize, is_kept: bool) {
        if is_kept {
            self.seen.iter_mut().for_each(|(at, _)| *at = depth.min(*at));
        } else {
            self.seen.retain(|(at, _)| *at <= depth);
        }
    }

    fn add(&mut self, depth: usize, sign: Sign) {
        if self.seen.len() < MAX_SIGNS {
            self.seen.push((depth, sign));
        }
    }
}

impl Operation {
    fn overflows(self, left: U256, right: U256, bits: usize) -> bool {
        let made = match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
        };
        made.is_none_or(|made| made.bit_len() > bits)
    }

    fn overflows_signed(self, left: I256, right: I256, bits: usize) -> bool {
        let made = match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
        };
        made.is_none_or(|made| signed(made.into_raw(), bits) != made)
    }
}

/// The number that the lowest bits are; code leaves anything above them until it matters.
fn low(word: U256, bits: usize) -> U256 {
    word & (U256::MAX >> (256 - bits))
}

/// The same with the uppermost of them as its sign.
fn signed(word: U256, bits: usize) -> I256 {
    let above = 256 - bits;
    I256::from_raw(word << above).asr(above)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(bits: usize, is_signed: bool, operation: Operation, left: i128, right: i128) -> bool {
        let word = |number: i128| I256::try_from(number).expect("it has room").into_raw();
        let instruction =
            Arithmetic { offset: 7, adds_opposite: false, bits: bits as u16, is_signed };
        let unchecked = BTreeMap::from([((0, 7), instruction)]);
        let mut signs = Signs { seen: Vec::new(), unchecked };
        signs.calculate(1, (0, 7), operation, [word(left), word(right)]);
        signs.overflowed() == Some((0, 7))
    }

    proptest! {
        #[test]
        fn a_byte_overflows_where_rust_says_so(left: u8, right: u8) {
            let (a, b) = (i128::from(left), i128::from(right));
            prop_assert_eq!(check(8, false, Operation::Add, a, b), left.checked_add(right).is_none());
            prop_assert_eq!(check(8, false, Operation::Subtract, a, b), left < right);
            prop_assert_eq!(check(8, false, Operation::Multiply, a, b), left.checked_mul(right).is_none());
        }

        #[test]
        fn a_number_with_a_sign_overflows_where_rust_says_so(left: i64, right: i64) {
            let (a, b) = (i128::from(left), i128::from(right));
            prop_assert_eq!(check(64, true, Operation::Add, a, b), left.checked_add(right).is_none());
            prop_assert_eq!(check(64, true, Operation::Subtract, a, b), left.checked_sub(right).is_none());
            prop_assert_eq!(check(64, true, Operation::Multiply, a, b), left.checked_mul(right).is_none());
        }
    }

    #[test]
    fn what_lies_above_the_type_does_not_count() {
        assert!(!check(8, false, Operation::Add, 0x1_00, 1));
        assert!(check(8, false, Operation::Add, 0x1_ff, 1));
    }
}

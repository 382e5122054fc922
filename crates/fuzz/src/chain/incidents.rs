//! Incidents of a call that tests check: self-destructed contracts and arithmetic that wrapped. They are dropped when
//! their frame reverts.

use std::collections::BTreeMap;

use alloy_primitives::{Address, I256, U256};
use solidity::ArithmeticInstruction;

use super::code::CompiledCodeIndex;

/// Maximum incidents recorded per call.
const MAX_SIGNS: usize = 256;

/// A code location: index of the code and offset.
type Site = (u32, u32);

/// Incidents of the current call.
#[derive(Clone, Debug)]
pub struct IncidentLog {
    /// Each with the depth of its frame.
    seen: Vec<(usize, CallIncident)>,
    unchecked: BTreeMap<Site, ArithmeticInstruction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallIncident {
    SelfDestruct(Address),
    ArithmeticOverflow(Site),
}

/// An arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArithmeticOperation {
    Add,
    Subtract,
    Multiply,
}

impl IncidentLog {
    pub(super) fn new(codes: &CompiledCodeIndex) -> Self {
        let unchecked = (0..).zip(codes.entries()).flat_map(|(code, known)| {
            known.unchecked.iter().map(move |it| ((code, it.offset as u32), *it))
        });
        Self { seen: Vec::new(), unchecked: unchecked.collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Clears the incidents of the previous call.
    pub fn clear(&mut self) {
        self.seen.clear();
    }

    /// Returns true if the contract self-destructed in the last call.
    pub(crate) fn is_destroyed(&self, address: Address) -> bool {
        self.seen.iter().any(|(_, sign)| *sign == CallIncident::SelfDestruct(address))
    }

    /// Returns the location of the first unchecked overflow of the last call.
    pub(crate) fn first_overflow(&self) -> Option<Site> {
        self.seen.iter().find_map(|(_, sign)| match sign {
            CallIncident::ArithmeticOverflow(site) => Some(*site),
            CallIncident::SelfDestruct(_) => None,
        })
    }

    /// Records a self-destruct in a frame of this depth.
    pub(super) fn record_self_destruct(&mut self, depth: usize, address: Address) {
        self.record_incident(depth, CallIncident::SelfDestruct(address));
    }

    /// Records an arithmetic operation if its result does not fit its type.
    pub(super) fn record_operation(
        &mut self,
        depth: usize,
        site: Site,
        mut operation: ArithmeticOperation,
        [mut left, mut right]: [U256; 2],
    ) {
        let Some(instruction) = self.unchecked.get(&site) else { return };
        let ArithmeticInstruction { bits, is_signed, adds_opposite, .. } = instruction;
        let bits = usize::from(*bits);
        if *adds_opposite && !is_signed {
            // The compiler turned the subtraction of a constant into an addition of its complement. Signed types need no fix.
            if left.bit(255) {
                std::mem::swap(&mut left, &mut right);
            }
            right = U256::ZERO.wrapping_sub(right);
            operation = ArithmeticOperation::Subtract;
        }
        let overflows = match is_signed {
            true => operation.overflows_signed(to_signed(left, bits), to_signed(right, bits), bits),
            false => operation.overflows(to_unsigned(left, bits), to_unsigned(right, bits), bits),
        };
        if overflows {
            self.record_incident(depth, CallIncident::ArithmeticOverflow(site));
        }
    }

    /// Ends a frame: its incidents are dropped, or become part of the calling frame.
    pub(super) fn leave_frame(&mut self, depth: usize, is_kept: bool) {
        if is_kept {
            self.seen.iter_mut().for_each(|(at, _)| *at = depth.min(*at));
        } else {
            self.seen.retain(|(at, _)| *at <= depth);
        }
    }

    fn record_incident(&mut self, depth: usize, sign: CallIncident) {
        if self.seen.len() < MAX_SIGNS {
            self.seen.push((depth, sign));
        }
    }
}

impl ArithmeticOperation {
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
        made.is_none_or(|made| to_signed(made.into_raw(), bits) != made)
    }
}

/// Returns the lowest bits as an unsigned number; code leaves garbage above them until it matters.
fn to_unsigned(word: U256, bits: usize) -> U256 {
    word & (U256::MAX >> (256 - bits))
}

/// Returns the lowest bits as a signed number.
fn to_signed(word: U256, bits: usize) -> I256 {
    let above = 256 - bits;
    I256::from_raw(word << above).asr(above)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(
        bits: usize,
        is_signed: bool,
        operation: ArithmeticOperation,
        left: i128,
        right: i128,
    ) -> bool {
        let word =
            |number: i128| I256::try_from(number).expect("the number fits in 256 bits").into_raw();
        let instruction =
            ArithmeticInstruction { offset: 7, adds_opposite: false, bits: bits as u16, is_signed };
        let unchecked = BTreeMap::from([((0, 7), instruction)]);
        let mut signs = IncidentLog { seen: Vec::new(), unchecked };
        signs.record_operation(1, (0, 7), operation, [word(left), word(right)]);
        signs.first_overflow() == Some((0, 7))
    }

    proptest! {
        #[test]
        fn u8_overflows_match_rust(left: u8, right: u8) {
            let (a, b) = (i128::from(left), i128::from(right));
            prop_assert_eq!(check(8, false, ArithmeticOperation::Add, a, b), left.checked_add(right).is_none());
            prop_assert_eq!(check(8, false, ArithmeticOperation::Subtract, a, b), left < right);
            prop_assert_eq!(check(8, false, ArithmeticOperation::Multiply, a, b), left.checked_mul(right).is_none());
        }

        #[test]
        fn i64_overflows_match_rust(left: i64, right: i64) {
            let (a, b) = (i128::from(left), i128::from(right));
            prop_assert_eq!(check(64, true, ArithmeticOperation::Add, a, b), left.checked_add(right).is_none());
            prop_assert_eq!(check(64, true, ArithmeticOperation::Subtract, a, b), left.checked_sub(right).is_none());
            prop_assert_eq!(check(64, true, ArithmeticOperation::Multiply, a, b), left.checked_mul(right).is_none());
        }
    }

    #[test]
    fn ignores_bits_above_the_type() {
        assert!(!check(8, false, ArithmeticOperation::Add, 0x1_00, 1));
        assert!(check(8, false, ArithmeticOperation::Add, 0x1_ff, 1));
    }
}

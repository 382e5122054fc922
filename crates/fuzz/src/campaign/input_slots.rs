//! The numeric inputs of a call that can be set individually: words, lengths, bytes, value, time and block.

use alloy_primitives::U256;

use crate::abi::{AbiType, AbiValue, clamp_to_type};
use crate::call::{CallPayload, SequenceCall};
use crate::generate::is_cheatcode_address;
use crate::target::FuzzTarget;

/// Leading bytes of a byte string that get slots of their own.
const MAX_BYTES: usize = 36;

/// Shift that moves a byte to the upper end of a word.
const UPPER: usize = 248;

/// Maximum length of an array or string that is resized to satisfy a comparison.
const MAX_LENGTH: usize = 512;

/// One numeric input of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputSlot {
    /// A word of the arguments, by index over all arguments.
    Word(usize),
    /// The length of an array or byte string, by index over all lengths.
    Length(usize),
    /// A byte of a byte string: its index as for `Length`, and the offset.
    Byte(usize, usize),
    /// A byte as code compares it, at the upper end of a word.
    UpperByte(usize, usize),
    /// The wei sent with the call.
    Value,
    /// The timestamp of the call.
    Time,
    /// The block number of the call.
    Block,
}

impl InputSlot {
    /// Returns true if neighboring values behave alike, so that numeric search makes sense.
    pub(super) fn is_number(self) -> bool {
        !matches!(self, InputSlot::Byte(..) | InputSlot::UpperByte(..))
    }
}

/// Time and block before the delay of a call, and the maximum delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallTiming {
    pub time: u64,
    pub block: u64,
    pub max_seconds: u64,
    pub max_blocks: u64,
}

/// Returns all slots of the call with their current values.
pub(super) fn list_slots(
    target: &FuzzTarget,
    call: &SequenceCall,
    moment: CallTiming,
) -> Vec<(InputSlot, U256)> {
    let mut found = Vec::new();
    if let CallPayload::Function { args, .. } = &call.payload {
        let (mut words, mut lengths) = (0, 0);
        for arg in args {
            collect_slots(arg, &mut words, &mut lengths, &mut found);
        }
    }
    if is_payable(target, call) {
        found.push((InputSlot::Value, call.value));
    }
    found.push((InputSlot::Time, U256::from(moment.time.saturating_add(call.delay.seconds))));
    found.push((InputSlot::Block, U256::from(moment.block.saturating_add(call.delay.blocks))));
    found
}

fn is_payable(target: &FuzzTarget, call: &SequenceCall) -> bool {
    match &call.payload {
        CallPayload::Function { function, .. } => target.function(*function).is_payable,
        CallPayload::Data(_) => true,
        CallPayload::WaitOnly => false,
    }
}

fn collect_slots(
    value: &AbiValue,
    words: &mut usize,
    lengths: &mut usize,
    found: &mut Vec<(InputSlot, U256)>,
) {
    let length = |lengths: &mut usize, length: usize, found: &mut Vec<(InputSlot, U256)>| {
        found.push((InputSlot::Length(*lengths), U256::from(length)));
        *lengths += 1;
    };
    match value {
        AbiValue::Word(word) => {
            found.push((InputSlot::Word(*words), *word));
            *words += 1;
        }
        AbiValue::Bytes(bytes) => {
            for (at, &byte) in bytes.iter().enumerate().take(MAX_BYTES) {
                let byte = U256::from(byte);
                found.push((InputSlot::Byte(*lengths, at), byte));
                found.push((InputSlot::UpperByte(*lengths, at), byte << UPPER));
            }
            length(lengths, bytes.len(), found);
        }
        AbiValue::List(values) => {
            length(lengths, values.len(), found);
            for value in values {
                collect_slots(value, words, lengths, found);
            }
        }
    }
}

/// Returns the call with another number in the slot, or `None` if the slot cannot hold it.
///
/// No slot can hold the address of the cheat codes, which comparisons of a test may suggest.
pub(super) fn with_slot(
    target: &FuzzTarget,
    call: &SequenceCall,
    moment: CallTiming,
    slot: InputSlot,
    number: U256,
) -> Option<SequenceCall> {
    let mut call = call.clone();
    match slot {
        InputSlot::Value => call.value = number,
        InputSlot::Time => {
            call.delay.seconds = delay_until(number, moment.time, moment.max_seconds)?;
        }
        InputSlot::Block => {
            call.delay.blocks = delay_until(number, moment.block, moment.max_blocks)?;
        }
        InputSlot::Word(_)
        | InputSlot::Length(_)
        | InputSlot::Byte(..)
        | InputSlot::UpperByte(..) => {
            let CallPayload::Function { function, args } = &mut call.payload else { return None };
            let types = &target.function(*function).inputs;
            let (mut words, mut lengths) = (0, 0);
            let mut set = false;
            for (ty, arg) in types.iter().zip(args) {
                set |= assign_slot(ty, arg, &mut words, &mut lengths, slot, number)?;
            }
            if !set {
                return None;
            }
        }
    }
    Some(call)
}

/// Returns the delay from `now` to `number`, or `None` if it is negative or above the maximum.
fn delay_until(number: U256, now: u64, max: u64) -> Option<u64> {
    u64::try_from(number).ok()?.checked_sub(now).filter(|&wait| wait <= max)
}

/// Sets the slot if it is part of this value.
///
/// Returns true if it is, and `None` if the value cannot hold the number.
fn assign_slot(
    ty: &AbiType,
    value: &mut AbiValue,
    words: &mut usize,
    lengths: &mut usize,
    slot: InputSlot,
    number: U256,
) -> Option<bool> {
    let own_length = InputSlot::Length(*lengths) == slot;
    match value {
        AbiValue::Word(word) => {
            let is_meant = InputSlot::Word(*words) == slot;
            *words += 1;
            if is_meant {
                *word = Some(clamp_to_type(ty, number)).filter(|it| !is_cheatcode_address(*it))?;
            }
            Some(is_meant)
        }
        AbiValue::Bytes(bytes) => {
            let index = *lengths;
            *lengths += 1;
            match slot {
                InputSlot::Length(own) if own == index => {
                    bytes.resize(to_allowed_length(number)?, 0)
                }
                InputSlot::Byte(own, at) if own == index => {
                    *bytes.get_mut(at)? = u8::try_from(number).ok()?;
                }
                InputSlot::UpperByte(own, at) if own == index => {
                    let byte = number >> UPPER;
                    *bytes.get_mut(at)? = u8::try_from(byte).ok()?;
                }
                _ => return Some(false),
            }
            Some(true)
        }
        AbiValue::List(values) => {
            *lengths += 1;
            if own_length {
                let AbiType::Array(element) = ty else { return None };
                let filler = values.last().cloned().unwrap_or_else(|| AbiValue::zero(element));
                values.resize(to_allowed_length(number)?, filler);
                return Some(true);
            }
            let mut set = false;
            for (index, value) in values.iter_mut().enumerate() {
                let ty = element_type(ty, index)?;
                set |= assign_slot(ty, value, words, lengths, slot, number)?;
            }
            Some(set)
        }
    }
}

fn to_allowed_length(number: U256) -> Option<usize> {
    usize::try_from(number).ok().filter(|&length| length <= MAX_LENGTH)
}

fn element_type(ty: &AbiType, index: usize) -> Option<&AbiType> {
    match ty {
        AbiType::Array(element) | AbiType::FixedArray(element, _) => Some(element),
        AbiType::Tuple(fields) => fields.get(index),
        _ => None,
    }
}

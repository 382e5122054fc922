//! The numbers of a call that can be set one by one, whatever they are part of.

use alloy_primitives::U256;

use crate::abi::{Type, Value, clamp};
use crate::call::{Call, What};
use crate::target::Target;

/// Bytes at the beginning of an argument that are looked at one by one.
const MAX_BYTES: usize = 36;

/// How far a byte is moved to the upper end of a word.
const UPPER: usize = 248;

/// The longest array or string that is made to satisfy a comparison.
const MAX_LENGTH: usize = 512;

/// One of the numbers of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A word of the arguments, counted from the first.
    Word(usize),
    /// The length of an array or of bytes among the arguments.
    Length(usize),
    /// A byte of bytes among the arguments, which are counted as lengths are.
    Byte(usize, usize),
    /// The same, as code compares it: at the upper end of a word.
    UpperByte(usize, usize),
    /// The wei that go with the call.
    Value,
    /// The time when it is made.
    Time,
    /// The block that it is made in.
    Block,
}

impl Slot {
    /// True if neighbouring values are alike in what they lead to.
    pub(super) fn is_number(self) -> bool {
        !matches!(self, Slot::Byte(..) | Slot::UpperByte(..))
    }
}

/// When and where a call is made, without its own delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub time: u64,
    pub block: u64,
    pub max_seconds: u64,
    pub max_blocks: u64,
}

/// All slots of the call with what they hold.
pub(super) fn slots(target: &Target, call: &Call, moment: Moment) -> Vec<(Slot, U256)> {
    let mut found = Vec::new();
    if let What::Function { args, .. } = &call.what {
        let (mut words, mut lengths) = (0, 0);
        for arg in args {
            collect(arg, &mut words, &mut lengths, &mut found);
        }
    }
    if is_payable(target, call) {
        found.push((Slot::Value, call.value));
    }
    found.push((Slot::Time, U256::from(moment.time.saturating_add(call.delay.seconds))));
    found.push((Slot::Block, U256::from(moment.block.saturating_add(call.delay.blocks))));
    found
}

fn is_payable(target: &Target, call: &Call) -> bool {
    match &call.what {
        What::Function { function, .. } => target.function(*function).is_payable,
        What::Data(_) => true,
        What::Nothing => false,
    }
}

fn collect(value: &Value, words: &mut usize, lengths: &mut usize, found: &mut Vec<(Slot, U256)>) {
    let length = |lengths: &mut usize, length: usize, found: &mut Vec<(Slot, U256)>| {
        found.push((Slot::Length(*lengths), U256::from(length)));
        *lengths += 1;
    };
    match value {
        Value::Word(word) => {
            found.push((Slot::Word(*words), *word));
            *words += 1;
        }
        Value::Bytes(bytes) => {
            for (at, &byte) in bytes.iter().enumerate().take(MAX_BYTES) {
                let byte = U256::from(byte);
                found.push((Slot::Byte(*lengths, at), byte));
                found.push((Slot::UpperByte(*lengths, at), byte << UPPER));
            }
            length(lengths, bytes.len(), found);
        }
        Value::List(values) => {
            length(lengths, values.len(), found);
            for value in values {
                collect(value, words, lengths, found);
            }
        }
    }
}

/// The call with another number in the slot; None if it cannot hold it.
pub(super) fn with(
    target: &Target,
    call: &Call,
    moment: Moment,
    slot: Slot,
    number: U256,
) -> Option<Call> {
    let mut call = call.clone();
    match slot {
        Slot::Value => call.value = number,
        Slot::Time => {
            call.delay.seconds = wait(number, moment.time, moment.max_seconds)?;
        }
        Slot::Block => {
            call.delay.blocks = wait(number, moment.block, moment.max_blocks)?;
        }
        Slot::Word(_) | Slot::Length(_) | Slot::Byte(..) | Slot::UpperByte(..) => {
            let What::Function { function, args } = &mut call.what else { return None };
            let types = &target.function(*function).inputs;
            let (mut words, mut lengths) = (0, 0);
            let mut set = false;
            for (ty, arg) in types.iter().zip(args) {
                set |= assign(ty, arg, &mut words, &mut lengths, slot, number)?;
            }
            if !set {
                return None;
            }
        }
    }
    Some(call)
}

fn wait(number: U256, now: u64, max: u64) -> Option<u64> {
    u64::try_from(number).ok()?.checked_sub(now).filter(|&wait| wait <= max)
}

/// Sets the slot if it lies in this value; true if it does, None if the value cannot hold the number.
fn assign(
    ty: &Type,
    value: &mut Value,
    words: &mut usize,
    lengths: &mut usize,
    slot: Slot,
    number: U256,
) -> Option<bool> {
    let own_length = Slot::Length(*lengths) == slot;
    match value {
        Value::Word(word) => {
            let is_meant = Slot::Word(*words) == slot;
            *words += 1;
            if is_meant {
                *word = clamp(ty, number);
            }
            Some(is_meant)
        }
        Value::Bytes(bytes) => {
            let index = *lengths;
            *lengths += 1;
            match slot {
                Slot::Length(own) if own == index => bytes.resize(length(number)?, 0),
                Slot::Byte(own, at) if own == index => {
                    *bytes.get_mut(at)? = u8::try_from(number).ok()?;
                }
                Slot::UpperByte(own, at) if own == index => {
                    let byte = number >> UPPER;
                    *bytes.get_mut(at)? = u8::try_from(byte).ok()?;
                }
                _ => return Some(false),
            }
            Some(true)
        }
        Value::List(values) => {
            *lengths += 1;
            if own_length {
                let Type::Array(element) = ty else { return None };
                let filler = values.last().cloned().unwrap_or_else(|| Value::zero(element));
                values.resize(length(number)?, filler);
                return Some(true);
            }
            let mut set = false;
            for (index, value) in values.iter_mut().enumerate() {
                let ty = element_type(ty, index)?;
                set |= assign(ty, value, words, lengths, slot, number)?;
            }
            Some(set)
        }
    }
}

fn length(number: U256) -> Option<usize> {
    usize::try_from(number).ok().filter(|&length| length <= MAX_LENGTH)
}

fn element_type(ty: &Type, index: usize) -> Option<&Type> {
    match ty {
        Type::Array(element) | Type::FixedArray(element, _) => Some(element),
        Type::Tuple(fields) => fields.get(index),
        _ => None,
    }
}

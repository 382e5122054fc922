//! Proposes simpler variants of a call: numbers nearer to zero, shorter arrays, shorter delays, the first sender.

use alloy_primitives::{Address, U256};

use crate::abi::{AbiType, AbiValue};
use crate::call::{CallDelay, CallPayload, SequenceCall};
use crate::campaign::input_slots::{self, CallTiming, InputSlot};
use crate::target::FuzzTarget;

/// Returns calls that are simpler in one respect each, the simplest first.
pub(super) fn simplify_call(
    target: &FuzzTarget,
    call: &SequenceCall,
    first_sender: Address,
) -> Vec<SequenceCall> {
    let mut found = Vec::new();
    let mut offer = |change: &dyn Fn(&mut SequenceCall)| {
        let mut simpler = call.clone();
        change(&mut simpler);
        if simpler != *call {
            found.push(simpler);
        }
    };
    offer(&|call| call.delay = CallDelay::default());
    offer(&|call| call.delay.seconds = 0);
    offer(&|call| call.delay.blocks = 0);
    for seconds in smaller_numbers(U256::from(call.delay.seconds)) {
        offer(&|call| call.delay.seconds = seconds.saturating_to());
    }
    for blocks in smaller_numbers(U256::from(call.delay.blocks)) {
        offer(&|call| call.delay.blocks = blocks.saturating_to());
    }
    offer(&|call| call.gas_price = 0);
    offer(&|call| call.from = first_sender);
    if !call.value.is_zero() {
        for value in smaller_numbers(call.value) {
            offer(&|call| call.value = value);
        }
    }
    match &call.payload {
        CallPayload::Function { function, args } => {
            let types = &target.function(*function).inputs;
            simplify_args(target, call, types, args, &mut found);
        }
        CallPayload::Data(data) if !data.is_empty() => {
            for shorter in shorten_bytes(data) {
                found.push(SequenceCall { payload: CallPayload::Data(shorter), ..call.clone() });
            }
        }
        CallPayload::Data(_) | CallPayload::WaitOnly => {}
    }
    found
}

fn simplify_args(
    target: &FuzzTarget,
    call: &SequenceCall,
    types: &[AbiType],
    args: &[AbiValue],
    found: &mut Vec<SequenceCall>,
) {
    let replaced = |index: usize, value: AbiValue| {
        let mut call = call.clone();
        if let CallPayload::Function { args, .. } = &mut call.payload {
            args[index] = value;
        }
        call
    };
    for (index, (ty, value)) in types.iter().zip(args).enumerate() {
        let zero = AbiValue::zero(ty);
        if zero != *value {
            found.push(replaced(index, zero));
        }
        for value in shorten_value(value, ty) {
            found.push(replaced(index, value));
        }
    }
    // Words at any depth.
    let moment = CallTiming { time: 0, block: 0, max_seconds: 0, max_blocks: 0 };
    let mut kinds = Vec::new();
    types.iter().zip(args).for_each(|(ty, value)| collect_word_types(ty, value, &mut kinds));
    for (slot, word) in input_slots::list_slots(target, call, moment) {
        if let InputSlot::Word(index) = slot {
            let simpler = match kinds.get(index) {
                Some(AbiType::Address) => simplify_address(word),
                _ => smaller_numbers(word),
            };
            for smaller in simpler {
                let simpler = input_slots::with_slot(target, call, moment, slot, smaller);
                found.extend(simpler.filter(|simpler| simpler != call));
            }
        }
    }
}

/// Collects the types of all words of a value, in order.
fn collect_word_types<'a>(ty: &'a AbiType, value: &AbiValue, kinds: &mut Vec<&'a AbiType>) {
    match (ty, value) {
        (_, AbiValue::Word(_)) => kinds.push(ty),
        (AbiType::Array(element) | AbiType::FixedArray(element, _), AbiValue::List(values)) => {
            values.iter().for_each(|value| collect_word_types(element, value, kinds));
        }
        (AbiType::Tuple(fields), AbiValue::List(values)) => {
            fields.iter().zip(values).for_each(|(ty, value)| collect_word_types(ty, value, kinds));
        }
        _ => {}
    }
}

/// Returns the zero address and an easily recognized one. Small numbers are avoided: they are precompiled contracts.
fn simplify_address(word: U256) -> Vec<U256> {
    const RECOGNIZABLE: U256 = U256::from_limbs([0xdead_beef, 0, 0, 0]);
    match word {
        U256::ZERO => Vec::new(),
        RECOGNIZABLE => vec![U256::ZERO],
        _ => vec![U256::ZERO, RECOGNIZABLE],
    }
}

/// Returns candidate numbers nearer to zero. Large words are treated as negative numbers too.
fn smaller_numbers(word: U256) -> Vec<U256> {
    if word.is_zero() {
        return Vec::new();
    }
    let negated = U256::ZERO.wrapping_sub(word);
    let mut found = vec![U256::ZERO, U256::ONE];
    // The minimum of `int256` is its own negation.
    if negated <= word {
        found.extend([U256::MAX, U256::ZERO.wrapping_sub(negated >> 1_usize), negated]);
        found.push(word.wrapping_add(U256::ONE));
    }
    // The top bits only, then half, then one less: fast for large numbers, exact in the end.
    let bits = word.bit_len();
    for kept in [1, 4, 8, 16] {
        if bits > kept {
            found.push((word >> (bits - kept)) << (bits - kept));
        }
    }
    found.extend([word >> 1_usize, word - (word >> 2_usize), word - U256::ONE]);
    let mut nearer = Vec::with_capacity(found.len());
    for candidate in found {
        // Other candidates could make shrinking loop forever.
        if distance_from_zero(candidate) < distance_from_zero(word) && !nearer.contains(&candidate)
        {
            nearer.push(candidate);
        }
    }
    nearer
}

/// Returns the distance of a number from zero in either direction; positive numbers order before negative ones.
fn distance_from_zero(word: U256) -> (U256, bool) {
    let negated = U256::ZERO.wrapping_sub(word);
    if negated < word { (negated, true) } else { (word, false) }
}

/// Returns variants of a value with shorter arrays and byte strings.
fn shorten_value(value: &AbiValue, ty: &AbiType) -> Vec<AbiValue> {
    match (value, ty) {
        (AbiValue::Bytes(bytes), _) => {
            shorten_bytes(bytes).into_iter().map(AbiValue::Bytes).collect()
        }
        (AbiValue::List(values), AbiType::Array(element)) => {
            let mut found = Vec::new();
            if values.len() > 1 {
                found.push(AbiValue::List(values[..values.len() / 2].to_vec()));
                found.push(AbiValue::List(values[values.len() / 2..].to_vec()));
            }
            for index in 0..values.len().min(16) {
                let mut fewer = values.clone();
                fewer.remove(index);
                found.push(AbiValue::List(fewer));
            }
            found.extend(shorten_elements(values, |_| Some(&**element)));
            found
        }
        (AbiValue::List(values), AbiType::Tuple(fields)) => {
            shorten_elements(values, |index| fields.get(index))
        }
        (AbiValue::List(values), AbiType::FixedArray(element, _)) => {
            shorten_elements(values, |_| Some(&**element))
        }
        _ => Vec::new(),
    }
}

/// Returns variants of a list in which one element is shorter.
fn shorten_elements<'a>(
    values: &[AbiValue],
    ty: impl Fn(usize) -> Option<&'a AbiType>,
) -> Vec<AbiValue> {
    let mut found = Vec::new();
    for (index, value) in values.iter().enumerate().take(16) {
        let Some(ty) = ty(index) else { continue };
        for shorter in shorten_value(value, ty) {
            let mut values = values.to_vec();
            values[index] = shorter;
            found.push(AbiValue::List(values));
        }
    }
    found
}

fn shorten_bytes(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    if bytes.len() > 1 {
        found.push(bytes[..bytes.len() / 2].to_vec());
        found.push(bytes[bytes.len() / 2..].to_vec());
    }
    for index in 0..bytes.len().min(64) {
        let mut fewer = bytes.to_vec();
        fewer.remove(index);
        found.push(fewer);
    }
    if bytes.iter().any(|&byte| byte != 0) {
        found.push(vec![0; bytes.len()]);
    }
    for index in 0..bytes.len().min(64) {
        if bytes[index] != 0 {
            let mut simpler = bytes.to_vec();
            simpler[index] = 0;
            found.push(simpler);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn candidates_are_nearer_to_zero(limbs: [u64; 4]) {
            let word = U256::from_limbs(limbs);
            for next in smaller_numbers(word) {
                prop_assert!(distance_from_zero(next) < distance_from_zero(word), "{next} {word}");
            }
        }
    }

    #[test]
    fn int256_minimum_shrinks_to_minus_one() {
        let least = U256::ONE << 255_usize;
        assert!(smaller_numbers(least).contains(&U256::MAX));
        assert_eq!(smaller_numbers(U256::MAX), [U256::ZERO, U256::ONE]);
    }
}

//! Calls that are simpler than a given one: nearer to zero, shorter, sooner, by the first sender.

use alloy_primitives::{Address, U256};

use crate::abi::{Type, Value};
use crate::call::{Call, Delay, What};
use crate::campaign::slots::{self, Moment, Slot};
use crate::target::Target;

/// Calls that are simpler in one thing each, the simplest first.
pub(super) fn calls(target: &Target, call: &Call, first_sender: Address) -> Vec<Call> {
    let mut found = Vec::new();
    let mut offer = |change: &dyn Fn(&mut Call)| {
        let mut simpler = call.clone();
        change(&mut simpler);
        if simpler != *call {
            found.push(simpler);
        }
    };
    offer(&|call| call.delay = Delay::default());
    offer(&|call| call.delay.seconds = 0);
    offer(&|call| call.delay.blocks = 0);
    for seconds in smaller(U256::from(call.delay.seconds)) {
        offer(&|call| call.delay.seconds = seconds.saturating_to());
    }
    for blocks in smaller(U256::from(call.delay.blocks)) {
        offer(&|call| call.delay.blocks = blocks.saturating_to());
    }
    offer(&|call| call.gas_price = 0);
    offer(&|call| call.from = first_sender);
    if !call.value.is_zero() {
        for value in smaller(call.value) {
            offer(&|call| call.value = value);
        }
    }
    match &call.what {
        What::Function { function, args } => {
            let types = &target.function(*function).inputs;
            simpler_args(target, call, types, args, &mut found);
        }
        What::Data(data) if !data.is_empty() => {
            for shorter in shorter_bytes(data) {
                found.push(Call { what: What::Data(shorter), ..call.clone() });
            }
        }
        What::Data(_) | What::Nothing => {}
    }
    found
}

fn simpler_args(
    target: &Target,
    call: &Call,
    types: &[Type],
    args: &[Value],
    found: &mut Vec<Call>,
) {
    let replaced = |index: usize, value: Value| {
        let mut call = call.clone();
        if let What::Function { args, .. } = &mut call.what {
            args[index] = value;
        }
        call
    };
    for (index, (ty, value)) in types.iter().zip(args).enumerate() {
        let zero = Value::zero(ty);
        if zero != *value {
            found.push(replaced(index, zero));
        }
        for value in shorter(value, ty) {
            found.push(replaced(index, value));
        }
    }
    // Words, however deep they lie.
    let moment = Moment { time: 0, block: 0, max_seconds: 0, max_blocks: 0 };
    let mut kinds = Vec::new();
    types.iter().zip(args).for_each(|(ty, value)| kinds_of_words(ty, value, &mut kinds));
    for (slot, word) in slots::slots(target, call, moment) {
        if let Slot::Word(index) = slot {
            let simpler = match kinds.get(index) {
                Some(Type::Address) => simpler_addresses(word),
                _ => smaller(word),
            };
            for smaller in simpler {
                let simpler = slots::with(target, call, moment, slot, smaller);
                found.extend(simpler.filter(|simpler| simpler != call));
            }
        }
    }
}

/// The types of the words of a value, in their order.
fn kinds_of_words<'a>(ty: &'a Type, value: &Value, kinds: &mut Vec<&'a Type>) {
    match (ty, value) {
        (_, Value::Word(_)) => kinds.push(ty),
        (Type::Array(element) | Type::FixedArray(element, _), Value::List(values)) => {
            values.iter().for_each(|value| kinds_of_words(element, value, kinds));
        }
        (Type::Tuple(fields), Value::List(values)) => {
            fields.iter().zip(values).for_each(|(ty, value)| kinds_of_words(ty, value, kinds));
        }
        _ => {}
    }
}

/// Nobody, or somebody who is easy to recognise; small numbers would be precompiled contracts.
fn simpler_addresses(word: U256) -> Vec<U256> {
    const SOMEBODY: U256 = U256::from_limbs([0xdead_beef, 0, 0, 0]);
    match word {
        U256::ZERO => Vec::new(),
        SOMEBODY => vec![U256::ZERO],
        _ => vec![U256::ZERO, SOMEBODY],
    }
}

/// Numbers nearer to zero. Large ones are negative, or one less than a round number.
fn smaller(word: U256) -> Vec<U256> {
    if word.is_zero() {
        return Vec::new();
    }
    let negated = U256::ZERO.wrapping_sub(word);
    let mut found = vec![U256::ZERO, U256::ONE];
    // The least number of all is its own opposite.
    if negated <= word {
        found.extend([U256::MAX, U256::ZERO.wrapping_sub(negated >> 1_usize), negated]);
        found.push(word.wrapping_add(U256::ONE));
    }
    // The top bits alone, then half, then one less: quick for large numbers, exact in the end.
    let bits = word.bit_len();
    for kept in [1, 4, 8, 16] {
        if bits > kept {
            found.push((word >> (bits - kept)) << (bits - kept));
        }
    }
    found.extend([word >> 1_usize, word - (word >> 2_usize), word - U256::ONE]);
    let mut nearer = Vec::with_capacity(found.len());
    for candidate in found {
        // Any other would let shrinking go round in circles.
        if distance(candidate) < distance(word) && !nearer.contains(&candidate) {
            nearer.push(candidate);
        }
    }
    nearer
}

/// How far a number is from zero, in either direction.
fn distance(word: U256) -> (U256, bool) {
    let negated = U256::ZERO.wrapping_sub(word);
    if negated < word { (negated, true) } else { (word, false) }
}

/// Arrays and strings with less in them.
fn shorter(value: &Value, ty: &Type) -> Vec<Value> {
    match (value, ty) {
        (Value::Bytes(bytes), _) => shorter_bytes(bytes).into_iter().map(Value::Bytes).collect(),
        (Value::List(values), Type::Array(element)) => {
            let mut found = Vec::new();
            if values.len() > 1 {
                found.push(Value::List(values[..values.len() / 2].to_vec()));
                found.push(Value::List(values[values.len() / 2..].to_vec()));
            }
            for index in 0..values.len().min(16) {
                let mut fewer = values.clone();
                fewer.remove(index);
                found.push(Value::List(fewer));
            }
            found.extend(inner(values, |_| Some(&**element)));
            found
        }
        (Value::List(values), Type::Tuple(fields)) => inner(values, |index| fields.get(index)),
        (Value::List(values), Type::FixedArray(element, _)) => inner(values, |_| Some(&**element)),
        _ => Vec::new(),
    }
}

/// Lists of which one element is shorter.
fn inner<'a>(values: &[Value], ty: impl Fn(usize) -> Option<&'a Type>) -> Vec<Value> {
    let mut found = Vec::new();
    for (index, value) in values.iter().enumerate().take(16) {
        let Some(ty) = ty(index) else { continue };
        for shorter in shorter(value, ty) {
            let mut values = values.to_vec();
            values[index] = shorter;
            found.push(Value::List(values));
        }
    }
    found
}

fn shorter_bytes(bytes: &[u8]) -> Vec<Vec<u8>> {
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
        fn smaller_numbers_are_nearer_to_zero(limbs: [u64; 4]) {
            let word = U256::from_limbs(limbs);
            for next in smaller(word) {
                prop_assert!(distance(next) < distance(word), "{next} {word}");
            }
        }
    }

    #[test]
    fn the_least_number_becomes_minus_one_and_stays_so() {
        let least = U256::ONE << 255_usize;
        assert!(smaller(least).contains(&U256::MAX));
        assert_eq!(smaller(U256::MAX), [U256::ZERO, U256::ONE]);
    }
}

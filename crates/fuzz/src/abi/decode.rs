//! Bytes to values, for what contracts return and emit. Anything may stand there: what does not fit is None.

use alloy_primitives::U256;

use super::value::clamp;
use super::{Type, Value};

const WORD: usize = 32;

/// Elements of all arrays of one value together, so that a few bytes cannot stand for gigabytes.
const MAX_ELEMENTS: usize = 4096;

/// Reads values of the types, as they follow a selector or make up a return value.
pub fn decode(types: &[Type], data: &[u8]) -> Option<Vec<Value>> {
    fields(types.iter(), data, &mut MAX_ELEMENTS.clone())
}

fn fields<'a>(
    types: impl Iterator<Item = &'a Type>,
    data: &[u8],
    budget: &mut usize,
) -> Option<Vec<Value>> {
    let mut head = 0;
    types
        .map(|ty| {
            *budget = budget.checked_sub(1)?;
            if ty.is_dynamic() {
                let offset = length_at(data, head)?;
                head += WORD;
                tail(ty, data.get(offset..)?, budget)
            } else {
                fixed(ty, data, &mut head, budget)
            }
        })
        .collect()
}

fn fixed(ty: &Type, data: &[u8], head: &mut usize, budget: &mut usize) -> Option<Value> {
    match ty {
        Type::FixedArray(element, length) => {
            *budget = budget.checked_sub(*length)?;
            let values = (0..*length).map(|_| fixed(element, data, head, budget));
            Some(Value::List(values.collect::<Option<_>>()?))
        }
        Type::Tuple(fields) => {
            let values = fields.iter().map(|field| fixed(field, data, head, budget));
            Some(Value::List(values.collect::<Option<_>>()?))
        }
        _ => {
            let word = word_at(data, *head)?;
            *head += WORD;
            (clamp(ty, word) == word).then_some(Value::Word(word))
        }
    }
}

fn tail(ty: &Type, data: &[u8], budget: &mut usize) -> Option<Value> {
    match ty {
        Type::Bytes | Type::String => {
            let length = length_at(data, 0)?;
            let bytes = data.get(WORD..)?.get(..length)?;
            Some(Value::Bytes(bytes.to_vec()))
        }
        Type::Array(element) => {
            let length = length_at(data, 0)?;
            if length > *budget {
                return None;
            }
            let elements = std::iter::repeat_n(&**element, length);
            Some(Value::List(fields(elements, data.get(WORD..)?, budget)?))
        }
        Type::FixedArray(element, length) => {
            if *length > *budget {
                return None;
            }
            Some(Value::List(fields(std::iter::repeat_n(&**element, *length), data, budget)?))
        }
        Type::Tuple(types) => Some(Value::List(fields(types.iter(), data, budget)?)),
        _ => None,
    }
}

fn word_at(data: &[u8], offset: usize) -> Option<U256> {
    let word: &[u8] = data.get(offset..offset.checked_add(WORD)?)?;
    Some(U256::from_be_slice(word))
}

fn length_at(data: &[u8], offset: usize) -> Option<usize> {
    usize::try_from(word_at(data, offset)?).ok()
}

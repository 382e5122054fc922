//! Decodes the bytes that smart contracts return and emit. The input is untrusted: malformed data decodes to `None`.

use alloy_primitives::U256;

use super::value::clamp_to_type;
use super::{AbiType, AbiValue};

const WORD: usize = 32;

/// Maximum elements of all arrays in one decoded value, so that a few bytes cannot expand to gigabytes.
const MAX_ELEMENTS: usize = 4096;

/// What may still be decoded.
struct DecodeBudget {
    elements: usize,
    /// Bytes of dynamic values. Several may refer to the same data, which would be copied for each.
    bytes: usize,
}

impl DecodeBudget {
    fn take_elements(&mut self, count: usize) -> Option<()> {
        self.elements = self.elements.checked_sub(count)?;
        Some(())
    }

    fn take_bytes(&mut self, count: usize) -> Option<()> {
        self.bytes = self.bytes.checked_sub(count)?;
        Some(())
    }
}

/// Decodes values of the given types, without a leading selector.
///
/// Returns `None` if the data is malformed or has too many elements.
pub fn decode_values(types: &[AbiType], data: &[u8]) -> Option<Vec<AbiValue>> {
    let mut budget = DecodeBudget { elements: MAX_ELEMENTS, bytes: data.len() };
    decode_fields(types.iter(), data, &mut budget)
}

/// Decodes a tuple's fields or a list of arguments: a head for each, then the dynamic tails.
fn decode_fields<'a>(
    types: impl Iterator<Item = &'a AbiType>,
    data: &[u8],
    budget: &mut DecodeBudget,
) -> Option<Vec<AbiValue>> {
    let mut head = 0;
    types
        .map(|ty| {
            budget.take_elements(1)?;
            if ty.is_dynamic() {
                let offset = read_length(data, head)?;
                head += WORD;
                decode_dynamic(ty, data.get(offset..)?, budget)
            } else {
                decode_static(ty, data, &mut head, budget)
            }
        })
        .collect()
}

/// Decodes a value of static type at `head` and advances `head` past it.
fn decode_static(
    ty: &AbiType,
    data: &[u8],
    head: &mut usize,
    budget: &mut DecodeBudget,
) -> Option<AbiValue> {
    match ty {
        AbiType::FixedArray(element, length) => {
            budget.take_elements(*length)?;
            let values = (0..*length).map(|_| decode_static(element, data, head, budget));
            Some(AbiValue::List(values.collect::<Option<_>>()?))
        }
        AbiType::Tuple(fields) => {
            let values = fields.iter().map(|field| decode_static(field, data, head, budget));
            Some(AbiValue::List(values.collect::<Option<_>>()?))
        }
        _ => {
            let word = read_word(data, *head)?;
            *head += WORD;
            (clamp_to_type(ty, word) == word).then_some(AbiValue::Word(word))
        }
    }
}

/// Decodes a value of dynamic type from the start of `data`.
fn decode_dynamic(ty: &AbiType, data: &[u8], budget: &mut DecodeBudget) -> Option<AbiValue> {
    match ty {
        AbiType::Bytes | AbiType::String => {
            let length = read_length(data, 0)?;
            let bytes = data.get(WORD..)?.get(..length)?;
            budget.take_bytes(length)?;
            Some(AbiValue::Bytes(bytes.to_vec()))
        }
        AbiType::Array(element) => {
            let length = read_length(data, 0)?;
            if length > budget.elements {
                return None;
            }
            let elements = std::iter::repeat_n(&**element, length);
            Some(AbiValue::List(decode_fields(elements, data.get(WORD..)?, budget)?))
        }
        AbiType::FixedArray(element, length) => {
            if *length > budget.elements {
                return None;
            }
            Some(AbiValue::List(decode_fields(
                std::iter::repeat_n(&**element, *length),
                data,
                budget,
            )?))
        }
        AbiType::Tuple(types) => Some(AbiValue::List(decode_fields(types.iter(), data, budget)?)),
        _ => None,
    }
}

fn read_word(data: &[u8], offset: usize) -> Option<U256> {
    let word: &[u8] = data.get(offset..offset.checked_add(WORD)?)?;
    Some(U256::from_be_slice(word))
}

fn read_length(data: &[u8], offset: usize) -> Option<usize> {
    usize::try_from(read_word(data, offset)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_elements_that_refer_to_the_same_bytes() {
        let word = |number: usize| U256::from(number).to_be_bytes::<WORD>();
        let list = AbiType::parse("bytes[]").unwrap();
        let encode = |count: usize| {
            let mut data = [word(WORD), word(count)].concat();
            (0..count).for_each(|_| data.extend(word(count * WORD)));
            data.extend(word(1000));
            data.resize(data.len() + 1024, 7);
            data
        };
        let decode = |count| decode_values(std::slice::from_ref(&list), &encode(count));
        assert!(decode(1).is_some());
        assert_eq!(decode(8), None);
    }
}

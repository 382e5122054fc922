//! Encodes values: heads first, then the tails that the heads refer to.

use alloy_primitives::U256;

use super::{AbiType, AbiValue};

const WORD: usize = 32;

/// Returns the selector followed by the encoded arguments.
pub fn encode_call(selector: [u8; 4], types: &[AbiType], values: &[AbiValue]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + WORD * types.len());
    encode_call_into(&mut out, selector, types, values);
    out
}

/// Like [`encode_call`], but overwrites a buffer that the caller reuses between calls.
pub(crate) fn encode_call_into(
    out: &mut Vec<u8>,
    selector: [u8; 4],
    types: &[AbiType],
    values: &[AbiValue],
) {
    out.clear();
    out.extend_from_slice(&selector);
    if values.iter().all(|value| matches!(value, AbiValue::Word(_))) {
        for value in values {
            encode_word(out, value);
        }
        return;
    }
    encode_fields(out, types.iter(), values);
}

/// Encodes the fields of a tuple, or arguments: heads, then tails. Offsets are relative to the first head.
fn encode_fields<'a>(
    out: &mut Vec<u8>,
    types: impl Iterator<Item = &'a AbiType> + Clone,
    values: &[AbiValue],
) {
    let start = out.len();
    let heads: usize = types.clone().map(AbiType::head_words).sum();
    out.resize(start + heads * WORD, 0);
    let mut head = start;
    for (ty, value) in types.zip(values) {
        if ty.is_dynamic() {
            let offset = U256::from(out.len() - start);
            out[head..head + WORD].copy_from_slice(&offset.to_be_bytes::<WORD>());
            head += WORD;
            encode_dynamic(out, ty, value);
        } else {
            head = write_static(out, head, value);
        }
    }
}

/// Writes a value of static type at `head` and returns the offset after it.
fn write_static(out: &mut [u8], mut head: usize, value: &AbiValue) -> usize {
    match value {
        AbiValue::Word(word) => {
            out[head..head + WORD].copy_from_slice(&word.to_be_bytes::<WORD>());
            head + WORD
        }
        AbiValue::List(values) => {
            for value in values {
                head = write_static(out, head, value);
            }
            head
        }
        // Bytes are dynamic, so no static type contains them.
        AbiValue::Bytes(_) => head,
    }
}

fn encode_dynamic(out: &mut Vec<u8>, ty: &AbiType, value: &AbiValue) {
    match (ty, value) {
        (_, AbiValue::Bytes(bytes)) => {
            encode_length(out, bytes.len());
            out.extend_from_slice(bytes);
            out.resize(out.len() + (WORD - bytes.len() % WORD) % WORD, 0);
        }
        (AbiType::Array(element), AbiValue::List(values)) => {
            encode_length(out, values.len());
            encode_fields(out, std::iter::repeat_n(&**element, values.len()), values);
        }
        (AbiType::FixedArray(element, _), AbiValue::List(values)) => {
            encode_fields(out, std::iter::repeat_n(&**element, values.len()), values);
        }
        (AbiType::Tuple(types), AbiValue::List(values)) => encode_fields(out, types.iter(), values),
        (_, AbiValue::Word(_) | AbiValue::List(_)) => {}
    }
}

fn encode_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&U256::from(length).to_be_bytes::<WORD>());
}

fn encode_word(out: &mut Vec<u8>, value: &AbiValue) {
    if let AbiValue::Word(word) = value {
        out.extend_from_slice(&word.to_be_bytes::<WORD>());
    }
}

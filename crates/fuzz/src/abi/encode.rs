//! Values to the bytes that carry them: heads first, then what the heads refer to.

use alloy_primitives::U256;

use super::{Type, Value};

const WORD: usize = 32;

/// The encoding of a function's arguments, after its selector.
pub fn encode(selector: [u8; 4], types: &[Type], values: &[Value]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 + WORD * types.len());
    encode_into(&mut out, selector, types, values);
    out
}

/// Like [`encode`], into a buffer that is kept between calls.
pub(crate) fn encode_into(out: &mut Vec<u8>, selector: [u8; 4], types: &[Type], values: &[Value]) {
    out.clear();
    out.extend_from_slice(&selector);
    if values.iter().all(|value| matches!(value, Value::Word(_))) {
        for value in values {
            word(out, value);
        }
        return;
    }
    fields(out, types.iter(), values);
}

/// The fields of a tuple, or arguments: heads, then tails. Offsets count from the first head.
fn fields<'a>(out: &mut Vec<u8>, types: impl Iterator<Item = &'a Type> + Clone, values: &[Value]) {
    let start = out.len();
    let heads: usize = types.clone().map(Type::head_words).sum();
    out.resize(start + heads * WORD, 0);
    let mut head = start;
    for (ty, value) in types.zip(values) {
        if ty.is_dynamic() {
            let offset = U256::from(out.len() - start);
            out[head..head + WORD].copy_from_slice(&offset.to_be_bytes::<WORD>());
            head += WORD;
            tail(out, ty, value);
        } else {
            head = fixed(out, head, value);
        }
    }
}

/// A value of fixed length, written over its heads; the place after it.
fn fixed(out: &mut [u8], mut head: usize, value: &Value) -> usize {
    match value {
        Value::Word(word) => {
            out[head..head + WORD].copy_from_slice(&word.to_be_bytes::<WORD>());
            head + WORD
        }
        Value::List(values) => {
            for value in values {
                head = fixed(out, head, value);
            }
            head
        }
        // Bytes have no fixed length, so no type leads here.
        Value::Bytes(_) => head,
    }
}

fn tail(out: &mut Vec<u8>, ty: &Type, value: &Value) {
    match (ty, value) {
        (_, Value::Bytes(bytes)) => {
            length(out, bytes.len());
            out.extend_from_slice(bytes);
            out.resize(out.len() + (WORD - bytes.len() % WORD) % WORD, 0);
        }
        (Type::Array(element), Value::List(values)) => {
            length(out, values.len());
            fields(out, std::iter::repeat_n(&**element, values.len()), values);
        }
        (Type::FixedArray(element, _), Value::List(values)) => {
            fields(out, std::iter::repeat_n(&**element, values.len()), values);
        }
        (Type::Tuple(types), Value::List(values)) => fields(out, types.iter(), values),
        (_, Value::Word(_) | Value::List(_)) => {}
    }
}

fn length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&U256::from(length).to_be_bytes::<WORD>());
}

fn word(out: &mut Vec<u8>, value: &Value) {
    if let Value::Word(word) = value {
        out.extend_from_slice(&word.to_be_bytes::<WORD>());
    }
}

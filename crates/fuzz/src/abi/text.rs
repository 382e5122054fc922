//! Formats values as Solidity source text: `(1, 0xab…, "text")`.

use std::fmt::Write as _;

use alloy_primitives::{Address, I256, U256};

use super::{AbiType, AbiValue};

/// Returns a call as text, such as `transfer(0x…, 100)`.
pub fn format_call(name: &str, types: &[AbiType], values: &[AbiValue]) -> String {
    let mut out = format!("{name}(");
    write_list(&mut out, types.iter(), values);
    out.push(')');
    out
}

/// Returns one value as text.
pub fn format_value(ty: &AbiType, value: &AbiValue) -> String {
    let mut out = String::new();
    write_value(&mut out, ty, value);
    out
}

fn write_list<'a>(out: &mut String, types: impl Iterator<Item = &'a AbiType>, values: &[AbiValue]) {
    for (index, (ty, value)) in types.zip(values).enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write_value(out, ty, value);
    }
}

fn write_value(out: &mut String, ty: &AbiType, value: &AbiValue) {
    match (ty, value) {
        (AbiType::String, AbiValue::Bytes(bytes)) => write_string_literal(out, bytes),
        (_, AbiValue::Bytes(bytes)) => write_hex(out, bytes),
        (AbiType::Array(element) | AbiType::FixedArray(element, _), AbiValue::List(values)) => {
            out.push('[');
            write_list(out, std::iter::repeat(&**element), values);
            out.push(']');
        }
        (AbiType::Tuple(fields), AbiValue::List(values)) => {
            out.push('(');
            write_list(out, fields.iter(), values);
            out.push(')');
        }
        (ty, AbiValue::Word(word)) => write_word(out, ty, *word),
        (_, AbiValue::List(_)) => {}
    }
}

fn write_word(out: &mut String, ty: &AbiType, word: U256) {
    let bytes = word.to_be_bytes::<32>();
    match ty {
        AbiType::Bool => out.push_str(if word.is_zero() { "false" } else { "true" }),
        AbiType::Address => write_hex(out, Address::from_slice(&bytes[12..]).as_slice()),
        AbiType::Int(_) => {
            let _ = write!(out, "{}", I256::from_raw(word));
        }
        AbiType::FixedBytes(length) => write_hex(out, &bytes[..usize::from(*length)]),
        AbiType::Function => write_hex(out, &bytes[..24]),
        _ => {
            let _ = write!(out, "{word}");
        }
    }
}

fn write_hex(out: &mut String, bytes: &[u8]) {
    out.push_str("0x");
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
}

/// Appends a string literal that Solidity parses back to the same bytes.
pub fn write_string_literal(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for &byte in bytes {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x20..=0x7e => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
}

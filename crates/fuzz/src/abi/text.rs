//! Values as people write them in Solidity: `(1, 0xab…, "text")`.

use std::fmt::Write as _;

use alloy_primitives::{Address, I256, U256};

use super::{Type, Value};

/// A call such as `transfer(0x…, 100)`.
pub fn call(name: &str, types: &[Type], values: &[Value]) -> String {
    let mut out = format!("{name}(");
    list(&mut out, types.iter(), values);
    out.push(')');
    out
}

/// One value.
pub fn value(ty: &Type, value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, ty, value);
    out
}

fn list<'a>(out: &mut String, types: impl Iterator<Item = &'a Type>, values: &[Value]) {
    for (index, (ty, value)) in types.zip(values).enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(out, ty, value);
    }
}

fn write(out: &mut String, ty: &Type, value: &Value) {
    match (ty, value) {
        (Type::String, Value::Bytes(bytes)) => quote(out, bytes),
        (_, Value::Bytes(bytes)) => hex(out, bytes),
        (Type::Array(element) | Type::FixedArray(element, _), Value::List(values)) => {
            out.push('[');
            list(out, std::iter::repeat(&**element), values);
            out.push(']');
        }
        (Type::Tuple(fields), Value::List(values)) => {
            out.push('(');
            list(out, fields.iter(), values);
            out.push(')');
        }
        (ty, Value::Word(word)) => write_word(out, ty, *word),
        (_, Value::List(_)) => {}
    }
}

fn write_word(out: &mut String, ty: &Type, word: U256) {
    let bytes = word.to_be_bytes::<32>();
    match ty {
        Type::Bool => out.push_str(if word.is_zero() { "false" } else { "true" }),
        Type::Address => hex(out, Address::from_slice(&bytes[12..]).as_slice()),
        Type::Int(_) => {
            let _ = write!(out, "{}", I256::from_raw(word));
        }
        Type::FixedBytes(length) => hex(out, &bytes[..usize::from(*length)]),
        Type::Function => hex(out, &bytes[..24]),
        _ => {
            let _ = write!(out, "{word}");
        }
    }
}

fn hex(out: &mut String, bytes: &[u8]) {
    out.push_str("0x");
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
}

/// A string literal that Solidity reads back as the same bytes.
pub fn quote(out: &mut String, bytes: &[u8]) {
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

//! Arguments as Echidna's JSON spells them: `{"tag":"AbiUInt","contents":[256,"42"]}`.
//!
//! Each value carries its type, so a call is matched to its function by what its arguments are, not by their number.

use alloy_primitives::{Address, I256, U256};
use serde_json::{Value as Json, json};

use super::format::Problem;
use super::haskell;
use crate::abi::{Type, Value, clamp};

/// The value and the type that it says it has.
pub(super) fn read(json: &Json) -> Result<(Type, Value), Problem> {
    let (tag, contents) = tagged(json)?;
    match tag {
        "AbiUInt" => {
            let [bits, number] = fields(tag, contents)?;
            word(Type::Uint(bit_count(bits)?), unsigned(tag, number)?, number)
        }
        "AbiInt" => {
            let [bits, number] = fields(tag, contents)?;
            word(Type::Int(bit_count(bits)?), signed(number)?, number)
        }
        "AbiAddress" => Ok((Type::Address, Value::address(address(tag, contents)?))),
        "AbiBool" => {
            let flag = contents.as_bool().ok_or_else(|| wrong(tag, "true or false", contents))?;
            Ok((Type::Bool, Value::Word(U256::from(flag))))
        }
        "AbiBytes" => {
            let [length, literal] = fields(tag, contents)?;
            let length = count(tag, length)?;
            let kind = u8::try_from(length).ok().filter(|length| (1..=32).contains(length));
            let kind = kind.ok_or_else(|| wrong(tag, "of 1 to 32 bytes", contents))?;
            left_aligned(tag, Type::FixedBytes(kind), length, literal)
        }
        "AbiFunction" => left_aligned(tag, Type::Function, 24, contents),
        "AbiBytesDynamic" => Ok((Type::Bytes, Value::Bytes(bytes(tag, contents)?))),
        "AbiString" => Ok((Type::String, Value::Bytes(bytes(tag, contents)?))),
        "AbiArrayDynamic" => {
            let [element, values] = fields(tag, contents)?;
            let element = read_type(element)?;
            let values = elements(tag, &element, values)?;
            Ok((Type::Array(Box::new(element)), Value::List(values)))
        }
        "AbiArray" => {
            let [length, element, values] = fields(tag, contents)?;
            let (length, element) = (count(tag, length)?, read_type(element)?);
            let values = elements(tag, &element, values)?;
            if values.len() != length {
                return Err(wrong(tag, "as long as it says", contents));
            }
            Ok((Type::FixedArray(Box::new(element), length), Value::List(values)))
        }
        "AbiTuple" => {
            let values = list(tag, contents)?.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            let (types, values) = values.into_iter().unzip();
            Ok((Type::Tuple(types), Value::List(values)))
        }
        _ => Err(Problem::UnknownTag(tag.to_owned())),
    }
}

/// The value, with its type.
pub(super) fn write(ty: &Type, value: &Value) -> Json {
    match (ty, value) {
        (Type::String, Value::Bytes(bytes)) => tag("AbiString", haskell::show(bytes)),
        (_, Value::Bytes(bytes)) => tag("AbiBytesDynamic", haskell::show(bytes)),
        (Type::Array(element), Value::List(values)) => {
            let values: Vec<Json> = values.iter().map(|value| write(element, value)).collect();
            tag("AbiArrayDynamic", json!([write_type(element), values]))
        }
        (Type::FixedArray(element, length), Value::List(values)) => {
            let values: Vec<Json> = values.iter().map(|value| write(element, value)).collect();
            tag("AbiArray", json!([length, write_type(element), values]))
        }
        (Type::Tuple(types), Value::List(values)) => {
            let fields: Vec<Json> = types.iter().zip(values).map(|(ty, v)| write(ty, v)).collect();
            tag("AbiTuple", fields)
        }
        (ty, Value::Word(word)) => write_word(ty, *word),
        // A value has the shape of its type, so nothing else leads here.
        (_, Value::List(_)) => Json::Null,
    }
}

fn write_word(ty: &Type, word: U256) -> Json {
    let bytes = word.to_be_bytes::<32>();
    match ty {
        Type::Bool => tag("AbiBool", !word.is_zero()),
        Type::Address => tag("AbiAddress", Address::from_slice(&bytes[12..]).to_string()),
        Type::Int(bits) => tag("AbiInt", json!([bits, I256::from_raw(word).to_string()])),
        Type::Uint(bits) => tag("AbiUInt", json!([bits, word.to_string()])),
        Type::FixedBytes(length) => {
            let bytes = &bytes[..usize::from(*length)];
            tag("AbiBytes", json!([length, haskell::show(bytes)]))
        }
        Type::Function => tag("AbiFunction", haskell::show(&bytes[..24])),
        // No other type is one word.
        _ => Json::Null,
    }
}

fn write_type(ty: &Type) -> Json {
    match ty {
        Type::Bool => json!({"tag": "AbiBoolType"}),
        Type::Address => json!({"tag": "AbiAddressType"}),
        Type::Bytes => json!({"tag": "AbiBytesDynamicType"}),
        Type::String => json!({"tag": "AbiStringType"}),
        Type::Function => json!({"tag": "AbiFunctionType"}),
        Type::Uint(bits) => tag("AbiUIntType", *bits),
        Type::Int(bits) => tag("AbiIntType", *bits),
        Type::FixedBytes(length) => tag("AbiBytesType", *length),
        Type::Array(element) => tag("AbiArrayDynamicType", write_type(element)),
        Type::FixedArray(element, length) => {
            tag("AbiArrayType", json!([length, write_type(element)]))
        }
        Type::Tuple(fields) => {
            tag("AbiTupleType", fields.iter().map(write_type).collect::<Vec<_>>())
        }
    }
}

fn read_type(json: &Json) -> Result<Type, Problem> {
    let (tag, contents) = tagged(json)?;
    Ok(match tag {
        "AbiBoolType" => Type::Bool,
        "AbiAddressType" => Type::Address,
        "AbiBytesDynamicType" => Type::Bytes,
        "AbiStringType" => Type::String,
        "AbiFunctionType" => Type::Function,
        "AbiUIntType" => Type::Uint(bit_count(contents)?),
        "AbiIntType" => Type::Int(bit_count(contents)?),
        "AbiBytesType" => {
            let length = u8::try_from(count(tag, contents)?).ok();
            let length = length.filter(|length| (1..=32).contains(length));
            Type::FixedBytes(length.ok_or_else(|| wrong(tag, "1 to 32 bytes", contents))?)
        }
        "AbiArrayDynamicType" => Type::Array(Box::new(read_type(contents)?)),
        "AbiArrayType" => {
            let [length, element] = fields(tag, contents)?;
            Type::FixedArray(Box::new(read_type(element)?), count(tag, length)?)
        }
        "AbiTupleType" => {
            Type::Tuple(list(tag, contents)?.iter().map(read_type).collect::<Result<_, _>>()?)
        }
        _ => return Err(Problem::UnknownTag(tag.to_owned())),
    })
}

/// An unsigned number: text in decimal or hex as Haskell reads it, or a JSON number.
pub(super) fn unsigned(what: &str, json: &Json) -> Result<U256, Problem> {
    let number = match json {
        Json::String(text) => parse_unsigned(text.trim()),
        Json::Number(number) => number.as_u64().map(U256::from),
        _ => None,
    };
    number.ok_or_else(|| wrong(what, "a number of at most 256 bits", json))
}

/// An address, which Echidna reads as hex with or without `0x`.
pub(super) fn address(what: &str, json: &Json) -> Result<Address, Problem> {
    let digits = json.as_str().map(|text| text.strip_prefix("0x").unwrap_or(text));
    let number = digits.and_then(|digits| parse_unsigned(&format!("0x{digits}")));
    let number = number.filter(|number| number.bit_len() <= 160);
    let number = number.ok_or_else(|| wrong(what, "an address such as \"0x10000\"", json))?;
    Ok(Address::from_slice(&number.to_be_bytes::<32>()[12..]))
}

/// Bytes, as Haskell shows them.
pub(super) fn bytes(what: &str, json: &Json) -> Result<Vec<u8>, Problem> {
    let bytes = json.as_str().and_then(haskell::read);
    bytes.ok_or_else(|| wrong(what, "bytes as Haskell shows them", json))
}

/// The tag of a value, and what it holds (null where it holds nothing).
pub(super) fn tagged(json: &Json) -> Result<(&str, &Json), Problem> {
    let tag = json.get("tag").and_then(Json::as_str);
    let tag = tag.ok_or_else(|| wrong("tag", "in an object, and text", json))?;
    Ok((tag, json.get("contents").unwrap_or(&Json::Null)))
}

/// The fields of something that has exactly so many.
pub(super) fn fields<'a, const N: usize>(
    what: &str,
    json: &'a Json,
) -> Result<[&'a Json; N], Problem> {
    let fields: Vec<&Json> = list(what, json)?.iter().collect();
    fields.try_into().map_err(|_| wrong(what, &format!("a list of {N} parts"), json))
}

pub(super) fn list<'a>(what: &str, json: &'a Json) -> Result<&'a [Json], Problem> {
    json.as_array().map(Vec::as_slice).ok_or_else(|| wrong(what, "a list", json))
}

pub(super) fn wrong(what: &str, expected: &str, found: &Json) -> Problem {
    const SHOWN: usize = 60;
    let mut found = found.to_string();
    if let Some((end, _)) = found.char_indices().nth(SHOWN) {
        found.truncate(end);
        found.push('…');
    }
    Problem::Wrong { what: what.to_owned(), expected: expected.to_owned(), found }
}

fn word(ty: Type, word: U256, json: &Json) -> Result<(Type, Value), Problem> {
    if clamp(&ty, word) != word {
        return Err(wrong(&ty.to_string(), "in the range of its type", json));
    }
    Ok((ty, Value::Word(word)))
}

fn left_aligned(
    tag: &str,
    ty: Type,
    length: usize,
    literal: &Json,
) -> Result<(Type, Value), Problem> {
    let bytes = bytes(tag, literal)?;
    if bytes.len() != length {
        return Err(wrong(tag, "as long as it says", literal));
    }
    let mut word = [0; 32];
    word[..length].copy_from_slice(&bytes);
    Ok((ty, Value::Word(U256::from_be_bytes(word))))
}

fn elements(tag: &str, element: &Type, json: &Json) -> Result<Vec<Value>, Problem> {
    let values = list(tag, json)?.iter().map(|json| {
        let (ty, value) = read(json)?;
        if ty == *element { Ok(value) } else { Err(wrong(tag, "of elements of its type", json)) }
    });
    values.collect()
}

fn count(what: &str, json: &Json) -> Result<usize, Problem> {
    let count = json.as_u64().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| wrong(what, "a length", json))
}

fn bit_count(json: &Json) -> Result<u16, Problem> {
    let bits = json.as_u64().filter(|bits| (8..=256).contains(bits) && bits % 8 == 0);
    let bits = bits.and_then(|bits| u16::try_from(bits).ok());
    bits.ok_or_else(|| wrong("bits", "a multiple of 8 up to 256", json))
}

fn parse_unsigned(text: &str) -> Option<U256> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // The library skips underscores and takes an empty text for zero; Haskell does neither.
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| U256::from_str_radix(digits, radix).ok()).flatten()
}

/// A signed number, as the word that encodes it.
fn signed(json: &Json) -> Result<U256, Problem> {
    let number = match json {
        Json::String(text) => parse_signed(text.trim()),
        Json::Number(number) => number
            .as_i64()
            .and_then(|number| I256::try_from(number).ok())
            .or_else(|| number.as_u64().and_then(|number| I256::try_from(number).ok())),
        _ => None,
    };
    number.map(I256::into_raw).ok_or_else(|| wrong("AbiInt", "a number of at most 256 bits", json))
}

fn parse_signed(text: &str) -> Option<I256> {
    // Haskell puts brackets around what is below zero where it stands inside of something.
    let text = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text);
    match text.strip_prefix('-') {
        Some(digits) => {
            let size = parse_unsigned(digits.trim_start())?;
            I256::checked_from_sign_and_abs(alloy_primitives::Sign::Negative, size)
        }
        None => {
            I256::checked_from_sign_and_abs(alloy_primitives::Sign::Positive, parse_unsigned(text)?)
        }
    }
}

fn tag(tag: &'static str, contents: impl Into<Json>) -> Json {
    json!({"contents": contents.into(), "tag": tag})
}

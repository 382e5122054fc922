//! Arguments in Echidna's JSON encoding: `{"tag":"AbiUInt","contents":[256,"42"]}`.
//!
//! Each value carries its type, so a call is matched to its function by argument types, not by argument count.

use alloy_primitives::{Address, I256, U256};
use serde_json::{Value as Json, json};

use super::format::CallProblem;
use super::haskell;
use crate::abi::{AbiType, AbiValue, clamp_to_type};

/// Reads a value and its declared type.
pub(super) fn read_value(json: &Json) -> Result<(AbiType, AbiValue), CallProblem> {
    let (tag, contents) = read_tagged(json)?;
    match tag {
        "AbiUInt" => {
            let [bits, number] = read_fields(tag, contents)?;
            check_word(AbiType::Uint(read_bit_count(bits)?), read_unsigned(tag, number)?, number)
        }
        "AbiInt" => {
            let [bits, number] = read_fields(tag, contents)?;
            check_word(AbiType::Int(read_bit_count(bits)?), read_signed(number)?, number)
        }
        "AbiAddress" => {
            Ok((AbiType::Address, AbiValue::from_address(read_address(tag, contents)?)))
        }
        "AbiBool" => {
            let flag =
                contents.as_bool().ok_or_else(|| invalid_value(tag, "true or false", contents))?;
            Ok((AbiType::Bool, AbiValue::Word(U256::from(flag))))
        }
        "AbiBytes" => {
            let [length, literal] = read_fields(tag, contents)?;
            let length = read_count(tag, length)?;
            let kind = u8::try_from(length).ok().filter(|length| (1..=32).contains(length));
            let kind = kind.ok_or_else(|| invalid_value(tag, "of 1 to 32 bytes", contents))?;
            read_left_aligned(tag, AbiType::FixedBytes(kind), length, literal)
        }
        "AbiFunction" => read_left_aligned(tag, AbiType::Function, 24, contents),
        "AbiBytesDynamic" => Ok((AbiType::Bytes, AbiValue::Bytes(read_bytes(tag, contents)?))),
        "AbiString" => Ok((AbiType::String, AbiValue::Bytes(read_bytes(tag, contents)?))),
        "AbiArrayDynamic" => {
            let [element, values] = read_fields(tag, contents)?;
            let element = read_type(element)?;
            let values = read_elements(tag, &element, values)?;
            Ok((AbiType::Array(Box::new(element)), AbiValue::List(values)))
        }
        "AbiArray" => {
            let [length, element, values] = read_fields(tag, contents)?;
            let (length, element) = (read_count(tag, length)?, read_type(element)?);
            let values = read_elements(tag, &element, values)?;
            if values.len() != length {
                return Err(invalid_value(tag, "of its declared length", contents));
            }
            Ok((AbiType::FixedArray(Box::new(element), length), AbiValue::List(values)))
        }
        "AbiTuple" => {
            let values =
                read_list(tag, contents)?.iter().map(read_value).collect::<Result<Vec<_>, _>>()?;
            let (types, values) = values.into_iter().unzip();
            Ok((AbiType::Tuple(types), AbiValue::List(values)))
        }
        _ => Err(CallProblem::UnknownTag(tag.to_owned())),
    }
}

/// Encodes a value with its type.
pub(super) fn write_value(ty: &AbiType, value: &AbiValue) -> Json {
    match (ty, value) {
        (AbiType::String, AbiValue::Bytes(bytes)) => {
            make_tagged("AbiString", haskell::format_literal(bytes))
        }
        (_, AbiValue::Bytes(bytes)) => {
            make_tagged("AbiBytesDynamic", haskell::format_literal(bytes))
        }
        (AbiType::Array(element), AbiValue::List(values)) => {
            let values: Vec<Json> =
                values.iter().map(|value| write_value(element, value)).collect();
            make_tagged("AbiArrayDynamic", json!([write_type(element), values]))
        }
        (AbiType::FixedArray(element, length), AbiValue::List(values)) => {
            let values: Vec<Json> =
                values.iter().map(|value| write_value(element, value)).collect();
            make_tagged("AbiArray", json!([length, write_type(element), values]))
        }
        (AbiType::Tuple(types), AbiValue::List(values)) => {
            let fields: Vec<Json> =
                types.iter().zip(values).map(|(ty, v)| write_value(ty, v)).collect();
            make_tagged("AbiTuple", fields)
        }
        (ty, AbiValue::Word(word)) => write_word(ty, *word),
        // Unreachable: a value has the shape of its type.
        (_, AbiValue::List(_)) => Json::Null,
    }
}

fn write_word(ty: &AbiType, word: U256) -> Json {
    let bytes = word.to_be_bytes::<32>();
    match ty {
        AbiType::Bool => make_tagged("AbiBool", !word.is_zero()),
        AbiType::Address => {
            make_tagged("AbiAddress", Address::from_slice(&bytes[12..]).to_string())
        }
        AbiType::Int(bits) => {
            make_tagged("AbiInt", json!([bits, I256::from_raw(word).to_string()]))
        }
        AbiType::Uint(bits) => make_tagged("AbiUInt", json!([bits, word.to_string()])),
        AbiType::FixedBytes(length) => {
            let bytes = &bytes[..usize::from(*length)];
            make_tagged("AbiBytes", json!([length, haskell::format_literal(bytes)]))
        }
        AbiType::Function => make_tagged("AbiFunction", haskell::format_literal(&bytes[..24])),
        // Unreachable: no other type is one word.
        _ => Json::Null,
    }
}

fn write_type(ty: &AbiType) -> Json {
    match ty {
        AbiType::Bool => json!({"tag": "AbiBoolType"}),
        AbiType::Address => json!({"tag": "AbiAddressType"}),
        AbiType::Bytes => json!({"tag": "AbiBytesDynamicType"}),
        AbiType::String => json!({"tag": "AbiStringType"}),
        AbiType::Function => json!({"tag": "AbiFunctionType"}),
        AbiType::Uint(bits) => make_tagged("AbiUIntType", *bits),
        AbiType::Int(bits) => make_tagged("AbiIntType", *bits),
        AbiType::FixedBytes(length) => make_tagged("AbiBytesType", *length),
        AbiType::Array(element) => make_tagged("AbiArrayDynamicType", write_type(element)),
        AbiType::FixedArray(element, length) => {
            make_tagged("AbiArrayType", json!([length, write_type(element)]))
        }
        AbiType::Tuple(fields) => {
            make_tagged("AbiTupleType", fields.iter().map(write_type).collect::<Vec<_>>())
        }
    }
}

fn read_type(json: &Json) -> Result<AbiType, CallProblem> {
    let (tag, contents) = read_tagged(json)?;
    Ok(match tag {
        "AbiBoolType" => AbiType::Bool,
        "AbiAddressType" => AbiType::Address,
        "AbiBytesDynamicType" => AbiType::Bytes,
        "AbiStringType" => AbiType::String,
        "AbiFunctionType" => AbiType::Function,
        "AbiUIntType" => AbiType::Uint(read_bit_count(contents)?),
        "AbiIntType" => AbiType::Int(read_bit_count(contents)?),
        "AbiBytesType" => {
            let length = u8::try_from(read_count(tag, contents)?).ok();
            let length = length.filter(|length| (1..=32).contains(length));
            AbiType::FixedBytes(
                length.ok_or_else(|| invalid_value(tag, "1 to 32 bytes", contents))?,
            )
        }
        "AbiArrayDynamicType" => AbiType::Array(Box::new(read_type(contents)?)),
        "AbiArrayType" => {
            let [length, element] = read_fields(tag, contents)?;
            AbiType::FixedArray(Box::new(read_type(element)?), read_count(tag, length)?)
        }
        "AbiTupleType" => AbiType::Tuple(
            read_list(tag, contents)?.iter().map(read_type).collect::<Result<_, _>>()?,
        ),
        _ => return Err(CallProblem::UnknownTag(tag.to_owned())),
    })
}

/// Reads an unsigned number: decimal or hex text as in Haskell, or a JSON number.
pub(super) fn read_unsigned(what: &str, json: &Json) -> Result<U256, CallProblem> {
    let number = match json {
        Json::String(text) => parse_unsigned(text.trim()),
        Json::Number(number) => number.as_u64().map(U256::from),
        _ => None,
    };
    number.ok_or_else(|| invalid_value(what, "a number of at most 256 bits", json))
}

/// Reads an address; like Echidna, hex with or without `0x`.
pub(super) fn read_address(what: &str, json: &Json) -> Result<Address, CallProblem> {
    let digits = json.as_str().map(|text| text.strip_prefix("0x").unwrap_or(text));
    let number = digits.and_then(|digits| parse_unsigned(&format!("0x{digits}")));
    let number = number.filter(|number| number.bit_len() <= 160);
    let number =
        number.ok_or_else(|| invalid_value(what, "an address such as \"0x10000\"", json))?;
    Ok(Address::from_slice(&number.to_be_bytes::<32>()[12..]))
}

/// Reads bytes from a Haskell string literal.
pub(super) fn read_bytes(what: &str, json: &Json) -> Result<Vec<u8>, CallProblem> {
    let bytes = json.as_str().and_then(haskell::parse_literal);
    bytes.ok_or_else(|| invalid_value(what, "a Haskell string literal", json))
}

/// Returns the tag of a value and its contents (null if absent).
pub(super) fn read_tagged(json: &Json) -> Result<(&str, &Json), CallProblem> {
    let tag = json.get("tag").and_then(Json::as_str);
    let tag = tag.ok_or_else(|| invalid_value("tag", "a string in an object", json))?;
    Ok((tag, json.get("contents").unwrap_or(&Json::Null)))
}

/// Reads a list of exactly `N` elements.
pub(super) fn read_fields<'a, const N: usize>(
    what: &str,
    json: &'a Json,
) -> Result<[&'a Json; N], CallProblem> {
    let fields: Vec<&Json> = read_list(what, json)?.iter().collect();
    fields.try_into().map_err(|_| invalid_value(what, &format!("a list of {N} elements"), json))
}

pub(super) fn read_list<'a>(what: &str, json: &'a Json) -> Result<&'a [Json], CallProblem> {
    json.as_array().map(Vec::as_slice).ok_or_else(|| invalid_value(what, "a list", json))
}

pub(super) fn invalid_value(what: &str, expected: &str, found: &Json) -> CallProblem {
    const SHOWN: usize = 60;
    let mut found = found.to_string();
    if let Some((end, _)) = found.char_indices().nth(SHOWN) {
        found.truncate(end);
        found.push('…');
    }
    CallProblem::Wrong { what: what.to_owned(), expected: expected.to_owned(), found }
}

fn check_word(ty: AbiType, word: U256, json: &Json) -> Result<(AbiType, AbiValue), CallProblem> {
    if clamp_to_type(&ty, word) != word {
        return Err(invalid_value(&ty.to_string(), "in the range of its type", json));
    }
    Ok((ty, AbiValue::Word(word)))
}

fn read_left_aligned(
    tag: &str,
    ty: AbiType,
    length: usize,
    literal: &Json,
) -> Result<(AbiType, AbiValue), CallProblem> {
    let bytes = read_bytes(tag, literal)?;
    if bytes.len() != length {
        return Err(invalid_value(tag, "of its declared length", literal));
    }
    let mut word = [0; 32];
    word[..length].copy_from_slice(&bytes);
    Ok((ty, AbiValue::Word(U256::from_be_bytes(word))))
}

fn read_elements(tag: &str, element: &AbiType, json: &Json) -> Result<Vec<AbiValue>, CallProblem> {
    let values = read_list(tag, json)?.iter().map(|json| {
        let (ty, value) = read_value(json)?;
        if ty == *element {
            Ok(value)
        } else {
            Err(invalid_value(tag, "of its declared element type", json))
        }
    });
    values.collect()
}

fn read_count(what: &str, json: &Json) -> Result<usize, CallProblem> {
    let count = json.as_u64().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| invalid_value(what, "a length", json))
}

fn read_bit_count(json: &Json) -> Result<u16, CallProblem> {
    let bits = json.as_u64().filter(|bits| (8..=256).contains(bits) && bits % 8 == 0);
    let bits = bits.and_then(|bits| u16::try_from(bits).ok());
    bits.ok_or_else(|| invalid_value("bits", "a multiple of 8 up to 256", json))
}

fn parse_unsigned(text: &str) -> Option<U256> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    // `from_str_radix` skips underscores and parses an empty text as zero; Haskell does neither.
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| U256::from_str_radix(digits, radix).ok()).flatten()
}

/// Reads a signed number as its two's complement word.
fn read_signed(json: &Json) -> Result<U256, CallProblem> {
    let number = match json {
        Json::String(text) => parse_signed(text.trim()),
        Json::Number(number) => number
            .as_i64()
            .and_then(|number| I256::try_from(number).ok())
            .or_else(|| number.as_u64().and_then(|number| I256::try_from(number).ok())),
        _ => None,
    };
    number
        .map(I256::into_raw)
        .ok_or_else(|| invalid_value("AbiInt", "a number of at most 256 bits", json))
}

fn parse_signed(text: &str) -> Option<I256> {
    // Haskell puts nested negative numbers in parentheses.
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

fn make_tagged(tag: &'static str, contents: impl Into<Json>) -> Json {
    json!({"contents": contents.into(), "tag": tag})
}

//! Cheat codes that parse JSON.

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::{Address, B256, I256, U256, hex};
use serde_json::Value;

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::values::{ValueKind, encode_value};
use super::{CheatcodeError, CheatcodeResult, encoding};
use crate::chain::NotRunReason;

/// Expands each type to the forms for one value and for an array.
macro_rules! json_forms {
    ($($name:literal $kind:ident;)*) => {
        &[
            ("parseJson(string)", |_, args| {
                let document = read_document(args)?;
                Ok(encoding::encode_bytes(&infer_value(&document)?.abi_encode()))
            }),
            ("parseJson(string,string)", |_, args| {
                let document = read_document(args)?;
                let value = infer_value(find_value(&document, &args.read_text()?)?)?;
                Ok(encoding::encode_bytes(&value.abi_encode()))
            }),
            ("keyExists(string,string)", |_, args| check_key(args)),
            ("keyExistsJson(string,string)", |_, args| check_key(args)),
            ("parseJsonKeys(string,string)", |_, args| list_keys(args)),
            $(
                (concat!($name, "(string,string)"), |_, args| {
                    let document = read_document(args)?;
                    let value = find_value(&document, &args.read_text()?)?;
                    Ok(encode_value(&convert_value(value, ValueKind::$kind)?))
                }),
                (concat!($name, "Array(string,string)"), |_, args| {
                    let document = read_document(args)?;
                    let value = find_value(&document, &args.read_text()?)?;
                    let Value::Array(items) = value else { return Err(no_match("an array")) };
                    let items = items.iter().map(|item| convert_value(item, ValueKind::$kind));
                    Ok(encode_value(&DynSolValue::Array(items.collect::<Result<_, _>>()?)))
                }),
            )*
        ]
    };
}

pub(super) const TABLE: &[CheatcodeEntry] = json_forms! {
    "parseJsonUint" Uint;
    "parseJsonInt" Int;
    "parseJsonBool" Bool;
    "parseJsonAddress" Address;
    "parseJsonString" String;
    "parseJsonBytes" Bytes;
    "parseJsonBytes32" Bytes32;
};

fn no_match(expected: &str) -> CheatcodeError {
    CheatcodeError::InvalidUse(format!("the value at this key is not {expected}"))
}

fn read_document(args: &mut CheatcodeArgs<'_>) -> Result<Value, CheatcodeError> {
    serde_json::from_slice(args.read_bytes()?)
        .map_err(|error| CheatcodeError::InvalidUse(format!("invalid JSON: {error}")))
}

fn check_key(args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let document = read_document(args)?;
    let found = resolve_path(&document, &parse_path(&args.read_text()?)?);
    Ok(encoding::encode_word(U256::from(found.is_some())))
}

fn list_keys(args: &mut CheatcodeArgs<'_>) -> CheatcodeResult {
    let document = read_document(args)?;
    let Value::Object(map) = find_value(&document, &args.read_text()?)? else {
        return Err(no_match("an object"));
    };
    let keys = map.keys().map(|key| DynSolValue::String(key.clone()));
    Ok(encode_value(&DynSolValue::Array(keys.collect())))
}

/// A step of a path.
enum PathStep {
    Key(String),
    Index(usize),
}

fn find_value<'a>(document: &'a Value, path: &str) -> Result<&'a Value, CheatcodeError> {
    resolve_path(document, &parse_path(path)?)
        .ok_or_else(|| CheatcodeError::InvalidUse(format!("key \"{path}\" does not exist")))
}

fn resolve_path<'a>(document: &'a Value, path: &[PathStep]) -> Option<&'a Value> {
    path.iter().try_fold(document, |value, step| match step {
        PathStep::Key(key) => value.get(key),
        PathStep::Index(index) => value.get(index),
    })
}

/// Parses a path such as `.a.b[0]`, `$.a['b']` or `$`. Other forms of JSONPath are not supported.
fn parse_path(path: &str) -> Result<Vec<PathStep>, CheatcodeError> {
    let unsupported = || {
        let text = format!("the JSON path `{path}` is not supported; use keys and indices");
        CheatcodeError::NotRun(NotRunReason::RefusedCheatcode(text))
    };
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let (inside, after) = after.split_once(']').ok_or_else(unsupported)?;
            let quoted = |quote| inside.strip_prefix(quote)?.strip_suffix(quote);
            steps.push(match quoted('"').or_else(|| quoted('\'')) {
                Some(key) => PathStep::Key(key.to_owned()),
                None => PathStep::Index(inside.parse().map_err(|_| unsupported())?),
            });
            rest = after;
            continue;
        }
        let after = rest.strip_prefix('.').unwrap_or(rest);
        let end = after.find(['.', '[']).unwrap_or(after.len());
        let key = &after[..end];
        let is_plain = |letter: char| letter.is_alphanumeric() || "_-$ ".contains(letter);
        if key.is_empty() || !key.chars().all(is_plain) {
            return Err(unsupported());
        }
        steps.push(PathStep::Key(key.to_owned()));
        rest = &after[end..];
    }
    Ok(steps)
}

/// Converts a value to the wanted type. Numbers may be strings.
fn convert_value(value: &Value, kind: ValueKind) -> Result<DynSolValue, CheatcodeError> {
    match value {
        Value::String(text) => kind.parse(text),
        Value::Number(_) if matches!(kind, ValueKind::Uint | ValueKind::Int) => {
            kind.parse(&exact_number(value)?)
        }
        Value::Bool(_) if kind == ValueKind::Bool => kind.parse(&value.to_string()),
        other if kind == ValueKind::String => kind.parse(&other.to_string()),
        _ => Err(no_match("of this type")),
    }
}

/// Returns the digits of an integer. Larger ones than fit in 64 bits were rounded when they were read.
fn exact_number(value: &Value) -> Result<String, CheatcodeError> {
    if value.is_u64() || value.is_i64() {
        return Ok(value.to_string());
    }
    let text = "numbers in JSON that need more than 64 bits, or have a fraction, are not supported";
    Err(CheatcodeError::NotRun(NotRunReason::RefusedCheatcode(text.to_owned())))
}

/// Returns a value with the type that forge infers: objects are tuples with sorted keys, and strings in hex are addresses,
/// words or bytes by their length.
fn infer_value(value: &Value) -> Result<DynSolValue, CheatcodeError> {
    Ok(match value {
        Value::Null => DynSolValue::FixedBytes(B256::ZERO, 32),
        Value::Bool(flag) => DynSolValue::Bool(*flag),
        Value::Number(_) => {
            let digits = exact_number(value)?;
            match digits.parse::<I256>() {
                Ok(number) if number.is_negative() => DynSolValue::Int(number, 256),
                _ => ValueKind::Uint.parse(&digits)?,
            }
        }
        Value::String(text) => infer_text(text),
        Value::Array(items) => {
            DynSolValue::Array(items.iter().map(infer_value).collect::<Result<_, _>>()?)
        }
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            let fields = fields.into_iter().map(|(_, value)| infer_value(value));
            DynSolValue::Tuple(fields.collect::<Result<_, _>>()?)
        }
    })
}

fn infer_text(text: &str) -> DynSolValue {
    let bytes = text.strip_prefix("0x").and_then(|digits| hex::decode(digits).ok());
    match bytes {
        Some(bytes) if bytes.len() == 20 => DynSolValue::Address(Address::from_slice(&bytes)),
        Some(bytes) if bytes.len() == 32 => DynSolValue::FixedBytes(B256::from_slice(&bytes), 32),
        Some(bytes) => DynSolValue::Bytes(bytes),
        None => DynSolValue::String(text.to_owned()),
    }
}

//! Text format of one call sequence, as Echidna reads and writes it.
//!
//! ```json
//! [{"call":{"contents":["f",[{"contents":[256,"42"],"tag":"AbiUInt"}]],"tag":"SolCall"},
//!   "delay":["0x…0","0x…2"],"dst":"0x…","gas":12500000,"gasprice":"0x…0","src":"0x…","value":"0x…0"}]
//! ```
//!
//! Files of Echidna 2.0 and older name the fields `_call`, `_src`, `_gas'` and so on; they are read but not written. Gas
//! is not read: the limit belongs to the campaign, not to the sequence.

use alloy_primitives::{Address, U256};
use serde_json::{Map, Value as Json, json};

use super::value::{
    invalid_value, read_address, read_bytes, read_fields, read_list, read_tagged, read_unsigned,
};
use crate::abi::AbiType;
use crate::call::{CallDelay, CallPayload, SequenceCall};
use crate::target::FuzzTarget;

/// Maximum calls of one sequence; Echidna's default is 100.
pub const MAX_CALLS: usize = 100_000;

/// Error of parsing a sequence.
#[derive(Debug, thiserror::Error)]
pub enum SequenceFormatError {
    #[error("invalid JSON")]
    Json(#[from] serde_json::Error),
    #[error("expected a list of calls")]
    NotAList,
    #[error("sequence has {0} calls; the limit is {MAX_CALLS}")]
    TooLong(usize),
    /// A call that cannot be read; `number` counts from 1.
    #[error("call {number}: {problem}")]
    Call { number: usize, problem: CallProblem },
}

/// Reason for which a call cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallProblem {
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{what}` must be {expected}, not {found}")]
    Wrong { what: String, expected: String, found: String },
    #[error("unknown tag `{0}`")]
    UnknownTag(String),
    #[error("the contracts under test have no function `{0}`")]
    UnknownFunction(String),
    #[error("contract creation is not supported in sequences")]
    Creation,
}

impl SequenceFormatError {
    /// Returns true if the text is a valid sequence that this target cannot run.
    pub fn is_foreign(&self) -> bool {
        match self {
            SequenceFormatError::Call { problem, .. } => {
                matches!(problem, CallProblem::UnknownFunction(_) | CallProblem::Creation)
            }
            _ => false,
        }
    }
}

/// Parses a sequence.
///
/// A function is first looked up at the address of the call, then anywhere: a corpus stays usable when its contract is
/// deployed at another address.
pub fn parse_sequence(
    text: &str,
    target: &FuzzTarget,
) -> Result<Vec<SequenceCall>, SequenceFormatError> {
    let json: Json = serde_json::from_str(text)?;
    let calls = json.as_array().ok_or(SequenceFormatError::NotAList)?;
    if calls.len() > MAX_CALLS {
        return Err(SequenceFormatError::TooLong(calls.len()));
    }
    let calls = calls.iter().enumerate().map(|(index, json)| {
        read_call(json, target)
            .map_err(|problem| SequenceFormatError::Call { number: index + 1, problem })
    });
    calls.collect()
}

/// Serializes a sequence. `gas` is the limit of each call, which Echidna requires.
pub fn serialize_sequence(calls: &[SequenceCall], target: &FuzzTarget, gas: u64) -> String {
    Json::Array(calls.iter().map(|call| write_call(call, target, gas)).collect()).to_string()
}

fn read_call(json: &Json, target: &FuzzTarget) -> Result<SequenceCall, CallProblem> {
    let object = json.as_object().ok_or_else(|| invalid_value("call", "an object", json))?;
    let field = |name, legacy| get_field(object, name, legacy);
    let [seconds, blocks] = read_fields("delay", field("delay", "_delay")?)?;
    let price = field("gasprice", "_gasprice'")?;
    let mut call = SequenceCall {
        payload: CallPayload::WaitOnly,
        from: read_address("src", field("src", "_src")?)?,
        to: read_address("dst", field("dst", "_dst")?)?,
        value: read_unsigned("value", field("value", "_value")?)?,
        gas_price: u128::try_from(read_unsigned("gasprice", price)?)
            .map_err(|_| invalid_value("gasprice", "a number of at most 128 bits", price))?,
        delay: CallDelay { seconds: read_delay(seconds)?, blocks: read_delay(blocks)? },
    };
    (call.payload, call.to) = read_call_body(field("call", "_call")?, call.to, target)?;
    Ok(call)
}

fn read_call_body(
    json: &Json,
    to: Address,
    target: &FuzzTarget,
) -> Result<(CallPayload, Address), CallProblem> {
    let (tag, contents) = read_tagged(json)?;
    match tag {
        "SolCall" => {
            let [name, args] = read_fields(tag, contents)?;
            let name = name
                .as_str()
                .ok_or_else(|| invalid_value(tag, "a name and arguments", contents))?;
            read_function(name, read_list(tag, args)?, to, target)
        }
        "SolCalldata" => Ok((CallPayload::Data(read_bytes(tag, contents)?), to)),
        "NoCall" => Ok((CallPayload::WaitOnly, to)),
        "SolCreate" => Err(CallProblem::Creation),
        _ => Err(CallProblem::UnknownTag(tag.to_owned())),
    }
}

fn read_function(
    name: &str,
    args: &[Json],
    to: Address,
    target: &FuzzTarget,
) -> Result<(CallPayload, Address), CallProblem> {
    if name.is_empty() && args.is_empty() {
        // Echidna calls `fallback` and `receive` like this.
        return Ok((CallPayload::Data(Vec::new()), to));
    }
    let args = args.iter().map(super::value::read_value).collect::<Result<Vec<_>, _>>()?;
    let (types, args): (Vec<AbiType>, Vec<_>) = args.into_iter().unzip();
    let signature = format!("{name}{}", AbiType::Tuple(types));
    let found = target
        .find_function(&signature, Some(to))
        .or_else(|| target.find_function(&signature, None));
    let function = found.ok_or(CallProblem::UnknownFunction(signature))?;
    // A contract that a sequence creates has no address of its own.
    let known = target.function(function).address;
    let address = if known.is_zero() { to } else { known };
    Ok((CallPayload::Function { function, args }, address))
}

fn write_call(call: &SequenceCall, target: &FuzzTarget, gas: u64) -> Json {
    json!({
        "call": write_call_body(&call.payload, target),
        "delay": [format_word(U256::from(call.delay.seconds)), format_word(U256::from(call.delay.blocks))],
        "dst": call.to.to_string(),
        "gas": gas,
        "gasprice": format_word(U256::from(call.gas_price)),
        "src": call.from.to_string(),
        "value": format_word(call.value),
    })
}

fn write_call_body(what: &CallPayload, target: &FuzzTarget) -> Json {
    match what {
        CallPayload::Function { function, args } => {
            let function = target.function(*function);
            let args = function.inputs.iter().zip(args);
            let args: Vec<Json> =
                args.map(|(ty, arg)| super::value::write_value(ty, arg)).collect();
            json!({"contents": [function.name, args], "tag": "SolCall"})
        }
        CallPayload::Data(data) if data.is_empty() => {
            json!({"contents": ["", []], "tag": "SolCall"})
        }
        CallPayload::Data(data) => {
            json!({"contents": super::haskell::format_literal(data), "tag": "SolCalldata"})
        }
        CallPayload::WaitOnly => json!({"tag": "NoCall"}),
    }
}

/// Formats a number as Echidna's EVM writes words.
fn format_word(number: U256) -> String {
    format!("{number:#066x}")
}

fn read_delay(json: &Json) -> Result<u64, CallProblem> {
    u64::try_from(read_unsigned("delay", json)?)
        .map_err(|_| invalid_value("delay", "a number of at most 64 bits", json))
}

fn get_field<'a>(
    object: &'a Map<String, Json>,
    name: &'static str,
    legacy: &str,
) -> Result<&'a Json, CallProblem> {
    object.get(name).or_else(|| object.get(legacy)).ok_or(CallProblem::Missing(name))
}

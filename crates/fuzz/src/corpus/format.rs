//! One sequence as the text of a file, as Echidna reads and writes it.
//!
//! ```json
//! [{"call":{"contents":["f",[{"contents":[256,"42"],"tag":"AbiUInt"}]],"tag":"SolCall"},
//!   "delay":["0x…0","0x…2"],"dst":"0x…","gas":12500000,"gasprice":"0x…0","src":"0x…","value":"0x…0"}]
//! ```
//!
//! Files of Echidna 2.0 and older name the fields `_call`, `_src`, `_gas'` and so on; they are read, not written. Gas is
//! not kept: the limit belongs to the campaign, not to the sequence.

use alloy_primitives::{Address, U256};
use serde_json::{Map, Value as Json, json};

use super::value::{address, bytes, fields, list, read as read_value, tagged, unsigned, wrong};
use crate::abi::Type;
use crate::call::{Call, Delay, What};
use crate::target::Target;

/// Calls of one sequence; Echidna's default is a hundred, and more than this is no sequence that somebody fuzzed.
pub const MAX_CALLS: usize = 100_000;

/// A text that is no sequence for the target.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    #[error("the text is not JSON")]
    Json(#[from] serde_json::Error),
    #[error("the text is not a list of calls")]
    NotAList,
    #[error("there are {0} calls, and no more than {MAX_CALLS} are read")]
    TooLong(usize),
    /// Numbers begin at 1.
    #[error("call {number}: {problem}")]
    Call { number: usize, problem: Problem },
}

/// What is wrong with a call.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{what}` must be {expected}, not {found}")]
    Wrong { what: String, expected: String, found: String },
    #[error("`{0}` is no tag that Echidna writes")]
    UnknownTag(String),
    #[error("`{0}` is no function of the contracts under test")]
    UnknownFunction(String),
    #[error("it creates a contract, which sequences cannot do here")]
    Creation,
}

impl FormatError {
    /// True if the text is a sequence, but none that this target can run.
    pub fn is_foreign(&self) -> bool {
        match self {
            FormatError::Call { problem, .. } => {
                matches!(problem, Problem::UnknownFunction(_) | Problem::Creation)
            }
            _ => false,
        }
    }
}

/// Reads a sequence.
///
/// A function is first looked for at the address that the call names, then anywhere: a corpus stays of use when its
/// contract is deployed elsewhere.
pub fn read(text: &str, target: &Target) -> Result<Vec<Call>, FormatError> {
    let json: Json = serde_json::from_str(text)?;
    let calls = json.as_array().ok_or(FormatError::NotAList)?;
    if calls.len() > MAX_CALLS {
        return Err(FormatError::TooLong(calls.len()));
    }
    let calls = calls.iter().enumerate().map(|(index, json)| {
        read_call(json, target).map_err(|problem| FormatError::Call { number: index + 1, problem })
    });
    calls.collect()
}

/// Writes a sequence. `gas` is what each call may use; Echidna wants to be told.
pub fn write(calls: &[Call], target: &Target, gas: u64) -> String {
    Json::Array(calls.iter().map(|call| write_call(call, target, gas)).collect()).to_string()
}

fn read_call(json: &Json, target: &Target) -> Result<Call, Problem> {
    let object = json.as_object().ok_or_else(|| wrong("call", "an object", json))?;
    let field = |name, legacy| field(object, name, legacy);
    let [seconds, blocks] = fields("delay", field("delay", "_delay")?)?;
    let price = field("gasprice", "_gasprice'")?;
    let mut call = Call {
        what: What::Nothing,
        from: address("src", field("src", "_src")?)?,
        to: address("dst", field("dst", "_dst")?)?,
        value: unsigned("value", field("value", "_value")?)?,
        gas_price: u128::try_from(unsigned("gasprice", price)?)
            .map_err(|_| wrong("gasprice", "of at most 128 bits", price))?,
        delay: Delay { seconds: time(seconds)?, blocks: time(blocks)? },
    };
    (call.what, call.to) = read_what(field("call", "_call")?, call.to, target)?;
    Ok(call)
}

fn read_what(json: &Json, to: Address, target: &Target) -> Result<(What, Address), Problem> {
    let (tag, contents) = tagged(json)?;
    match tag {
        "SolCall" => {
            let [name, args] = fields(tag, contents)?;
            let name = name.as_str().ok_or_else(|| wrong(tag, "a name and arguments", contents))?;
            read_function(name, list(tag, args)?, to, target)
        }
        "SolCalldata" => Ok((What::Data(bytes(tag, contents)?), to)),
        "NoCall" => Ok((What::Nothing, to)),
        "SolCreate" => Err(Problem::Creation),
        _ => Err(Problem::UnknownTag(tag.to_owned())),
    }
}

fn read_function(
    name: &str,
    args: &[Json],
    to: Address,
    target: &Target,
) -> Result<(What, Address), Problem> {
    if name.is_empty() && args.is_empty() {
        // This is how Echidna calls `fallback` and `receive`.
        return Ok((What::Data(Vec::new()), to));
    }
    let args = args.iter().map(read_value).collect::<Result<Vec<_>, _>>()?;
    let (types, args): (Vec<Type>, Vec<_>) = args.into_iter().unzip();
    let signature = format!("{name}{}", Type::Tuple(types));
    let found = target.find(&signature, Some(to)).or_else(|| target.find(&signature, None));
    let function = found.ok_or(Problem::UnknownFunction(signature))?;
    Ok((What::Function { function, args }, target.function(function).address))
}

fn write_call(call: &Call, target: &Target, gas: u64) -> Json {
    json!({
        "call": write_what(&call.what, target),
        "delay": [word(U256::from(call.delay.seconds)), word(U256::from(call.delay.blocks))],
        "dst": call.to.to_string(),
        "gas": gas,
        "gasprice": word(U256::from(call.gas_price)),
        "src": call.from.to_string(),
        "value": word(call.value),
    })
}

fn write_what(what: &What, target: &Target) -> Json {
    match what {
        What::Function { function, args } => {
            let function = target.function(*function);
            let args = function.inputs.iter().zip(args);
            let args: Vec<Json> = args.map(|(ty, arg)| super::value::write(ty, arg)).collect();
            json!({"contents": [function.name, args], "tag": "SolCall"})
        }
        What::Data(data) if data.is_empty() => json!({"contents": ["", []], "tag": "SolCall"}),
        What::Data(data) => {
            json!({"contents": super::haskell::show(data), "tag": "SolCalldata"})
        }
        What::Nothing => json!({"tag": "NoCall"}),
    }
}

/// A number as Echidna's EVM writes words.
fn word(number: U256) -> String {
    format!("{number:#066x}")
}

fn time(json: &Json) -> Result<u64, Problem> {
    u64::try_from(unsigned("delay", json)?).map_err(|_| wrong("delay", "of at most 64 bits", json))
}

fn field<'a>(
    object: &'a Map<String, Json>,
    name: &'static str,
    legacy: &str,
) -> Result<&'a Json, Problem> {
    object.get(name).or_else(|| object.get(legacy)).ok_or(Problem::Missing(name))
}

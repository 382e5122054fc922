//! What one call did, decoded: the calls within it, what came back, and the events.

use alloy_primitives::{Address, B256, Bytes, U256, hex};

use super::names::Names;
use crate::abi::{self, Type, Value, text};
use crate::chain::{CHEAT_ERROR, Emitted, Frame, FrameKind, InstructionResult};

/// Frames that are told of one call; a contract can make thousands.
const MAX_FRAMES: usize = 1000;
/// Events that are told of one call.
const MAX_EVENTS: usize = 200;
/// Bytes that are shown of what has no type.
const MAX_BYTES: usize = 68;

const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];

/// What one call did.
#[derive(Clone, Debug)]
pub struct Trace {
    /// In the order in which they began; the first is the call itself.
    pub frames: Vec<Told>,
    pub events: Vec<Event>,
    /// Frames and events that are not told.
    pub frames_left_out: usize,
    pub events_left_out: usize,
}

/// A frame.
#[derive(Clone, Debug)]
pub struct Told {
    pub depth: usize,
    pub kind: &'static str,
    pub from: Address,
    pub to: Option<Address>,
    /// Where the code comes from, if not from the account that is called.
    pub code: Option<Address>,
    pub contract: Option<String>,
    pub function: Option<String>,
    /// None where the types are not known.
    pub arguments: Option<Vec<String>>,
    pub value: U256,
    pub input: Bytes,
    pub output: Bytes,
    pub end: End,
    pub gas: u64,
}

/// How a frame ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With the values, where their types are known.
    Returned(Option<Vec<String>>),
    Failed(String),
    /// The whole call ended before it.
    Unknown,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub contract: Option<String>,
    pub address: Address,
    pub name: String,
    /// None where the bytes are not of the type. Of an indexed value that takes more than a word only the hash is there.
    pub values: Vec<Option<String>>,
}

impl Trace {
    pub(super) fn new(names: &mut Names<'_>, frames: &[Frame], emitted: &[Emitted]) -> Self {
        names.learn(frames);
        let names = &*names;
        let events = emitted.iter().take(MAX_EVENTS).filter_map(|it| event(names, it));
        Self {
            frames: frames.iter().take(MAX_FRAMES).map(|frame| told(names, frame)).collect(),
            events: events.collect(),
            frames_left_out: frames.len().saturating_sub(MAX_FRAMES),
            events_left_out: emitted.len().saturating_sub(MAX_EVENTS),
        }
    }
}

fn told(names: &Names<'_>, frame: &Frame) -> Told {
    let function = names.function(frame);
    let arguments = function
        .and_then(|function| values(&function.inputs, frame.input.get(4..).unwrap_or_default()));
    let end = match frame.result {
        None => End::Unknown,
        Some(result) if result.is_ok() => {
            let outputs = function.filter(|it| !it.outputs.is_empty()).map(|it| &it.outputs[..]);
            End::Returned(outputs.and_then(|outputs| values(outputs, &frame.output)))
        }
        Some(result) => End::Failed(reason(names, frame, result)),
    };
    Told {
        depth: frame.depth,
        kind: kind(frame.kind),
        from: frame.from,
        to: frame.to,
        code: frame.code,
        contract: names.contract(frame),
        // A name without arguments would be a guess.
        function: function.filter(|_| arguments.is_some()).map(|function| function.name.clone()),
        arguments,
        value: frame.value,
        input: frame.input.clone(),
        output: frame.output.clone(),
        end,
        gas: frame.gas_used,
    }
}

fn kind(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Call => "call",
        FrameKind::CallCode => "callcode",
        FrameKind::DelegateCall => "delegatecall",
        FrameKind::StaticCall => "staticcall",
        FrameKind::Create => "create",
        FrameKind::Create2 => "create2",
    }
}

fn values(types: &[Type], data: &[u8]) -> Option<Vec<String>> {
    let values = abi::decode(types, data)?;
    Some(types.iter().zip(&values).map(|(ty, value)| text::value(ty, value)).collect())
}

fn event(names: &Names<'_>, emitted: &Emitted) -> Option<Event> {
    let event = names.event(emitted)?;
    let in_data = event.inputs.iter().filter(|(_, is_indexed)| !is_indexed);
    let types: Vec<_> = in_data.map(|(ty, _)| ty.clone()).collect();
    let mut decoded = values(&types, &emitted.data).unwrap_or_default().into_iter();
    let mut topics = emitted.indexed.iter();
    let value = |(ty, is_indexed): &(Type, bool)| match is_indexed {
        true => topics.next().and_then(|topic| indexed(ty, topic)),
        false => decoded.next(),
    };
    Some(Event {
        contract: names.at(emitted.address),
        address: emitted.address,
        name: event.name.clone(),
        values: event.inputs.iter().map(value).collect(),
    })
}

/// A topic holds a word as it is, and of all else the hash.
fn indexed(ty: &Type, topic: &B256) -> Option<String> {
    match ty.is_word() {
        true => values(std::slice::from_ref(ty), topic.as_slice())?.pop(),
        false => Some(format!("hash {topic:#x}")),
    }
}

/// Why a frame failed, as far as it says.
fn reason(names: &Names<'_>, frame: &Frame, result: InstructionResult) -> String {
    match result {
        InstructionResult::Revert => said(names, frame),
        InstructionResult::OutOfGas
        | InstructionResult::MemoryOOG
        | InstructionResult::MemoryLimitOOG
        | InstructionResult::PrecompileOOG
        | InstructionResult::InvalidOperandOOG => "ran out of gas".to_owned(),
        InstructionResult::InvalidFEOpcode => "ran the invalid instruction".to_owned(),
        InstructionResult::OutOfFunds => "failed: the sender has too little".to_owned(),
        InstructionResult::CallTooDeep => "failed: too many calls within calls".to_owned(),
        other => format!("failed: {other:?}"),
    }
}

fn said(names: &Names<'_>, frame: &Frame) -> String {
    let output = &frame.output;
    let Some((selector, data)) = output.split_first_chunk::<4>() else {
        return match output.is_empty() {
            true => "reverted without a reason".to_owned(),
            false => format!("reverted with {}", short(output)),
        };
    };
    let message = [ERROR, CHEAT_ERROR].contains(selector).then(|| values(&[Type::String], data));
    if let Some([message]) = message.flatten().as_deref() {
        return format!("reverted: {message}");
    }
    if let (PANIC, Some([Value::Word(code)])) =
        (*selector, abi::decode(&[Type::Uint(256)], data).as_deref())
    {
        return format!("panicked: {} (0x{code:02x})", panic(*code));
    }
    let custom = names.error(frame).and_then(|error| {
        let values = abi::decode(&error.inputs, data)?;
        Some(text::call(&error.name, &error.inputs, &values))
    });
    match custom {
        Some(custom) => format!("reverted: {custom}"),
        None => format!("reverted with {}", short(output)),
    }
}

/// What Solidity means by a code.
fn panic(code: U256) -> &'static str {
    match code.saturating_to::<u64>() {
        0x01 => "an assertion failed",
        0x11 => "arithmetic overflowed",
        0x12 => "division by zero",
        0x21 => "no such value of the enum",
        0x22 => "storage is damaged",
        0x31 => "pop of an empty array",
        0x32 => "index out of bounds",
        0x41 => "too much memory",
        0x51 => "call of an internal function that is not set",
        _ => "an unknown code",
    }
}

/// The beginning of some bytes, and how many they are.
pub(super) fn short(bytes: &[u8]) -> String {
    let shown = hex::encode_prefixed(&bytes[..bytes.len().min(MAX_BYTES)]);
    if bytes.len() > MAX_BYTES { format!("{shown}… ({} bytes)", bytes.len()) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_indexed_value_is_told_or_else_its_hash() {
        let number = |number: u64| B256::from(U256::from(number));
        let told = |ty: &str, topic| indexed(&Type::parse(ty).unwrap(), &topic);
        assert_eq!(told("uint256", number(7)).as_deref(), Some("7"));
        assert_eq!(told("bool", number(1)).as_deref(), Some("true"));
        let address = "0x0000000000000000000000000000000000010000";
        assert_eq!(told("address", number(0x10000)).as_deref(), Some(address));
        let hash = format!("hash 0x{}1", "0".repeat(63));
        for ty in ["string", "bytes", "uint256[]", "uint8[2]", "(uint256,bool)"] {
            assert_eq!(told(ty, number(1)).as_deref(), Some(&*hash), "{ty}");
        }
    }
}

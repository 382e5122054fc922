//! Decodes one call: its subcalls, return values and events.

use alloy_primitives::{Address, B256, Bytes, U256, hex};

use super::names::NameResolver;
use crate::abi::{self, AbiType, AbiValue, text};
use crate::chain::{
    CHEATCODE_ADDRESS, CHEATCODE_ERROR_SELECTOR, CallFrame, FrameKind, InstructionResult,
    WatchedEvent,
};

/// Maximum decoded frames per call; a contract can make thousands.
const MAX_FRAMES: usize = 1000;
/// Maximum decoded events per call.
const MAX_EVENTS: usize = 200;
/// Maximum bytes shown of data without a known type.
const MAX_BYTES: usize = 68;

/// Cheat codes with the URL of a node as an argument, which often contains an API key.
const WITH_URL: [&str; 2] = ["createFork", "createSelectFork"];
/// Beginning of the names of cheat codes that return environment variables.
const OF_ENVIRONMENT: &str = "env";
/// Stands for values that may be secrets.
const HIDDEN: &str = "…";

const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];

/// Decoded trace of one call.
#[derive(Clone, Debug)]
pub struct CallTrace {
    /// In the order in which they began; the first is the call itself.
    pub frames: Vec<TracedFrame>,
    pub events: Vec<TracedEvent>,
    /// Numbers of omitted frames and events.
    pub frames_left_out: usize,
    pub events_left_out: usize,
}

/// A decoded frame.
#[derive(Clone, Debug)]
pub struct TracedFrame {
    pub depth: usize,
    pub kind: &'static str,
    pub from: Address,
    pub to: Option<Address>,
    /// Account that the code comes from, if it is not the called account.
    pub code: Option<Address>,
    pub contract: Option<String>,
    pub function: Option<String>,
    /// None if the types are unknown.
    pub arguments: Option<Vec<String>>,
    pub value: U256,
    pub input: Bytes,
    pub output: Bytes,
    pub end: FrameEnd,
    pub gas: u64,
}

/// Outcome of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameEnd {
    /// With the decoded values, if their types are known.
    Returned(Option<Vec<String>>),
    Failed(String),
    /// The transaction was aborted before the frame ended.
    Unknown,
}

/// A decoded event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedEvent {
    pub contract: Option<String>,
    pub address: Address,
    pub name: String,
    /// None if the data does not match the type. An indexed value of more than a word is shown as its hash.
    pub values: Vec<Option<String>>,
}

impl CallTrace {
    pub(super) fn new(
        names: &mut NameResolver<'_>,
        frames: &[CallFrame],
        emitted: &[WatchedEvent],
    ) -> Self {
        names.record_created(frames);
        let names = &*names;
        let events = emitted.iter().take(MAX_EVENTS).filter_map(|it| decode_event(names, it));
        Self {
            frames: frames
                .iter()
                .take(MAX_FRAMES)
                .map(|frame| decode_frame(names, frame))
                .collect(),
            events: events.collect(),
            frames_left_out: frames.len().saturating_sub(MAX_FRAMES),
            events_left_out: emitted.len().saturating_sub(MAX_EVENTS),
        }
    }
}

fn decode_frame(names: &NameResolver<'_>, frame: &CallFrame) -> TracedFrame {
    let function = names.find_function(frame);
    let cheat = function.filter(|_| frame.code.or(frame.to) == Some(CHEATCODE_ADDRESS));
    let hides_arguments = cheat.is_some_and(|it| WITH_URL.contains(&it.name.as_str()));
    let hides_output = cheat.is_some_and(|it| it.name.starts_with(OF_ENVIRONMENT));
    let arguments = function.and_then(|function| {
        decode_values(&function.inputs, frame.input.get(4..).unwrap_or_default())
    });
    let arguments = match hides_arguments {
        true => Some(vec![HIDDEN.to_owned()]),
        false => arguments,
    };
    let end = match frame.result {
        None => FrameEnd::Unknown,
        Some(result) if result.is_ok() && hides_output => {
            FrameEnd::Returned(Some(vec![HIDDEN.to_owned()]))
        }
        Some(result) if result.is_ok() => {
            let outputs = function.filter(|it| !it.outputs.is_empty()).map(|it| &it.outputs[..]);
            FrameEnd::Returned(outputs.and_then(|outputs| decode_values(outputs, &frame.output)))
        }
        Some(result) => FrameEnd::Failed(describe_failure(names, frame, result)),
    };
    TracedFrame {
        depth: frame.depth,
        kind: frame_kind_name(frame.kind),
        from: frame.from,
        to: frame.to,
        code: frame.code,
        contract: names.contract_name(frame),
        // Without arguments the selector match may be wrong.
        function: function.filter(|_| arguments.is_some()).map(|function| function.name.clone()),
        arguments,
        value: frame.value,
        input: if hides_arguments { Bytes::new() } else { frame.input.clone() },
        output: if hides_output { Bytes::new() } else { frame.output.clone() },
        end,
        gas: frame.gas_used,
    }
}

fn frame_kind_name(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Call => "call",
        FrameKind::CallCode => "callcode",
        FrameKind::DelegateCall => "delegatecall",
        FrameKind::StaticCall => "staticcall",
        FrameKind::Create => "create",
        FrameKind::Create2 => "create2",
    }
}

fn decode_values(types: &[AbiType], data: &[u8]) -> Option<Vec<String>> {
    let values = abi::decode_values(types, data)?;
    Some(types.iter().zip(&values).map(|(ty, value)| text::format_value(ty, value)).collect())
}

fn decode_event(names: &NameResolver<'_>, emitted: &WatchedEvent) -> Option<TracedEvent> {
    let event = names.find_event(emitted)?;
    let in_data = event.inputs.iter().filter(|(_, is_indexed)| !is_indexed);
    let types: Vec<_> = in_data.map(|(ty, _)| ty.clone()).collect();
    let mut decoded = decode_values(&types, &emitted.data).unwrap_or_default().into_iter();
    let mut topics = emitted.indexed.iter();
    let value = |(ty, is_indexed): &(AbiType, bool)| match is_indexed {
        true => topics.next().and_then(|topic| decode_indexed(ty, topic)),
        false => decoded.next(),
    };
    Some(TracedEvent {
        contract: names.name_at(emitted.address),
        address: emitted.address,
        name: event.name.clone(),
        values: event.inputs.iter().map(value).collect(),
    })
}

/// Decodes a topic: a word is stored as is, any other type as its hash.
fn decode_indexed(ty: &AbiType, topic: &B256) -> Option<String> {
    match ty.is_word() {
        true => decode_values(std::slice::from_ref(ty), topic.as_slice())?.pop(),
        false => Some(format!("hash {topic:#x}")),
    }
}

/// Describes the failure of a frame.
fn describe_failure(
    names: &NameResolver<'_>,
    frame: &CallFrame,
    result: InstructionResult,
) -> String {
    match result {
        InstructionResult::Revert => {
            describe_revert(names, frame.code.or(frame.to).unwrap_or_default(), &frame.output)
        }
        other => describe_abort(other),
    }
}

/// Describes the failure of a call that did not revert itself.
pub(super) fn describe_abort(result: InstructionResult) -> String {
    match result {
        InstructionResult::OutOfGas
        | InstructionResult::MemoryOOG
        | InstructionResult::MemoryLimitOOG
        | InstructionResult::PrecompileOOG
        | InstructionResult::InvalidOperandOOG => "ran out of gas".to_owned(),
        InstructionResult::InvalidFEOpcode => "executed the invalid opcode".to_owned(),
        InstructionResult::OutOfFunds => "failed: insufficient balance".to_owned(),
        InstructionResult::CallTooDeep => "failed: call depth limit reached".to_owned(),
        other => format!("failed: {other:?}"),
    }
}

/// Describes the revert data of a contract.
pub(super) fn describe_revert(names: &NameResolver<'_>, at: Address, output: &[u8]) -> String {
    let Some((selector, data)) = output.split_first_chunk::<4>() else {
        return match output.is_empty() {
            true => "reverted without a reason".to_owned(),
            false => format!("reverted with {}", format_short(output)),
        };
    };
    let message = [ERROR, CHEATCODE_ERROR_SELECTOR]
        .contains(selector)
        .then(|| decode_values(&[AbiType::String], data));
    if let Some([message]) = message.flatten().as_deref() {
        return format!("reverted: {message}");
    }
    if let (PANIC, Some([AbiValue::Word(code)])) =
        (*selector, abi::decode_values(&[AbiType::Uint(256)], data).as_deref())
    {
        return format!("panicked: {} (0x{code:02x})", describe_panic(*code));
    }
    let custom = names.find_error(at, selector).and_then(|error| {
        let values = abi::decode_values(&error.inputs, data)?;
        Some(text::format_call(&error.name, &error.inputs, &values))
    });
    match custom {
        Some(custom) => format!("reverted: {custom}"),
        None => format!("reverted with {}", format_short(output)),
    }
}

/// Describes a Solidity panic code.
fn describe_panic(code: U256) -> &'static str {
    match code.saturating_to::<u64>() {
        0x01 => "an assertion failed",
        0x11 => "arithmetic overflowed",
        0x12 => "division by zero",
        0x21 => "invalid enum value",
        0x22 => "corrupt storage",
        0x31 => "pop of an empty array",
        0x32 => "index out of bounds",
        0x41 => "too much memory allocated",
        0x51 => "call of an uninitialized internal function",
        _ => "unknown panic code",
    }
}

/// Formats bytes in hex, truncated with their length.
pub(super) fn format_short(bytes: &[u8]) -> String {
    let shown = hex::encode_prefixed(&bytes[..bytes.len().min(MAX_BYTES)]);
    if bytes.len() > MAX_BYTES { format!("{shown}… ({} bytes)", bytes.len()) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexed_value_is_decoded_or_shown_as_hash() {
        let number = |number: u64| B256::from(U256::from(number));
        let decoded = |ty: &str, topic| decode_indexed(&AbiType::parse(ty).unwrap(), &topic);
        assert_eq!(decoded("uint256", number(7)).as_deref(), Some("7"));
        assert_eq!(decoded("bool", number(1)).as_deref(), Some("true"));
        let address = "0x0000000000000000000000000000000000010000";
        assert_eq!(decoded("address", number(0x10000)).as_deref(), Some(address));
        let hash = format!("hash 0x{}1", "0".repeat(63));
        for ty in ["string", "bytes", "uint256[]", "uint8[2]", "(uint256,bool)"] {
            assert_eq!(decoded(ty, number(1)).as_deref(), Some(&*hash), "{ty}");
        }
    }
}

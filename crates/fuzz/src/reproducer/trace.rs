//! The frames of a call as lines: who called what with which arguments, and what came back.

use alloy_primitives::{Address, Bytes};

use crate::abi::{self, Type, Value, text};
use crate::chain::{CHEATS, Frame, FrameKind, InstructionResult, Part};
use crate::target::{Function, Target};

/// Bytes of input and output that are shown of a frame whose types are not known.
const MAX_BYTES: usize = 68;

/// One line for each frame, indented by its depth, and one for what it gave back.
pub fn lines(target: &Target, frames: &[Frame]) -> Vec<String> {
    let mut lines = Vec::new();
    for frame in frames {
        let indent = "  ".repeat(frame.depth);
        let function = function(target, frame);
        lines.push(format!("{indent}{}", called(target, frame, function)));
        lines.push(format!("{indent}  {}", returned(frame, function)));
    }
    lines
}

fn called(target: &Target, frame: &Frame, function: Option<&Function>) -> String {
    let kind = match frame.kind {
        FrameKind::Call => "",
        FrameKind::CallCode => "callcode ",
        FrameKind::DelegateCall => "delegatecall ",
        FrameKind::StaticCall => "staticcall ",
        FrameKind::Create => "new ",
        FrameKind::Create2 => "new (create2) ",
    };
    let value =
        if frame.value.is_zero() { String::new() } else { format!("{{value: {}}}", frame.value) };
    if matches!(frame.kind, FrameKind::Create | FrameKind::Create2) {
        let known = target.codes.find(Part::Creation, &frame.input);
        let name = known.map(|index| target.codes.known()[index].contract);
        let name = name.map_or("a contract", |contract| &target.build.contracts[contract].name);
        let place = frame.to.map_or_else(String::new, |address| format!(" at {address}"));
        return format!("{kind}{name}{value}{place}");
    }
    let to = frame.code.or(frame.to).map_or_else(String::new, |address| name(target, address));
    let arguments = function.and_then(|function| {
        let values = abi::decode(&function.inputs, frame.input.get(4..)?)?;
        Some(text::call(&function.name, &function.inputs, &values))
    });
    let call = arguments.unwrap_or_else(|| format!("({})", short(&frame.input)));
    format!("{kind}{to}.{call}{value}")
}

fn returned(frame: &Frame, function: Option<&Function>) -> String {
    let gas = frame.gas_used;
    let Some(result) = frame.result else { return format!("did not end ({gas} gas)") };
    if result.is_ok() {
        let values = function.and_then(|function| {
            let values = abi::decode(&function.outputs, &frame.output)?;
            Some(tuple(&function.outputs, &values))
        });
        let shown = values.unwrap_or_else(|| match frame.kind {
            FrameKind::Create | FrameKind::Create2 => format!("{} bytes", frame.output.len()),
            _ if frame.output.is_empty() => "()".to_owned(),
            _ => short(&frame.output),
        });
        return format!("returned {shown} ({gas} gas)");
    }
    let why = match result {
        InstructionResult::Revert => reason(&frame.output),
        other => format!("{other:?}"),
    };
    format!("failed: {why} ({gas} gas)")
}

/// What a revert says.
fn reason(output: &Bytes) -> String {
    const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
    let message = output
        .strip_prefix(&ERROR)
        .and_then(|data| abi::decode(&[Type::String], data))
        .and_then(|values| Some(text::value(&Type::String, values.first()?)));
    match message {
        Some(message) => message,
        None if output.is_empty() => "no reason".to_owned(),
        None => short(output),
    }
}

fn tuple(types: &[Type], values: &[Value]) -> String {
    text::call("", types, values)
}

fn function<'a>(target: &'a Target, frame: &Frame) -> Option<&'a Function> {
    let address = frame.code.or(frame.to)?;
    let selector = frame.input.get(..4)?;
    let is_meant =
        |function: &&Function| function.address == address && function.selector == selector;
    target.functions.iter().find(is_meant)
}

fn name(target: &Target, address: Address) -> String {
    if address == CHEATS {
        return "vm".to_owned();
    }
    let deployed = target.contracts.iter().find(|deployed| deployed.address == address);
    deployed.map_or_else(|| address.to_string(), |deployed| deployed.name.clone())
}

fn short(bytes: &[u8]) -> String {
    let shown =
        text::value(&Type::Bytes, &Value::Bytes(bytes[..bytes.len().min(MAX_BYTES)].to_vec()));
    if bytes.len() > MAX_BYTES { format!("{shown}… ({} bytes)", bytes.len()) } else { shown }
}

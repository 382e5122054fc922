//! Formats a sequence as lines: `transfer(0x…, 100)  from: 0x… value: 1 wait: 10 s, 2 blocks`.
//!
//! Lines contain only printable characters, regardless of the arguments.

use std::fmt::Write as _;

use crate::abi::text;
use crate::call::{CallPayload, SequenceCall};
use crate::target::FuzzTarget;

/// Formats a sequence, one line per call.
pub fn format_sequence(calls: &[SequenceCall], target: &FuzzTarget) -> Vec<String> {
    calls.iter().map(|call| format_line(call, target)).collect()
}

/// Formats a call with its sender, value, gas price and delay.
pub fn format_line(call: &SequenceCall, target: &FuzzTarget) -> String {
    let mut out = self::format_call(call, target);
    if call.payload != CallPayload::WaitOnly {
        let _ = write!(out, "  from: {}", call.from);
        if !call.value.is_zero() {
            let _ = write!(out, " value: {}", call.value);
        }
        if call.gas_price != 0 {
            let _ = write!(out, " gas price: {}", call.gas_price);
        }
    }
    if !call.delay.is_zero() {
        let gap = if call.payload == CallPayload::WaitOnly { " " } else { "" };
        let blocks = if call.delay.blocks == 1 { "block" } else { "blocks" };
        let _ = write!(out, "{gap} wait: {} s, {} {blocks}", call.delay.seconds, call.delay.blocks);
    }
    out
}

/// Formats the call alone; its contract is named unless there is only one.
pub fn format_call(call: &SequenceCall, target: &FuzzTarget) -> String {
    let bare = match &call.payload {
        CallPayload::Function { function, args } => {
            let function = target.function(*function);
            text::format_call(&function.name, &function.inputs, args)
        }
        CallPayload::Data(data) if data.is_empty() => "*fallback*()".to_owned(),
        CallPayload::Data(data) => {
            format!("*fallback*({})", alloy_primitives::hex::encode_prefixed(data))
        }
        CallPayload::WaitOnly => return "*wait*".to_owned(),
    };
    match target.contracts.as_slice() {
        [only] if only.address == call.to => bare,
        contracts => match contracts.iter().find(|deployed| deployed.address == call.to) {
            Some(deployed) => format!("{}.{bare}", deployed.name),
            None => format!("{}.{bare}", call.to),
        },
    }
}

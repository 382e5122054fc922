//! A sequence as lines: `transfer(0x…, 100)  from: 0x… value: 1 wait: 10 s, 2 blocks`.
//!
//! Each line is of printable characters only, whatever the arguments are.

use std::fmt::Write as _;

use crate::abi::text;
use crate::call::{Call, What};
use crate::target::Target;

/// The sequence, a line for each call.
pub fn lines(calls: &[Call], target: &Target) -> Vec<String> {
    calls.iter().map(|call| line(call, target)).collect()
}

/// A call with who makes it, what goes with it, and what goes by before it.
pub fn line(call: &Call, target: &Target) -> String {
    let mut out = self::call(call, target);
    if call.what != What::Nothing {
        let _ = write!(out, "  from: {}", call.from);
        if !call.value.is_zero() {
            let _ = write!(out, " value: {}", call.value);
        }
        if call.gas_price != 0 {
            let _ = write!(out, " gas price: {}", call.gas_price);
        }
    }
    if !call.delay.is_none() {
        let gap = if call.what == What::Nothing { " " } else { "" };
        let blocks = if call.delay.blocks == 1 { "block" } else { "blocks" };
        let _ = write!(out, "{gap} wait: {} s, {} {blocks}", call.delay.seconds, call.delay.blocks);
    }
    out
}

/// The call alone, with its contract unless there is only one.
pub fn call(call: &Call, target: &Target) -> String {
    let bare = match &call.what {
        What::Function { function, args } => {
            let function = target.function(*function);
            text::call(&function.name, &function.inputs, args)
        }
        What::Data(data) if data.is_empty() => "*fallback*()".to_owned(),
        What::Data(data) => {
            format!("*fallback*({})", alloy_primitives::hex::encode_prefixed(data))
        }
        What::Nothing => return "*wait*".to_owned(),
    };
    match target.contracts.as_slice() {
        [only] if only.address == call.to => bare,
        contracts => match contracts.iter().find(|deployed| deployed.address == call.to) {
            Some(deployed) => format!("{}.{bare}", deployed.name),
            None => format!("{}.{bare}", call.to),
        },
    }
}

//! Formats calls and addresses the way agents read and write them.
//!
//! A formatted function call can be injected again verbatim. Names and strings come from untrusted smart contracts,
//! so the output is bounded and contains only visible characters.

use alloy_primitives::{Address, hex};
use fuzz::call::{CallPayload, SequenceCall};
use fuzz::script::ScriptStep;
use fuzz::target::FuzzTarget;

/// Maximum bytes of a formatted call, because arguments can have any length.
const MAX_TEXT_BYTES: usize = 4096;
/// Maximum number of names that an error lists.
const MAX_NAMES: usize = 50;

/// Formats a call as `transfer(0x…, 100)`. Calldata that matches no function is `*fallback*(0x…)`, and a delay
/// without a call is `*wait*`.
pub(crate) fn format_call(call: &SequenceCall, target: &FuzzTarget) -> String {
    let text = match &call.payload {
        CallPayload::Function { .. } => {
            ScriptStep::from_call(call).map(|step| step.to_text(target)).unwrap_or_default()
        }
        CallPayload::Data(data) if data.is_empty() => "*fallback*()".to_owned(),
        CallPayload::Data(data) => format!("*fallback*({})", hex::encode_prefixed(data)),
        CallPayload::WaitOnly => "*wait*".to_owned(),
    };
    truncate_text(&text)
}

pub(crate) fn format_calls(calls: &[SequenceCall], target: &FuzzTarget) -> Vec<String> {
    calls.iter().map(|it| format_call(it, target)).collect()
}

/// Returns the canonical signature of the called function.
pub(crate) fn called_signature(call: &SequenceCall, target: &FuzzTarget) -> Option<String> {
    call.function().map(|function| target.function(function).signature.clone())
}

/// Formats an address in lower case with `0x`.
pub(crate) fn format_address(address: Address) -> String {
    format!("{address:#x}")
}

/// Returns the text on one line, truncated, with hidden characters made visible.
pub(crate) fn truncate_text(text: &str) -> String {
    let shown = contract::text::one_line(&text[..text.floor_char_boundary(MAX_TEXT_BYTES)]);
    if text.len() > MAX_TEXT_BYTES { format!("{shown}…") } else { shown }
}

/// Returns the first names, quoted and comma-separated, for an error message.
pub(crate) fn list_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names
        .iter()
        .take(MAX_NAMES)
        .map(|name| format!("`{}`", guard::display_path(name)))
        .collect();
    let more = names.len().saturating_sub(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

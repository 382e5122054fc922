//! Calls and addresses as agents read and write them.
//!
//! What is told of a call of a function can be injected again as it is. Names and strings come from contracts that anybody
//! may have written: what is shown is bounded and of visible characters.

use alloy_primitives::{Address, hex};
use fuzz::call::{Call, What};
use fuzz::script::Step;
use fuzz::target::Target;

/// Bytes of a call that are shown; arguments can be of any length.
const MAX_BYTES: usize = 4096;
/// Names that an error lists.
const MAX_NAMES: usize = 50;

/// `transfer(0x…, 100)`; `*fallback*(0x…)` for bytes that no function takes, `*wait*` where only time goes by.
pub(crate) fn call(call: &Call, target: &Target) -> String {
    let text = match &call.what {
        What::Function { .. } => Step::of(call).map(|step| step.text(target)).unwrap_or_default(),
        What::Data(data) if data.is_empty() => "*fallback*()".to_owned(),
        What::Data(data) => format!("*fallback*({})", hex::encode_prefixed(data)),
        What::Nothing => "*wait*".to_owned(),
    };
    bounded(&text)
}

pub(crate) fn calls(calls: &[Call], target: &Target) -> Vec<String> {
    calls.iter().map(|it| call(it, target)).collect()
}

/// The canonical signature of the function that is called.
pub(crate) fn function(call: &Call, target: &Target) -> Option<String> {
    call.function().map(|function| target.function(function).signature.clone())
}

/// In lower case, with `0x`.
pub(crate) fn address(address: Address) -> String {
    format!("{address:#x}")
}

/// Not without end, on one line, with hidden characters visible.
pub(crate) fn bounded(text: &str) -> String {
    let shown = contract::text::one_line(&text[..text.floor_char_boundary(MAX_BYTES)]);
    if text.len() > MAX_BYTES { format!("{shown}…") } else { shown }
}

/// Names for an error, quoted, the first few of them.
pub(crate) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> =
        names.iter().take(MAX_NAMES).map(|name| format!("`{}`", guard::shown(name))).collect();
    let more = names.len().saturating_sub(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

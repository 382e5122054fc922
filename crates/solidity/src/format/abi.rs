//! Parses ABIs, which older outputs store as a JSON string within the JSON.

use alloy_json_abi::JsonAbi;
use serde_json::value::RawValue;

use crate::MalformedContract;

/// Returns the ABI; a missing ABI is empty.
pub(super) fn parse_abi(raw: Option<&RawValue>) -> Result<JsonAbi, MalformedContract> {
    let Some(raw) = raw else { return Ok(JsonAbi::new()) };
    let text = raw.get();
    if text == "null" {
        return Ok(JsonAbi::new());
    }
    if text.starts_with('"') {
        let inner: String = serde_json::from_str(text).map_err(MalformedContract::Abi)?;
        return serde_json::from_str(&inner).map_err(MalformedContract::Abi);
    }
    serde_json::from_str(text).map_err(MalformedContract::Abi)
}

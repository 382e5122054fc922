//! ABIs, which older outputs hold as a JSON text within the JSON.

use alloy_json_abi::JsonAbi;
use serde_json::value::RawValue;

use crate::Malformed;

/// An ABI that is left out is empty.
pub(super) fn parse(raw: Option<&RawValue>) -> Result<JsonAbi, Malformed> {
    let Some(raw) = raw else { return Ok(JsonAbi::new()) };
    let text = raw.get();
    if text == "null" {
        return Ok(JsonAbi::new());
    }
    if text.starts_with('"') {
        let inner: String = serde_json::from_str(text).map_err(Malformed::Abi)?;
        return serde_json::from_str(&inner).map_err(Malformed::Abi);
    }
    serde_json::from_str(text).map_err(Malformed::Abi)
}

//! Parses a line into a message, or into the protocol error for an invalid line.

use rmcp::RoleServer;
use rmcp::model::ErrorCode;
use rmcp::service::RxJsonRpcMessage;
use serde_json::{Value, json};

/// The protocol error for a line that is not a message.
#[derive(Debug, PartialEq)]
pub(super) struct MessageFault {
    id: Value,
    code: ErrorCode,
    message: String,
}

/// Parses a line. Returns `None` for a valid message that the SDK has no type for and that must not be answered.
pub(super) fn parse_message(
    line: &[u8],
) -> Result<Option<RxJsonRpcMessage<RoleServer>>, MessageFault> {
    const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    serde_json::from_slice(line).map(Some).or_else(|_| explain_fault(line))
}

/// Returns the fault of a line that could not be parsed. The error of the first attempt is not reliable: it may concern
/// a valid JSON prefix of an invalid line.
fn explain_fault<T>(line: &[u8]) -> Result<Option<T>, MessageFault> {
    if let Err(error) = std::str::from_utf8(line) {
        return Err(MessageFault::invalid_utf8(error.valid_up_to()));
    }
    match serde_json::from_slice(line) {
        Ok(value) if wants_no_answer(&value) => Ok(None),
        Ok(value) => Err(MessageFault::invalid_message(value)),
        Err(error) => Err(MessageFault::invalid_json(&error)),
    }
}

/// Returns true for a notification or a response. JSON-RPC never answers these, even if they are invalid.
fn wants_no_answer(value: &Value) -> bool {
    let has = |key| value.get(key).is_some();
    let answers = has("result") || has("error");
    value["jsonrpc"] == "2.0"
        && if value["method"].is_string() { !has("id") && !answers } else { answers }
}

impl MessageFault {
    pub(super) fn too_long(limit: usize) -> Self {
        let message = format!("the line exceeds the limit of {limit} bytes per message");
        Self { id: Value::Null, code: ErrorCode::INVALID_REQUEST, message }
    }

    fn invalid_utf8(valid: usize) -> Self {
        let message = format!("invalid UTF-8 after the first {valid} bytes");
        Self { id: Value::Null, code: ErrorCode::PARSE_ERROR, message }
    }

    fn invalid_json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // Each message is a separate line, so the line number is always 1.
        let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
        let message = format!("invalid JSON: {reason} at column {}", error.column());
        Self { id: Value::Null, code: ErrorCode::PARSE_ERROR, message }
    }

    fn invalid_message(value: Value) -> Self {
        let message = if value.is_array() {
            "the line must be one JSON-RPC message; batches are not supported"
        } else {
            "the line must be a JSON-RPC message: an object with \"jsonrpc\": \"2.0\", a \"method\" and, for a request, \
             an \"id\" that is a string or an integer"
        };
        Self {
            id: request_id(value),
            code: ErrorCode::INVALID_REQUEST,
            message: message.to_owned(),
        }
    }

    /// Returns the reply without its line break.
    pub(super) fn to_reply(&self) -> Vec<u8> {
        let error = json!({"code": self.code.0, "message": self.message});
        // Not the SDK's type: it omits an unknown id, but JSON-RPC requires null.
        json!({"jsonrpc": "2.0", "id": self.id, "error": error}).to_string().into_bytes()
    }
}

/// Returns the request's id if it is valid, otherwise null.
fn request_id(mut value: Value) -> Value {
    match value.get_mut("id").map(Value::take) {
        Some(id) if id.is_string() || id.is_i64() => id,
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_line_is_a_message_or_a_fault_with_a_reply(line in "\\PC*|[\\[\\]{}\",:0-9a-z ]{0,40}") {
            if let Err(fault) = parse_message(line.as_bytes()) {
                let reply: Value = serde_json::from_slice(&fault.to_reply()).expect("a reply is JSON");
                let is_json = serde_json::from_str::<Value>(&line).is_ok();
                prop_assert_eq!(&reply["error"]["code"], &json!(if is_json { -32600 } else { -32700 }));
            }
        }
    }
}

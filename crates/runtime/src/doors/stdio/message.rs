//! A line as a message, or as the error that the protocol has for it.

use rmcp::RoleServer;
use rmcp::model::ErrorCode;
use rmcp::service::RxJsonRpcMessage;
use serde_json::{Value, json};

/// Why a line is no message, for the client.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    id: Value,
    code: ErrorCode,
    message: String,
}

/// None for what the SDK has no type for but that must not be answered.
pub(super) fn parse(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Fault> {
    const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    serde_json::from_slice(line).map(Some).or_else(|_| explain(line))
}

/// The error of the first attempt does not tell: it may be about a beginning that is JSON, of a line that is not.
fn explain<T>(line: &[u8]) -> Result<Option<T>, Fault> {
    if let Err(error) = std::str::from_utf8(line) {
        return Err(Fault::no_text(error.valid_up_to()));
    }
    match serde_json::from_slice(line) {
        Ok(value) if wants_no_answer(&value) => Ok(None),
        Ok(value) => Err(Fault::no_message(value)),
        Err(error) => Err(Fault::no_json(&error)),
    }
}

/// A notification or a response: JSON-RPC answers neither, whatever is wrong with it.
fn wants_no_answer(value: &Value) -> bool {
    let has = |key| value.get(key).is_some();
    let answers = has("result") || has("error");
    value["jsonrpc"] == "2.0"
        && if value["method"].is_string() { !has("id") && !answers } else { answers }
}

impl Fault {
    pub(super) fn too_long(limit: usize) -> Self {
        let message = format!("the line is longer than {limit} bytes, the limit of one message");
        Self { id: Value::Null, code: ErrorCode::INVALID_REQUEST, message }
    }

    fn no_text(valid: usize) -> Self {
        let message = format!("the line is not valid UTF-8 after its first {valid} bytes");
        Self { id: Value::Null, code: ErrorCode::PARSE_ERROR, message }
    }

    fn no_json(error: &serde_json::Error) -> Self {
        let text = error.to_string();
        // Each message is a line of its own, so its number says nothing.
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        let message = format!("the line is not valid JSON: {what} at column {}", error.column());
        Self { id: Value::Null, code: ErrorCode::PARSE_ERROR, message }
    }

    fn no_message(value: Value) -> Self {
        let message = if value.is_array() {
            "the line must be one JSON-RPC message; batches are not part of this protocol"
        } else {
            "the line must be a JSON-RPC message: an object with \"jsonrpc\": \"2.0\", a \"method\" and, for a request, \
             an \"id\" that is a string or a whole number"
        };
        Self {
            id: request_id(value),
            code: ErrorCode::INVALID_REQUEST,
            message: message.to_owned(),
        }
    }

    /// The reply, without its line break.
    pub(super) fn reply(&self) -> Vec<u8> {
        let error = json!({"code": self.code.0, "message": self.message});
        // Not the SDK's type, which leaves an unknown id out: JSON-RPC wants null.
        json!({"jsonrpc": "2.0", "id": self.id, "error": error}).to_string().into_bytes()
    }
}

/// The id that the client can match.
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
            if let Err(fault) = parse(line.as_bytes()) {
                let reply: Value = serde_json::from_slice(&fault.reply()).expect("a reply is JSON");
                let is_json = serde_json::from_str::<Value>(&line).is_ok();
                prop_assert_eq!(&reply["error"]["code"], &json!(if is_json { -32600 } else { -32700 }));
            }
        }
    }
}

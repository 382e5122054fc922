//! Parses a line into a message, or into the protocol error for an invalid line.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use rmcp::RoleServer;
use rmcp::model::{ClientRequest, ErrorCode, JsonRpcMessage, JsonRpcRequest};
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
    if let Some(call) = parse_tool_call(line) {
        return Ok(Some(call));
    }
    serde_json::from_slice(line).map(Some).or_else(|_| explain_fault(line))
}

/// Parses a tool call, the most frequent message. The SDK tries the types of all other requests first, and builds an error
/// for each of them. Returns `None` for other messages, and for a call that only the SDK can tell
/// from an invalid message: with a member `result` or `error`, which may be escaped.
fn parse_tool_call(line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
    static MARKERS: LazyLock<[Finder<'static>; 4]> =
        LazyLock::new(|| ["\"tools/call\"", "\"result\"", "\"error\"", "\\u"].map(Finder::new));
    let [method, unsuitable @ ..] = &*MARKERS;
    method.find(line)?;
    if unsuitable.iter().any(|marker| marker.find(line).is_some()) {
        return None;
    }
    let JsonRpcRequest { id, request, .. } = serde_json::from_slice(line).ok()?;
    Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(request), id))
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

    /// Returns the fault of a line with a key that [`contract::json::ReservedKeyScan`] finds.
    pub(super) fn reserved_key() -> Self {
        let message = "the line has a key that is reserved: $serde_json::private".to_owned();
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

    #[test]
    fn tool_calls_are_parsed_like_the_sdk_parses_them() {
        let params =
            r#""params":{"name":"t","arguments":{"a":"\n"},"_meta":{"progressToken":1,"x":{}}}"#;
        let calls = [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call",{params}}}"#),
            format!(r#"{{"id":"a","extra":[],{params},"method":"tools/call","jsonrpc":"2.0"}}"#),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#.to_owned(),
        ];
        for call in &calls {
            let parsed = parse_tool_call(call.as_bytes()).expect("a call");
            let sdk: RxJsonRpcMessage<RoleServer> = serde_json::from_str(call).expect("a message");
            let to_json = |message: RxJsonRpcMessage<RoleServer>| {
                serde_json::to_value(&message).expect("a JSON value")
            };
            assert_eq!(to_json(parsed), to_json(sdk));
        }
        let others = [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list",{params}}}"#),
            format!(r#"{{"jsonrpc":"2.0","method":"tools/call",{params}}}"#),
            format!(r#"{{"jsonrpc":"1.0","id":1,"method":"tools/call",{params}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":null,"method":"tools/call",{params}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call",{params}}}"#),
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{}},"method":"tools/call",{params}}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"err\u006fr":{{}},"method":"tools/call",{params}}}"#
            ),
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call",{params}}} x"#),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{}}}"#
                .to_owned(),
        ];
        for other in &others {
            assert!(parse_tool_call(other.as_bytes()).is_none(), "{other}");
        }
    }

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

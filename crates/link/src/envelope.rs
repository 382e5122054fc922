//! JSON-RPC envelopes: parses the outermost fields of incoming messages, and encodes outgoing messages.
//!
//! The values of `result`, `params` and `error` stay raw text here; their consumers parse them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The outermost fields of any JSON-RPC message.
#[derive(Deserialize)]
struct MessageFields<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// A message from the server, by kind.
pub(crate) enum IncomingMessage<'a> {
    /// `id` is `None` if it is not one of our request ids, or if an error response has none.
    Response {
        id: Option<u64>,
        outcome: ResponsePayload<'a>,
    },
    Request(ServerRequest<'a>),
    Notification {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
}

/// A request from the server to this client.
pub(crate) struct ServerRequest<'a> {
    pub(crate) id: &'a RawValue,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
}

/// The payload of a response.
pub(crate) enum ResponsePayload<'a> {
    Result(&'a RawValue),
    Error(&'a RawValue),
    /// Neither or both of `result` and `error`.
    Invalid,
}

/// Parses one message. Returns `None` if the text is not JSON-RPC 2.0.
pub(crate) fn parse_message(text: &[u8]) -> Option<IncomingMessage<'_>> {
    let members: MessageFields<'_> = serde_json::from_slice(text).ok()?;
    if members.jsonrpc != "2.0" {
        return None;
    }
    let MessageFields { id, method, params, result, error, .. } = members;
    match (method, id) {
        (Some(method), Some(id)) => {
            Some(IncomingMessage::Request(ServerRequest { id, method, params }))
        }
        (Some(method), None) => Some(IncomingMessage::Notification { method, params }),
        (None, id) => {
            let outcome = match (result, error) {
                (Some(result), None) => ResponsePayload::Result(result),
                (None, Some(error)) => ResponsePayload::Error(error),
                (None, None) if id.is_none() => return None,
                _ => ResponsePayload::Invalid,
            };
            Some(IncomingMessage::Response { id: id.and_then(parse_request_id), outcome })
        }
    }
}

/// Returns the id as a number. We send numbers, but some servers return them as strings.
fn parse_request_id(id: &RawValue) -> Option<u64> {
    id.get().trim_matches('"').parse().ok()
}

/// The `error` object of a response.
#[derive(Deserialize)]
pub(crate) struct JsonRpcError {
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
}

/// A request, or a notification if it has no id.
#[derive(Serialize)]
struct OutgoingMessage<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: P,
}

pub(crate) fn encode_request(id: u64, method: &str, params: impl Serialize) -> Vec<u8> {
    encode_message(&OutgoingMessage { jsonrpc: "2.0", id: Some(id), method, params })
}

pub(crate) fn encode_notification(method: &str, params: impl Serialize) -> Vec<u8> {
    encode_message(&OutgoingMessage { jsonrpc: "2.0", id: None, method, params })
}

pub(crate) fn encode_cancellation(id: u64) -> Vec<u8> {
    let params = serde_json::json!({ "requestId": id, "reason": "the caller no longer waits for the result" });
    encode_notification("notifications/cancelled", params)
}

/// A response to a server's request.
#[derive(Serialize)]
struct OutgoingResponse<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ServerRequestRefusal>,
}

/// The error sent in response to a server's request that is refused.
#[derive(Debug, Serialize)]
pub(crate) struct ServerRequestRefusal {
    pub(crate) code: i64,
    pub(crate) message: String,
}

pub(crate) fn encode_response(
    id: &RawValue,
    answer: Result<Value, ServerRequestRefusal>,
) -> Vec<u8> {
    let (result, error) = match answer {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    encode_message(&OutgoingResponse { jsonrpc: "2.0", id, result, error })
}

fn encode_message(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("outgoing messages have only string keys")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn describe_message(text: &str) -> String {
        match parse_message(text.as_bytes()) {
            None => "not JSON-RPC".to_owned(),
            Some(IncomingMessage::Response { id, outcome: ResponsePayload::Result(result) }) => {
                format!("result {id:?} {}", result.get())
            }
            Some(IncomingMessage::Response { id, outcome: ResponsePayload::Error(error) }) => {
                format!("error {id:?} {}", error.get())
            }
            Some(IncomingMessage::Response { id, outcome: ResponsePayload::Invalid }) => {
                format!("nothing {id:?}")
            }
            Some(IncomingMessage::Request(ServerRequest { id, method, .. })) => {
                format!("request {} {method}", id.get())
            }
            Some(IncomingMessage::Notification { method, .. }) => format!("note {method}"),
        }
    }

    #[test]
    fn recognizes_kinds_of_messages() {
        let kinds: Vec<String> = [
            r#"{"jsonrpc":"2.0","id":7,"result":{"z": 1.0, "a":[ ]}}"#,
            r#"{"result":null,"id":"7","jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#,
            r#"{"jsonrpc":"2.0","id":7.5,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":"a\u0062","method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/\u0070rogress","params":{}}"#,
            r#"{"jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"1.0","id":7,"result":{}}"#,
            r#"{"id":7,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"id":8,"result":{}}"#,
            r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{}} {}"#,
            "",
        ]
        .into_iter()
        .map(describe_message)
        .collect();
        insta::assert_snapshot!(kinds.join("\n"));
    }

    #[test]
    fn parses_deeply_nested_results_without_recursion() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        let text = format!(r#"{{"jsonrpc":"2.0","x":{deep},"id":7,"result":{deep}}}"#);
        assert!(describe_message(&text).starts_with("result Some(7) [[["));
    }

    proptest! {
        #[test]
        fn never_panics_on_arbitrary_text(text in ".*") {
            let _ = parse_message(text.as_bytes());
        }

        #[test]
        fn preserves_the_text_of_results(space in "[ \t]{0,3}", number in any::<u64>()) {
            let result = format!("{{{space}\"n\" :{space}{number}{space}}}");
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{space}{result}}}"#);
            prop_assert_eq!(describe_message(&text), format!("result Some(1) {result}"));
        }
    }
}

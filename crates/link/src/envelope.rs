//! JSON-RPC messages: the outermost members of those that come, the text of those that go.
//!
//! What is inside `result`, `params` and `error` stays text here; whoever it concerns parses it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Members<'a> {
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

pub(crate) enum Message<'a> {
    /// `id` is None where it is not one of ours, or where an error could not name it.
    Answer {
        id: Option<u64>,
        outcome: Outcome<'a>,
    },
    Request(Question<'a>),
    Note {
        method: Cow<'a, str>,
        params: Option<&'a RawValue>,
    },
}

/// A request of the server.
pub(crate) struct Question<'a> {
    pub(crate) id: &'a RawValue,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
}

pub(crate) enum Outcome<'a> {
    Result(&'a RawValue),
    Error(&'a RawValue),
    /// Neither `result` nor `error`.
    Nothing,
}

/// None: not JSON-RPC.
pub(crate) fn read(text: &[u8]) -> Option<Message<'_>> {
    let members: Members<'_> = serde_json::from_slice(text).ok()?;
    if members.jsonrpc != "2.0" {
        return None;
    }
    let Members { id, method, params, result, error, .. } = members;
    match (method, id) {
        (Some(method), Some(id)) => Some(Message::Request(Question { id, method, params })),
        (Some(method), None) => Some(Message::Note { method, params }),
        (None, id) => {
            let outcome = match (result, error) {
                (Some(result), None) => Outcome::Result(result),
                (None, Some(error)) => Outcome::Error(error),
                (None, None) if id.is_none() => return None,
                _ => Outcome::Nothing,
            };
            Some(Message::Answer { id: id.and_then(our_id), outcome })
        }
    }
}

/// We send numbers; some servers give them back as strings.
fn our_id(id: &RawValue) -> Option<u64> {
    id.get().trim_matches('"').parse().ok()
}

#[derive(Deserialize)]
pub(crate) struct Fault {
    pub(crate) code: i64,
    #[serde(default)]
    pub(crate) message: String,
}

#[derive(Serialize)]
struct Outgoing<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: P,
}

pub(crate) fn request(id: u64, method: &str, params: impl Serialize) -> Vec<u8> {
    write(&Outgoing { jsonrpc: "2.0", id: Some(id), method, params })
}

pub(crate) fn note(method: &str, params: impl Serialize) -> Vec<u8> {
    write(&Outgoing { jsonrpc: "2.0", id: None, method, params })
}

pub(crate) fn cancelled(id: u64) -> Vec<u8> {
    let params = serde_json::json!({ "requestId": id, "reason": "nobody waits for it any more" });
    note("notifications/cancelled", params)
}

#[derive(Serialize)]
struct Reply<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Refusal>,
}

/// Why we do not answer a server's request.
#[derive(Debug, Serialize)]
pub(crate) struct Refusal {
    pub(crate) code: i64,
    pub(crate) message: String,
}

pub(crate) fn reply(id: &RawValue, answer: Result<Value, Refusal>) -> Vec<u8> {
    let (result, error) = match answer {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    write(&Reply { jsonrpc: "2.0", id, result, error })
}

fn write(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("our messages have string keys only")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kind(text: &str) -> String {
        match read(text.as_bytes()) {
            None => "not JSON-RPC".to_owned(),
            Some(Message::Answer { id, outcome: Outcome::Result(result) }) => {
                format!("result {id:?} {}", result.get())
            }
            Some(Message::Answer { id, outcome: Outcome::Error(error) }) => {
                format!("error {id:?} {}", error.get())
            }
            Some(Message::Answer { id, outcome: Outcome::Nothing }) => format!("nothing {id:?}"),
            Some(Message::Request(Question { id, method, .. })) => {
                format!("request {} {method}", id.get())
            }
            Some(Message::Note { method, .. }) => format!("note {method}"),
        }
    }

    #[test]
    fn kinds() {
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
        .map(kind)
        .collect();
        insta::assert_snapshot!(kinds.join("\n"));
    }

    #[test]
    fn depth_is_no_danger_here() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        let text = format!(r#"{{"jsonrpc":"2.0","x":{deep},"id":7,"result":{deep}}}"#);
        assert!(kind(&text).starts_with("result Some(7) [[["));
    }

    proptest! {
        #[test]
        fn never_panics(text in ".*") {
            let _ = read(text.as_bytes());
        }

        /// The text of a result comes through as it was written.
        #[test]
        fn results_stay_as_they_are(space in "[ \t]{0,3}", number in any::<u64>()) {
            let result = format!("{{{space}\"n\" :{space}{number}{space}}}");
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{space}{result}}}"#);
            prop_assert_eq!(kind(&text), format!("result Some(1) {result}"));
        }
    }
}

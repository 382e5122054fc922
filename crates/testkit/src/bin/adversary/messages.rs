//! Outgoing messages as text. They are not serialized from parsed values, because those cannot hold some numbers, key
//! orders and nesting depths.

use crate::args::AdversaryEra;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Sends messages to a connection's stdout or to the response of one HTTP request. It closes when all clones are dropped.
#[derive(Clone, Debug)]
pub(crate) struct MessageSender(UnboundedSender<String>);

impl MessageSender {
    pub(crate) fn new() -> (Self, UnboundedReceiver<String>) {
        let (sender, receiver) = unbounded_channel();
        (Self(sender), receiver)
    }

    /// Sends one line unchanged; no-op if the receiver is gone.
    pub(crate) fn send_line(&self, line: impl Into<String>) {
        let _ = self.0.send(line.into());
    }

    pub(crate) fn send_notification(&self, method: &str, params: &Value) {
        self.send_line(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    pub(crate) fn send_reply(&self, id: &Value, reply: &RpcReply) {
        match reply {
            RpcReply::Result(result) => {
                self.send_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
            }
            RpcReply::Error(error) => self.send_line(error.to_response(id).to_string()),
            RpcReply::NoResponse => {}
        }
    }

    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// The reply to a request.
#[derive(Debug)]
pub(crate) enum RpcReply {
    /// The text of a JSON object.
    Result(String),
    Error(RpcError),
    /// No response, or it was sent already.
    NoResponse,
}

impl RpcReply {
    /// Returns the reply for the era. In the stateless era every result has a `resultType`.
    pub(crate) fn for_era(self, era: AdversaryEra) -> Self {
        match self {
            Self::Result(result)
                if era == AdversaryEra::Stateless && !result.starts_with(r#"{"resultType""#) =>
            {
                Self::Result(insert_first("resultType", &json!("complete"), &result))
            }
            other => other,
        }
    }
}

/// A JSON-RPC error.
#[derive(Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    pub(crate) fn to_response(&self, id: &Value) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

impl From<RpcError> for RpcReply {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

impl From<Value> for RpcReply {
    fn from(result: Value) -> Self {
        Self::Result(result.to_string())
    }
}

/// Returns the text of a JSON object with a member inserted before all others.
fn insert_first(key: &str, value: &Value, object: &str) -> String {
    let rest = object.trim_start().trim_start_matches('{');
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    format!("{{{}:{value}{comma}{rest}", json!(key))
}

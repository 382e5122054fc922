//! Messages as text. What is sent is written here by hand, so that a number, a key order or a nesting survives that no
//! parsed value could hold.

use crate::args::Era;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Where answers go: a connection's stdout, or the response of one HTTP request. It closes when all clones are gone.
#[derive(Clone, Debug)]
pub(crate) struct Outbox(UnboundedSender<String>);

impl Outbox {
    pub(crate) fn new() -> (Self, UnboundedReceiver<String>) {
        let (sender, receiver) = unbounded_channel();
        (Self(sender), receiver)
    }

    /// One line, whatever it holds. A reader that has gone is no concern of a server.
    pub(crate) fn say(&self, line: impl Into<String>) {
        let _ = self.0.send(line.into());
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    pub(crate) fn answer(&self, id: &Value, reply: &Reply) {
        match reply {
            Reply::Result(result) => {
                self.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
            }
            Reply::Error(error) => self.say(error.frame(id).to_string()),
            Reply::Nothing => {}
        }
    }

    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

#[derive(Debug)]
pub(crate) enum Reply {
    /// The text of a JSON object.
    Result(String),
    Error(Refusal),
    /// There is no answer, or it was sent already.
    Nothing,
}

impl Reply {
    /// In the stateless era every result says of which kind it is.
    pub(crate) fn in_era(self, era: Era) -> Self {
        match self {
            Self::Result(result)
                if era == Era::Stateless && !result.starts_with(r#"{"resultType""#) =>
            {
                Self::Result(with_first("resultType", &json!("complete"), &result))
            }
            other => other,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl Refusal {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    pub(crate) fn frame(&self, id: &Value) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self::Error(refusal)
    }
}

impl From<Value> for Reply {
    fn from(result: Value) -> Self {
        Self::Result(result.to_string())
    }
}

/// Puts a member in front of the others of an object's text.
fn with_first(key: &str, value: &Value, object: &str) -> String {
    let rest = object.trim_start().trim_start_matches('{');
    let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
    format!("{{{}:{value}{comma}{rest}", json!(key))
}

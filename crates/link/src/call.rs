//! A call as it goes to a server, and what comes back.

use std::sync::Arc;

use async_trait::async_trait;
use contract::Progress;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::LinkError;

pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

#[derive(Clone)]
pub struct Call<'a> {
    pub tool: &'a str,
    pub arguments: &'a Map<String, Value>,
    /// The tool's input schema as the server gave it; its `x-mcp-header` annotations become headers.
    pub input_schema: Option<&'a Value>,
    pub traceparent: Option<&'a str>,
    pub progress: Option<ProgressSink>,
    /// What the caller can be asked while the call runs.
    pub abilities: Abilities,
    /// Asks the caller, where the server asks over the open connection.
    pub asker: Option<Arc<dyn Asker>>,
    /// The second round of a call that ended in [`Turn::Ask`].
    pub resume: Option<Resume>,
}

impl<'a> Call<'a> {
    pub fn new(tool: &'a str, arguments: &'a Map<String, Value>) -> Self {
        Self {
            tool,
            arguments,
            input_schema: None,
            traceparent: None,
            progress: None,
            abilities: Abilities::default(),
            asker: None,
            resume: None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    pub elicitation: bool,
    pub sampling: bool,
    pub roots: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Resume {
    pub state: Option<String>,
    /// By the keys of [`Turn::Ask`].
    pub answers: Map<String, Value>,
}

/// Somebody who can be asked what a server wants to know.
#[async_trait]
pub trait Asker: Send + Sync {
    /// The result object of the request, or why there is none.
    async fn ask(&self, method: &str, params: Value) -> Result<Value, String>;
}

#[derive(Debug)]
pub enum Turn {
    Answer(Answer),
    /// The server wants answers before it goes on (`input_required`, since 2026-07-28).
    Ask {
        /// Key to `{method, params}`.
        requests: Map<String, Value>,
        state: Option<String>,
    },
}

#[derive(Debug)]
pub struct Answer {
    /// The text of `result` as it came.
    pub raw: Box<RawValue>,
    /// None if the server left it out.
    pub content: Option<Vec<Value>>,
    pub structured: Option<Value>,
    pub is_error: bool,
    /// Whether it says of which kind it is (`resultType`), as results do since 2026-07-28.
    pub is_typed: bool,
}

/// A call without a turn that can be used.
#[derive(Debug)]
pub struct Failed {
    pub error: LinkError,
    /// What came instead, if it was within the limit: the text of `result`. It is for people only.
    pub raw: Option<Box<RawValue>>,
}

impl From<LinkError> for Failed {
    fn from(error: LinkError) -> Self {
        Self { error, raw: None }
    }
}

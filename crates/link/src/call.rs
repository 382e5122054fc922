//! A tool call to a server and its outcome.

use std::sync::Arc;

use async_trait::async_trait;
use contract::Progress;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::ConnectionError;

/// Receives the progress notifications of a call.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// A tool call, as passed to [`Connection::call`](crate::Connection::call).
#[derive(Clone)]
pub struct UpstreamCall<'a> {
    pub tool: &'a str,
    pub arguments: &'a Map<String, Value>,
    /// The tool's input schema as the server sent it. Arguments with an `x-mcp-header` annotation are also sent as headers.
    pub input_schema: Option<&'a Value>,
    pub traceparent: Option<&'a str>,
    pub progress: Option<ProgressSink>,
    /// Requests that the caller can answer while the call runs.
    pub capabilities: CallerCapabilities,
    /// Relays requests that the server sends over the open connection to the caller.
    pub responder: Option<Arc<dyn ElicitationResponder>>,
    /// The input for the next round of a call that returned [`CallOutcome::InputRequired`].
    pub resume: Option<CallContinuation>,
}

impl<'a> UpstreamCall<'a> {
    /// Creates a call without progress, elicitation or continuation.
    pub fn new(tool: &'a str, arguments: &'a Map<String, Value>) -> Self {
        Self {
            tool,
            arguments,
            input_schema: None,
            traceparent: None,
            progress: None,
            capabilities: CallerCapabilities::default(),
            responder: None,
            resume: None,
        }
    }
}

/// Kinds of server requests that the caller can answer; sent to the server as client capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallerCapabilities {
    pub elicitation: bool,
    pub sampling: bool,
    pub roots: bool,
}

/// Input for the next round of a call that returned [`CallOutcome::InputRequired`].
#[derive(Clone, Debug, Default)]
pub struct CallContinuation {
    pub state: Option<String>,
    /// Responses by the keys of `requests` in [`CallOutcome::InputRequired`].
    pub answers: Map<String, Value>,
}

/// Answers the requests that a server sends during a call: elicitation, sampling and roots.
#[async_trait]
pub trait ElicitationResponder: Send + Sync {
    /// Returns the result object of the request.
    ///
    /// # Errors
    /// With the reason, if there is no response.
    async fn respond(&self, method: &str, params: Value) -> Result<Value, String>;
}

/// The outcome of one round of a call.
#[derive(Debug)]
pub enum CallOutcome {
    /// The final result.
    Complete(UpstreamResponse),
    /// The server requires input before it continues (`input_required`, since 2026-07-28).
    InputRequired {
        /// Maps each key to a `{method, params}` object.
        requests: Map<String, Value>,
        state: Option<String>,
    },
}

/// The final result of a call.
#[derive(Debug)]
pub struct UpstreamResponse {
    /// The text of `result` as the server sent it.
    pub raw: Box<RawValue>,
    /// `None` if the server omitted it.
    pub content: Option<Vec<Value>>,
    pub structured: Option<Value>,
    pub is_error: bool,
    /// Set if the result has a `resultType`, which is required since 2026-07-28.
    pub is_typed: bool,
}

/// A call that failed, or whose response cannot be used.
#[derive(Debug)]
pub struct CallFailure {
    pub error: ConnectionError,
    /// The text of `result`, if there was one within the size limit. For people only: it must not reach a model.
    pub raw: Option<Box<RawValue>>,
}

impl From<ConnectionError> for CallFailure {
    fn from(error: ConnectionError) -> Self {
        Self { error, raw: None }
    }
}

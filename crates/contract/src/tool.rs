//! The [`Tool`] trait: the interface that a tool implements.
//!
//! A tool is a plain blocking function on validated arguments. The pipeline chooses the thread, checks input and
//! output, and enforces limits; a tool never sees a protocol, a socket or a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::text::one_line;
use crate::{Contract, ErrorCode, SchemaViolation, ToolError};

/// The identity behind a call. Limits and approvals are bound to the principal; the other fields are informational.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The authenticated identity, or the transport of an unauthenticated caller: `token:ci`, `local`, `stdio`, `cli`.
    pub principal: Arc<str>,
    /// The client's self-reported `name/version`; never trusted.
    pub client: Option<Arc<str>>,
    /// Identifies related calls: the connection, or a handle that the client chose. It is not authenticated, so state per
    /// session is stored per principal and session.
    pub session: Option<Arc<str>>,
}

impl Caller {
    pub fn new(principal: &str) -> Self {
        Self { principal: principal.into(), client: None, session: None }
    }
}

/// Progress of a long call.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// The context of one call: caller, cancellation flag and progress sink.
#[derive(Clone)]
pub struct CallContext {
    pub caller: Caller,
    /// The caller's W3C trace context, for tools that call other servers.
    pub traceparent: Option<Arc<str>>,
    cancelled: Arc<AtomicBool>,
    progress: Option<ProgressSink>,
}

impl CallContext {
    pub fn new(caller: Caller) -> Self {
        Self { caller, traceparent: None, cancelled: Arc::default(), progress: None }
    }

    #[must_use]
    pub fn with_progress(mut self, sink: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(sink));
        self
    }

    /// Marks the call as cancelled: the time limit has passed, or the caller disconnected.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns an error if the call was cancelled. For loops and before side effects.
    pub fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.is_cancelled() {
            Err(ToolError::new(ErrorCode::Cancelled, "the call was cancelled before it finished"))
        } else {
            Ok(())
        }
    }

    /// Returns true if the caller receives progress reports.
    pub fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    /// Sends progress to the caller; no-op if the caller did not ask for it.
    pub fn report_progress(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink(progress);
        }
    }
}

/// A content block for clients to display; programs read [`ToolOutput::structured`].
#[derive(Clone, Debug, PartialEq)]
pub enum ContentBlock {
    Text(String),
    /// Any other MCP content block (image, audio, resource), in wire form.
    Block(Value),
}

impl ContentBlock {
    /// Returns the block in wire form.
    pub fn to_block(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Block(block) => block.clone(),
        }
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The object that the output schema describes.
    pub structured: Option<Value>,
    /// Content for display. If empty, clients get the JSON text of `structured`.
    pub content: Vec<ContentBlock>,
    /// If set, the tool itself reports an error. The output schema does not apply to such an answer.
    pub is_error: bool,
    /// The answer as an upstream sent it. It is forwarded unchanged if it satisfies its contract, and withheld otherwise.
    pub raw: Option<RawResult>,
    /// The content is the JSON text of `structured`, added by the pipeline. Tools leave it unset.
    pub has_derived_text: bool,
}

/// The result of a call as an upstream wrote it: the text of a JSON object without duplicate keys, and which of its
/// members are present. The transport adds the missing ones when it forwards the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawResult {
    pub text: Arc<str>,
    /// `resultType` is present; every result has it since revision 2026-07-28.
    pub has_type: bool,
    /// `content` is present; every tool result must have it.
    pub has_content: bool,
    /// `structuredContent` is present. An overlay contract may have derived the structured value from other content.
    pub has_structured: bool,
}

impl ToolOutput {
    /// Maximum characters of a tool's own message in an error message; `details` has the whole text.
    const MAX_MESSAGE_CHARS: usize = 300;

    /// Returns an output with structured content only.
    pub fn from_structured(value: Value) -> Self {
        Self { structured: Some(value), ..Self::default() }
    }

    /// Returns an output with one text block and no structured content.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::Text(text.into())], ..Self::default() }
    }

    /// Returns the error for transports that cannot represent an answer with `is_error`. Returns `None` if the call
    /// succeeded.
    pub fn to_tool_error(&self) -> Option<ToolError> {
        if !self.is_error {
            return None;
        }
        let text = self.content.iter().find_map(|content| match content {
            ContentBlock::Text(text) => Some(text.as_str()),
            ContentBlock::Block(block) => block.get("text").and_then(Value::as_str),
        });
        let message = match text {
            Some(text) => {
                let start: String = text.chars().take(Self::MAX_MESSAGE_CHARS).collect();
                format!("the tool reports an error: {}", one_line(&start))
            }
            None => "the tool reports an error".to_owned(),
        };
        let content: Vec<_> = self.content.iter().map(ContentBlock::to_block).collect();
        let mut error =
            ToolError::new(ErrorCode::ToolFailed, message).with_detail("content", content);
        if let Some(structured) = &self.structured {
            error = error.with_detail("structuredContent", structured.clone());
        }
        Some(error)
    }
}

/// A tool that can be called under a contract.
pub trait Tool: Send + Sync + 'static {
    fn contract(&self) -> &Arc<Contract>;

    /// Returns the error for a schema violation if the contract prescribes another code or message than the default.
    fn reword_violation(&self, violation: &SchemaViolation) -> Option<ToolError> {
        let _ = violation;
        None
    }

    /// Checks rules that a schema cannot express. Must be pure and fast: it runs before approval is requested, so that no
    /// person approves a call that is then refused.
    fn check_arguments(&self, arguments: &Value) -> Result<(), ToolError> {
        let _ = arguments;
        Ok(())
    }

    /// Runs the tool. The arguments satisfy the input schema and contain its defaults.
    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<ToolOutput, ToolError>;

    /// Returns the result if it is available without blocking: no disk, no lock, no network. It runs on the threads that
    /// serve connections, which saves two thread switches. Returns `None` if [`Tool::call`] must run on a blocking thread.
    fn call_now(
        &self,
        arguments: &Value,
        ctx: &CallContext,
    ) -> Option<Result<ToolOutput, ToolError>> {
        let _ = (arguments, ctx);
        None
    }
}

/// Parses validated arguments into the tool's own type.
///
/// Returns [`ErrorCode::InternalError`] if schema and type disagree, which is a defect of the tool.
pub fn parse_arguments<T: DeserializeOwned>(mut arguments: Value) -> Result<T, ToolError> {
    normalize_integral_floats(&mut arguments);
    serde_json::from_value(arguments).map_err(|_| {
        ToolError::new(
            ErrorCode::InternalError,
            "the tool cannot parse arguments that its input schema accepts",
        )
    })
}

/// Turns floats with integral values into integers: JSON Schema accepts `7.0` as an integer, serde does not.
fn normalize_integral_floats(value: &mut Value) {
    /// Largest magnitude up to which an `f64` represents every integer exactly (2^53).
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                && float.fract() == 0.0
                && float.abs() <= EXACT
            {
                #[expect(clippy::cast_possible_truncation, reason = "integral, and within bounds")]
                let whole = float as i64;
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_integral_floats),
        Value::Object(map) => map.values_mut().for_each(normalize_integral_floats),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Serializes a tool's own type as its structured output.
pub fn to_output<T: Serialize>(value: &T) -> Result<ToolOutput, ToolError> {
    serde_json::to_value(value).map(ToolOutput::from_structured).map_err(|_| {
        ToolError::new(ErrorCode::InternalError, "failed to serialize the result as JSON")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_integral_floats_as_integers() {
        let read = parse_arguments::<Vec<i64>>;
        assert_eq!(read(json!([7.0, -0.0, 7, 9e15])).unwrap(), [7, 0, 7, 9_000_000_000_000_000]);
        assert_eq!(parse_arguments::<Vec<f64>>(json!([7.0, 0.5])).unwrap(), [7.0, 0.5]);
        for bad in [json!([0.5]), json!([1e300])] {
            assert_eq!(read(bad).unwrap_err().code, ErrorCode::InternalError);
        }
    }

    #[test]
    fn failed_output_becomes_tool_failed_error() {
        assert_eq!(ToolOutput::from_text("fine").to_tool_error(), None);
        let words = format!("no such\nfile {}", "x".repeat(400));
        let output = ToolOutput {
            is_error: true,
            structured: Some(json!({"code": 2})),
            ..ToolOutput::from_text(words.clone())
        };
        let error = output.to_tool_error().unwrap();
        assert_eq!(error.code, ErrorCode::ToolFailed);
        assert!(error.message.starts_with("the tool reports an error: no such\\nfile xxx"));
        assert!(error.message.len() < 340, "{}", error.message);
        assert_eq!(error.details["content"], json!([{"type": "text", "text": words}]));
        assert_eq!(error.details["structuredContent"], json!({"code": 2}));
    }
}

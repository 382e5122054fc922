//! The [`Tool`] trait: all that somebody who offers a tool has to implement.
//!
//! A tool is a plain blocking function on validated arguments. Whoever runs it decides on which thread, checks its
//! input and output, and enforces its limits; a tool never sees a protocol, a socket or a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::text::one_line;
use crate::{Code, Contract, ToolError, Violation};

/// Who calls. Limits and approvals are bound to the principal; the rest informs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// What was authenticated, or the door that was used: `token:ci`, `local`, `stdio`, `cli`.
    pub principal: Arc<str>,
    /// What the client says it is, `name/version`; never trusted.
    pub client: Option<Arc<str>>,
    /// By which this caller's calls hang together: the connection, or a handle that the client chose. It proves nothing,
    /// so what is kept by session is kept by principal and session.
    pub session: Option<Arc<str>>,
}

impl Caller {
    pub fn new(principal: &str) -> Self {
        Self { principal: principal.into(), client: None, session: None }
    }
}

/// How far a long call has come.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// What surrounds one call: who asked, whether they still want it, and where progress goes.
#[derive(Clone)]
pub struct CallContext {
    pub caller: Caller,
    /// The caller's W3C trace context, for tools that call others.
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

    /// Nobody waits any more: the time limit has passed, or the caller went away.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// For loops and before side effects: stops work that nobody waits for.
    pub fn check_cancelled(&self) -> Result<(), ToolError> {
        if self.is_cancelled() {
            Err(ToolError::new(Code::Cancelled, "the call was cancelled before it finished"))
        } else {
            Ok(())
        }
    }

    /// Whether anybody looks at what is reported.
    pub fn wants_progress(&self) -> bool {
        self.progress.is_some()
    }

    pub fn report(&self, progress: Progress) {
        if let Some(sink) = &self.progress {
            sink(progress);
        }
    }
}

/// A piece of an answer for clients that show it; programs read [`Output::structured`].
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Text(String),
    /// Any other MCP content block (image, audio, resource), as it goes over the wire.
    Block(Value),
}

impl Content {
    /// The block as it goes over the wire.
    pub fn to_block(&self) -> Value {
        match self {
            Self::Text(text) => json!({"type": "text", "text": text}),
            Self::Block(block) => block.clone(),
        }
    }
}

/// What a tool answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The object that the output schema describes.
    pub structured: Option<Value>,
    /// What a client shows. Empty means the JSON text of `structured`.
    pub content: Vec<Content>,
    /// The tool itself says that it failed. Such an answer is no result: the output schema says nothing about it.
    pub is_error: bool,
    /// The answer as it came from elsewhere. It is passed on as it is if it keeps its contract, and kept for people if not.
    pub raw: Option<Raw>,
}

/// The result of a call as another server wrote it: the text of a JSON object, in which no key stands twice, and which of
/// its members are there. What is not there is added by whoever passes it on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    pub text: Arc<str>,
    /// `resultType`, which every result has since 2026-07-28.
    pub has_type: bool,
    /// `content`, which every result of a tool has.
    pub has_content: bool,
    /// `structuredContent`, which an overlay contract may have made of something else.
    pub has_structured: bool,
}

impl Output {
    /// Longer words of a tool are cut in a message; `details` has them whole.
    const MAX_WORDS: usize = 300;

    pub fn structured(value: Value) -> Self {
        Self { structured: Some(value), ..Self::default() }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], ..Self::default() }
    }

    /// An answer by which the tool says that it failed, as the error that doors without such answers give.
    pub fn failure(&self) -> Option<ToolError> {
        if !self.is_error {
            return None;
        }
        let words = self.content.iter().find_map(|content| match content {
            Content::Text(text) => Some(text.as_str()),
            Content::Block(block) => block.get("text").and_then(Value::as_str),
        });
        let message = match words {
            Some(words) => {
                let words: String = words.chars().take(Self::MAX_WORDS).collect();
                format!("the tool reports an error: {}", one_line(&words))
            }
            None => "the tool reports an error".to_owned(),
        };
        let content: Vec<_> = self.content.iter().map(Content::to_block).collect();
        let mut error = ToolError::new(Code::ToolFailed, message).with("content", content);
        if let Some(structured) = &self.structured {
            error = error.with("structuredContent", structured.clone());
        }
        Some(error)
    }
}

/// Something that can be called under a contract.
pub trait Tool: Send + Sync + 'static {
    fn contract(&self) -> &Arc<Contract>;

    /// Rewords a schema violation where the contract prescribes another code or message.
    fn reword(&self, violation: &Violation) -> Option<ToolError> {
        let _ = violation;
        None
    }

    /// Rules that a schema cannot say. Pure and quick: it runs before a person is asked to approve, so that nobody
    /// approves a call that is then refused.
    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        let _ = arguments;
        Ok(())
    }

    /// Does the work on arguments that satisfy the input schema, defaults filled in.
    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError>;

    /// The answer, if it can be given without waiting for anything: no disk, no lock, no network. It runs on the threads
    /// that serve connections, which saves two changes of thread. None means: run [`Tool::call`] where waiting is allowed.
    fn call_now(&self, arguments: &Value, ctx: &CallContext) -> Option<Result<Output, ToolError>> {
        let _ = (arguments, ctx);
        None
    }
}

/// Validated arguments as the tool's own type. A failure means that schema and type disagree: a defect of ours.
pub fn parse<T: DeserializeOwned>(mut arguments: Value) -> Result<T, ToolError> {
    whole_numbers(&mut arguments);
    serde_json::from_value(arguments).map_err(|_| {
        ToolError::new(
            Code::InternalError,
            "the tool's schema let arguments through that the tool cannot read",
        )
    })
}

/// JSON Schema calls `7.0` an integer, which a Rust integer does not read.
fn whole_numbers(value: &mut Value) {
    /// Up to here every whole number is exact in both notations.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                && float.fract() == 0.0
                && float.abs() <= EXACT
            {
                #[expect(clippy::cast_possible_truncation, reason = "whole, and within bounds")]
                let whole = float as i64;
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A tool's own type as its structured answer.
pub fn to_output<T: Serialize>(value: &T) -> Result<Output, ToolError> {
    serde_json::to_value(value)
        .map(Output::structured)
        .map_err(|_| ToolError::new(Code::InternalError, "the answer could not be written as JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_is_an_integer_however_it_is_written() {
        let read = parse::<Vec<i64>>;
        assert_eq!(read(json!([7.0, -0.0, 7, 9e15])).unwrap(), [7, 0, 7, 9_000_000_000_000_000]);
        assert_eq!(parse::<Vec<f64>>(json!([7.0, 0.5])).unwrap(), [7.0, 0.5]);
        for bad in [json!([0.5]), json!([1e300])] {
            assert_eq!(read(bad).unwrap_err().code, Code::InternalError);
        }
    }

    #[test]
    fn a_failure_in_the_tools_own_words() {
        assert_eq!(Output::text("fine").failure(), None);
        let words = format!("no such\nfile {}", "x".repeat(400));
        let output = Output {
            is_error: true,
            structured: Some(json!({"code": 2})),
            ..Output::text(words.clone())
        };
        let error = output.failure().unwrap();
        assert_eq!(error.code, Code::ToolFailed);
        assert!(error.message.starts_with("the tool reports an error: no such\\nfile xxx"));
        assert!(error.message.len() < 340, "{}", error.message);
        assert_eq!(error.details["content"], json!([{"type": "text", "text": words}]));
        assert_eq!(error.details["structuredContent"], json!({"code": 2}));
    }
}

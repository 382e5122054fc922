//! The [`Tool`] trait: all that somebody who offers a tool has to implement.
//!
//! A tool is a plain blocking function on validated arguments. Whoever runs it decides on which thread, checks its
//! input and output, and enforces its limits; a tool never sees a protocol, a socket or a terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

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
    cancelled: Arc<AtomicBool>,
    progress: Option<ProgressSink>,
}

impl CallContext {
    pub fn new(caller: Caller) -> Self {
        Self { caller, cancelled: Arc::default(), progress: None }
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

/// What a tool answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The object that the output schema describes.
    pub structured: Option<Value>,
    /// What a client shows. Empty means the JSON text of `structured`.
    pub content: Vec<Content>,
}

impl Output {
    pub fn structured(value: Value) -> Self {
        Self { structured: Some(value), content: Vec::new() }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self { structured: None, content: vec![Content::Text(text.into())] }
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
pub fn parse<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|_| {
        ToolError::new(
            Code::InternalError,
            "the tool's schema let arguments through that the tool cannot read",
        )
    })
}

/// A tool's own type as its structured answer.
pub fn to_output<T: Serialize>(value: &T) -> Result<Output, ToolError> {
    serde_json::to_value(value)
        .map(Output::structured)
        .map_err(|_| ToolError::new(Code::InternalError, "the answer could not be written as JSON"))
}

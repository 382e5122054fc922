//! Shared test helpers: connections to the scripted server, calls, responders, and waiting for conditions.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use link::{
    CallOutcome, CallerCapabilities, Connection, ConnectionError, ElicitationResponder, Options,
    SandboxPolicy, StdioProgram, UpstreamCall, UpstreamEndpoint, UpstreamResponse,
};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link/server.py")
}

pub(crate) fn program(mode: &str) -> StdioProgram {
    StdioProgram {
        command: "python3".to_owned(),
        args: vec![script().to_string_lossy().into_owned()],
        env: [("MODE".to_owned(), mode.into()), ("TOKEN".to_owned(), "hunter2-token".into())]
            .into(),
        folder: std::env::temp_dir(),
        sandbox: SandboxPolicy::Off,
        supervisor: vec![env!("CARGO_BIN_EXE_supervisor").into()],
    }
}

/// Returns options whose time limit to connect does not end a test on a busy machine.
pub(crate) fn options(program: StdioProgram) -> Options {
    let options = Options::new("scripted", UpstreamEndpoint::Stdio(program));
    Options { connect_timeout: LIMIT, ..options }
}

pub(crate) fn child(mode: &str) -> Arc<Connection> {
    Connection::new(options(program(mode)))
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}

pub(crate) async fn call_once(
    connection: &Connection,
    tool: &str,
    arguments: Value,
) -> Result<CallOutcome, ConnectionError> {
    let arguments = object(arguments);
    let call = connection.call(UpstreamCall::new(tool, &arguments));
    tokio::time::timeout(LIMIT, call).await.expect("a response within the time limit")
}

/// Runs a call until `condition` holds, and drops it then. Panics if the call ends before.
pub(crate) async fn drop_once<T, F: Future<Output = bool>>(
    running: impl Future<Output = T>,
    condition: impl FnMut() -> F,
) {
    tokio::select! {
        _ = running => panic!("the call ended"),
        () = wait_until("the call is under way", condition) => {}
    }
}

pub(crate) async fn call(
    connection: &Connection,
    tool: &str,
    arguments: Value,
) -> Result<UpstreamResponse, ConnectionError> {
    call_once(connection, tool, arguments).await.map(answer)
}

pub(crate) fn answer(turn: CallOutcome) -> UpstreamResponse {
    match turn {
        CallOutcome::Complete(answer) => answer,
        CallOutcome::InputRequired { .. } => panic!("the server requires input"),
    }
}

pub(crate) async fn call_text(connection: &Connection, tool: &str, arguments: Value) -> String {
    let answer = call(connection, tool, arguments).await.unwrap();
    answer.content.as_ref().unwrap()[0]["text"].as_str().unwrap().to_owned()
}

/// Waits until the condition holds, or panics with its description.
pub(crate) async fn wait_until<F: Future<Output = bool>>(
    description: &str,
    mut condition: impl FnMut() -> F,
) {
    let ends = tokio::time::Instant::now() + LIMIT;
    while !condition().await {
        assert!(tokio::time::Instant::now() < ends, "timed out waiting until {description}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Accepts every request and responds with its method and message.
pub(crate) struct EchoResponder;

#[async_trait]
impl ElicitationResponder for EchoResponder {
    async fn respond(&self, method: &str, params: Value) -> Result<Value, String> {
        Ok(
            json!({ "action": "accept", "content": { "method": method, "message": params["message"] } }),
        )
    }
}

/// Responds only when notified.
#[derive(Default)]
pub(crate) struct PendingResponder {
    pub(crate) asked: AtomicUsize,
    /// Requests that are neither answered nor cancelled.
    pub(crate) open: AtomicUsize,
    pub(crate) answer: Notify,
}

#[async_trait]
impl ElicitationResponder for PendingResponder {
    async fn respond(&self, method: &str, params: Value) -> Result<Value, String> {
        struct DecrementOnDrop<'a>(&'a AtomicUsize);
        impl Drop for DecrementOnDrop<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.open.fetch_add(1, Ordering::SeqCst);
        let _guard = DecrementOnDrop(&self.open);
        self.answer.notified().await;
        EchoResponder.respond(method, params).await
    }
}

pub(crate) fn elicitable_call<'a>(
    tool: &'a str,
    arguments: &'a Map<String, Value>,
) -> UpstreamCall<'a> {
    UpstreamCall {
        responder: Some(Arc::new(EchoResponder)),
        capabilities: CallerCapabilities { elicitation: true, ..CallerCapabilities::default() },
        ..UpstreamCall::new(tool, arguments)
    }
}

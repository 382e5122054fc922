//! Tests of MCP over stdio: invalid lines are answered, and calls in flight finish when the session ends.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use contract::{Caller, Constraints};
use runtime::PipelineOptions;
use runtime::transports::mcp::{McpService, ServerIdentity};
use runtime::transports::stdio::{StdioError, serve_streams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::rig::{Rig, answer, scripted_tool};

const LIMIT: usize = 4 * 1024 * 1024;

pub(crate) struct StdioSession {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    stop: CancellationToken,
    running: JoinHandle<Result<(), StdioError>>,
    pub(crate) rig: Rig,
}

impl StdioSession {
    async fn new() -> Self {
        Self::with_rig(Rig::new().await)
    }

    pub(crate) fn with_rig(rig: Rig) -> Self {
        let (input, server_input) = tokio::io::duplex(64 * 1024);
        let (output, server_output) = tokio::io::duplex(64 * 1024);
        let identity =
            ServerIdentity { name: "test".into(), version: "0".into(), instructions: None };
        let service = McpService::new(rig.pipeline.clone(), identity, Caller::new("stdio"));
        let stop = CancellationToken::new();
        let running =
            tokio::spawn(serve_streams(service, server_input, server_output, stop.clone()));
        let output = BufReader::new(output).lines();
        Self { input: Some(input), output, stop, running, rig }
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("the input is open").write_all(bytes).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn receive(&mut self) -> Option<Value> {
        let line = self.output.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    pub(crate) async fn receive_line(&mut self) -> String {
        self.output.next_line().await.unwrap().expect("a line")
    }

    pub(crate) async fn initialize(&mut self, capabilities: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "1"},
        }}))
        .await;
        let reply = self.receive().await.unwrap();
        assert_eq!(reply["id"], "hello", "{reply}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    /// Closes the input. Returns all remaining messages sorted by id, once the session has ended without error.
    pub(crate) async fn finish(mut self) -> Vec<Value> {
        self.input = None;
        self.collect_rest().await
    }

    async fn collect_rest(mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(message) = self.receive().await {
            rest.push(message);
        }
        self.running.await.unwrap().unwrap();
        rest.sort_by_key(|message| message["id"].as_u64());
        rest
    }
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": tool, "arguments": {"text": "a"}}})
}

pub(crate) fn ping(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

pub(crate) fn pong(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {}})
}

fn text(message: &Value) -> &Value {
    &message["result"]["structuredContent"]["text"]
}

/// Returns invalid lines, each with a name for its defect.
fn bad_lines() -> Vec<(&'static str, Vec<u8>)> {
    let deep = "[".repeat(100_000);
    [
        ("no JSON", "hello"),
        ("truncated", r#"{"jsonrpc": "2.0", "id": 1, "method": "pi"#),
        ("two messages", r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"} {}"#),
        ("deep", &deep),
        ("a control character", "{\"jsonrpc\": \"2.0\", \"id\": \"\u{1}\"}"),
        ("a batch", r#"[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]"#),
        ("an empty batch", "[]"),
        ("a call as an array", r#"["2.0", 1, "tools/call", {"name": "echo"}]"#),
        (
            "parameters as an array",
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ["echo", {"text": "a"}, {}]}"#,
        ),
        ("a reserved key", r#"{"id": 1, "params": {"$serde_json::private::RawValue": "[1]"}}"#),
        ("a number", "17"),
        ("no method", r#"{"jsonrpc": "2.0", "id": 7}"#),
        ("another version", r#"{"jsonrpc": "1.0", "id": "seven", "method": "ping"}"#),
        ("no version", r#"{"id": 7, "method": "ping"}"#),
        ("an id that is null", r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#),
        ("an id that is a list", r#"{"jsonrpc": "2.0", "id": [1], "method": "ping"}"#),
        (
            "a request and a response",
            r#"{"jsonrpc": "2.0", "id": 7, "method": "ping", "result": {}}"#,
        ),
    ]
    .map(|(name, line)| (name, line.as_bytes().to_vec()))
    .into_iter()
    .chain([
        ("no UTF-8", b"{\"jsonrpc\": \"2.0\", \"id\": \"\xff\", \"method\": \"ping\"}".to_vec()),
        ("too long", vec![b'x'; LIMIT + 1]),
    ])
    .collect()
}

async fn check_bad_lines(session: &mut StdioSession) -> String {
    let mut replies = String::new();
    for (name, mut line) in bad_lines() {
        line.push(b'\n');
        session.write(&line).await;
        replies += &format!("{name}\n  {}\n", session.receive().await.unwrap());
    }
    session.send(&ping(99)).await;
    assert_eq!(session.receive().await, Some(pong(99)), "the session continues");
    replies
}

#[tokio::test]
async fn invalid_lines_are_answered_before_and_after_handshake() {
    let mut session = StdioSession::new().await;
    let before = check_bad_lines(&mut session).await;
    session.initialize(json!({})).await;
    let after = check_bad_lines(&mut session).await;
    assert_eq!(before, after);
    insta::assert_snapshot!(after);
    assert_eq!(session.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn notifications_and_responses_are_not_answered() {
    let mut session = StdioSession::new().await;
    let lines = [
        "",
        " \t\r",
        r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
        r#"{"jsonrpc": "2.0", "method": "notifications/of/another/kind", "params": [1]}"#,
        r#"{"jsonrpc": "2.0", "id": 5, "result": {}}"#,
        // An error reply must not trigger another one, or two servers would exchange errors forever.
        r#"{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}}"#,
    ];
    let all = lines.join("\n") + "\n";
    session.write(all.as_bytes()).await;
    session.initialize(json!({})).await;
    session.write(all.as_bytes()).await;
    session.write(format!("\u{feff}{}\r\n", ping(1)).as_bytes()).await;
    assert_eq!(session.finish().await, [pong(1)]);
}

#[tokio::test]
async fn reads_line_at_the_size_limit() {
    let mut session = StdioSession::new().await;
    let mut line = ping(1).to_string();
    line.insert_str(1, &" ".repeat(LIMIT - line.len()));
    assert_eq!(line.len(), LIMIT);
    session.write(line.as_bytes()).await;
    assert_eq!(session.finish().await, [pong(1)], "even without a line break");
}

#[tokio::test]
async fn end_of_input_before_handshake_is_not_an_error() {
    assert_eq!(StdioSession::new().await.finish().await, Vec::<Value>::new());
    let mut session = StdioSession::new().await;
    session.write(b"{\"jsonrpc\": \"2.0\", \"id\"").await;
    let [reply] = &session.finish().await[..] else { panic!("one reply") };
    assert_eq!(reply["error"]["code"], -32700);
}

#[tokio::test]
async fn stop_before_handshake_is_not_an_error() {
    let session = StdioSession::new().await;
    session.stop.cancel();
    assert_eq!(session.collect_rest().await, Vec::<Value>::new());
}

#[tokio::test]
async fn calls_in_flight_are_answered_after_end_of_input() {
    let mut session = StdioSession::new().await;
    session.initialize(json!({})).await;
    for id in 0..100 {
        session.send(&call(id, if id % 10 == 0 { "slow" } else { "echo" })).await;
    }
    let replies = session.finish().await;
    let ids: Vec<_> = replies.iter().map(|reply| reply["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
    assert_eq!(text(&replies[1]), "a");
    assert_eq!(replies[10]["result"]["structuredContent"]["error"]["code"], "EXECUTION_TIMEOUT");
}

/// A cancelled call gets no answer, so the shutdown does not wait for one.
#[tokio::test]
async fn cancelled_call_does_not_delay_shutdown() {
    let mut session = StdioSession::new().await;
    session.initialize(json!({})).await;
    session.send(&call(1, "patient")).await;
    session
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    assert_eq!(session.finish().await, Vec::<Value>::new());
}

/// A user who can no longer answer must not block the call, neither at the end of input nor at a stop.
#[tokio::test]
async fn open_elicitation_ends_with_the_session() {
    for stopped in [false, true] {
        let mut session = StdioSession::new().await;
        session.initialize(json!({"elicitation": {}})).await;
        session.send(&call(1, "write")).await;
        assert_eq!(session.receive().await.unwrap()["method"], "elicitation/create");
        if stopped {
            session.stop.cancel();
        } else {
            session.input = None;
        }
        let rest = session.collect_rest().await;
        let [reply] = &rest[..] else { panic!("one reply: {rest:?}") };
        insta::assert_snapshot!("open_elicitation", reply["result"]["structuredContent"]);
    }
}

/// Returns a request of the stateless revision.
pub(crate) fn stateless_request(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test]
async fn serves_the_stateless_revision() {
    let mut session = StdioSession::new().await;
    session.send(&stateless_request(0, "server/discover", json!({}))).await;
    for id in 1..=3 {
        let params = json!({"name": "echo", "arguments": {"text": "b"}});
        session.send(&stateless_request(id, "tools/call", params)).await;
    }
    let replies = session.finish().await;
    assert_eq!(replies.iter().skip(1).map(text).collect::<Vec<_>>(), ["b", "b", "b"]);
}

/// Returns a session with a running call that ends when the sender is used or dropped.
async fn in_the_middle_of_a_call() -> (StdioSession, mpsc::Sender<()>) {
    let (started, has_started) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let released = Mutex::new(released);
    let constraints = Constraints { timeout: Duration::from_secs(3600), ..Constraints::default() };
    let gate = scripted_tool("gate", constraints, move |_, _| {
        started.send(()).unwrap();
        let _ = released.lock().unwrap().recv();
        answer("through")
    });
    let mut session =
        StdioSession::with_rig(Rig::with_tools(vec![gate], PipelineOptions::default()).await);
    session.initialize(json!({})).await;
    session.send(&call(1, "gate")).await;
    tokio::task::spawn_blocking(move || has_started.recv().unwrap()).await.unwrap();
    (session, release)
}

/// Advances the paused clock.
pub(crate) async fn advance_time(seconds: u64) {
    tokio::time::pause();
    // Once for the session to notice the end, once for its timers.
    for seconds in [0, seconds] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    tokio::time::resume();
}

#[tokio::test]
async fn call_may_outlive_the_input() {
    let (mut session, release) = in_the_middle_of_a_call().await;
    session.input = None;
    // The SDK's transport would have given up already.
    advance_time(600).await;
    release.send(()).unwrap();
    assert_eq!(session.collect_rest().await.iter().map(text).collect::<Vec<_>>(), ["through"]);
}

#[tokio::test]
async fn stop_waits_for_running_call_and_starts_no_other() {
    let (mut session, release) = in_the_middle_of_a_call().await;
    session.stop.cancel();
    session.send(&call(2, "gate")).await;
    advance_time(5).await;
    release.send(()).unwrap();
    let rest = session.collect_rest().await;
    assert_eq!(
        rest.iter().map(text).collect::<Vec<_>>(),
        ["through"],
        "and no new call was started"
    );
}

#[tokio::test]
async fn stop_gives_up_after_the_drain_limit() {
    let (session, release) = in_the_middle_of_a_call().await;
    session.stop.cancel();
    advance_time(7).await;
    assert!(matches!(session.running.await.unwrap(), Err(StdioError::Overdue)));
    drop(release);
}

#[tokio::test]
async fn client_that_disconnects_during_handshake_is_not_an_error() {
    let mut session = StdioSession::new().await;
    drop(std::mem::replace(&mut session.output, BufReader::new(tokio::io::duplex(1).0).lines()));
    session.send(&ping(1)).await;
    session.running.await.unwrap().unwrap();
}

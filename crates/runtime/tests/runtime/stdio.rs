//! MCP over lines: what is no message is answered, and no end takes the answers of calls in flight with it.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use contract::{Caller, Constraints};
use runtime::PipelineOptions;
use runtime::doors::mcp::{Face, McpDoor};
use runtime::doors::stdio::{StdioError, serve_over};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::rig::{Rig, answer, tool};

const LIMIT: usize = 4 * 1024 * 1024;

pub(crate) struct Session {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    stop: CancellationToken,
    running: JoinHandle<Result<(), StdioError>>,
    pub(crate) rig: Rig,
}

impl Session {
    async fn new() -> Self {
        Self::on(Rig::new().await)
    }

    pub(crate) fn on(rig: Rig) -> Self {
        let (input, server_input) = tokio::io::duplex(64 * 1024);
        let (output, server_output) = tokio::io::duplex(64 * 1024);
        let face = Face { name: "test".into(), version: "0".into(), instructions: None };
        let door = McpDoor::new(rig.pipeline.clone(), face, Caller::new("stdio"));
        let stop = CancellationToken::new();
        let running = tokio::spawn(serve_over(door, server_input, server_output, stop.clone()));
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

    pub(crate) async fn shake_hands(&mut self, capabilities: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "1"},
        }}))
        .await;
        let reply = self.receive().await.unwrap();
        assert_eq!(reply["id"], "hello", "{reply}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }

    /// Closes the input; gives every message that still came, sorted by id, after a good end.
    pub(crate) async fn finish(mut self) -> Vec<Value> {
        self.input = None;
        self.rest().await
    }

    async fn rest(mut self) -> Vec<Value> {
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

/// Lines that are no message, each with a name that says what is wrong.
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

async fn check_bad_lines(session: &mut Session) -> String {
    let mut replies = String::new();
    for (name, mut line) in bad_lines() {
        line.push(b'\n');
        session.write(&line).await;
        replies += &format!("{name}\n  {}\n", session.receive().await.unwrap());
    }
    session.send(&ping(99)).await;
    assert_eq!(session.receive().await, Some(pong(99)), "the session goes on");
    replies
}

#[tokio::test]
async fn bad_lines_are_answered_before_and_after_the_handshake() {
    let mut session = Session::new().await;
    let before = check_bad_lines(&mut session).await;
    session.shake_hands(json!({})).await;
    let after = check_bad_lines(&mut session).await;
    assert_eq!(before, after);
    insta::assert_snapshot!(after);
    assert_eq!(session.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn what_needs_no_answer_gets_none() {
    let mut session = Session::new().await;
    let lines = [
        "",
        " \t\r",
        r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
        r#"{"jsonrpc": "2.0", "method": "notifications/of/another/kind", "params": [1]}"#,
        r#"{"jsonrpc": "2.0", "id": 5, "result": {}}"#,
        // What we say of a bad line must not come back as one, or two servers would talk for ever.
        r#"{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "no"}}"#,
    ];
    let all = lines.join("\n") + "\n";
    session.write(all.as_bytes()).await;
    session.shake_hands(json!({})).await;
    session.write(all.as_bytes()).await;
    session.write(format!("\u{feff}{}\r\n", ping(1)).as_bytes()).await;
    assert_eq!(session.finish().await, [pong(1)]);
}

#[tokio::test]
async fn a_line_at_the_limit_is_read() {
    let mut session = Session::new().await;
    let mut line = ping(1).to_string();
    line.insert_str(1, &" ".repeat(LIMIT - line.len()));
    assert_eq!(line.len(), LIMIT);
    session.write(line.as_bytes()).await;
    assert_eq!(session.finish().await, [pong(1)], "though it has no line break");
}

#[tokio::test]
async fn the_end_before_the_handshake_is_a_good_end() {
    assert_eq!(Session::new().await.finish().await, Vec::<Value>::new());
    let mut session = Session::new().await;
    session.write(b"{\"jsonrpc\": \"2.0\", \"id\"").await;
    let [reply] = &session.finish().await[..] else { panic!("one reply") };
    assert_eq!(reply["error"]["code"], -32700);
}

#[tokio::test]
async fn stop_before_the_handshake_is_a_good_end() {
    let session = Session::new().await;
    session.stop.cancel();
    assert_eq!(session.rest().await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_end_of_input_takes_no_answers_with_it() {
    let mut session = Session::new().await;
    session.shake_hands(json!({})).await;
    for id in 0..100 {
        session.send(&call(id, if id % 10 == 0 { "slow" } else { "echo" })).await;
    }
    let replies = session.finish().await;
    let ids: Vec<_> = replies.iter().map(|reply| reply["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
    assert_eq!(text(&replies[1]), "a");
    assert_eq!(replies[10]["result"]["structuredContent"]["error"]["code"], "EXECUTION_TIMEOUT");
}

/// A call that is withdrawn gets no answer, so none is waited for.
#[tokio::test]
async fn a_cancelled_call_holds_nothing_up() {
    let mut session = Session::new().await;
    session.shake_hands(json!({})).await;
    session.send(&call(1, "patient")).await;
    session
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    assert_eq!(session.finish().await, Vec::<Value>::new());
}

/// A person who can no longer answer must not keep the call, whichever way the end came.
#[tokio::test]
async fn an_open_question_ends_with_the_session() {
    for stopped in [false, true] {
        let mut session = Session::new().await;
        session.shake_hands(json!({"elicitation": {}})).await;
        session.send(&call(1, "write")).await;
        assert_eq!(session.receive().await.unwrap()["method"], "elicitation/create");
        if stopped {
            session.stop.cancel();
        } else {
            session.input = None;
        }
        let rest = session.rest().await;
        let [reply] = &rest[..] else { panic!("one reply: {rest:?}") };
        insta::assert_snapshot!("an_open_question", reply["result"]["structuredContent"]);
    }
}

/// A request of the revision without a handshake.
pub(crate) fn inline(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test]
async fn the_revision_without_a_handshake() {
    let mut session = Session::new().await;
    session.send(&inline(0, "server/discover", json!({}))).await;
    for id in 1..=3 {
        let params = json!({"name": "echo", "arguments": {"text": "b"}});
        session.send(&inline(id, "tools/call", params)).await;
    }
    let replies = session.finish().await;
    assert_eq!(replies.iter().skip(1).map(text).collect::<Vec<_>>(), ["b", "b", "b"]);
}

/// A session in the middle of a call, which goes on until the sender is used or dropped.
async fn in_the_middle_of_a_call() -> (Session, mpsc::Sender<()>) {
    let (started, has_started) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let released = Mutex::new(released);
    let constraints = Constraints { timeout: Duration::from_secs(3600), ..Constraints::default() };
    let gate = tool("gate", constraints, move |_, _| {
        started.send(()).unwrap();
        let _ = released.lock().unwrap().recv();
        answer("through")
    });
    let mut session = Session::on(Rig::of(vec![gate], PipelineOptions::default()).await);
    session.shake_hands(json!({})).await;
    session.send(&call(1, "gate")).await;
    tokio::task::spawn_blocking(move || has_started.recv().unwrap()).await.unwrap();
    (session, release)
}

/// Lets time pass without waiting for it.
pub(crate) async fn pass(seconds: u64) {
    tokio::time::pause();
    // Once for the session to see the end, once for whatever it has set a limit for.
    for seconds in [0, seconds] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    tokio::time::resume();
}

#[tokio::test]
async fn a_call_may_outlive_the_input() {
    let (mut session, release) = in_the_middle_of_a_call().await;
    session.input = None;
    // The SDK would have given up by now.
    pass(600).await;
    release.send(()).unwrap();
    assert_eq!(session.rest().await.iter().map(text).collect::<Vec<_>>(), ["through"]);
}

#[tokio::test]
async fn stop_in_the_middle_of_a_call() {
    let (mut session, release) = in_the_middle_of_a_call().await;
    session.stop.cancel();
    session.send(&call(2, "gate")).await;
    pass(29).await;
    release.send(()).unwrap();
    let rest = session.rest().await;
    assert_eq!(rest.iter().map(text).collect::<Vec<_>>(), ["through"], "and nothing new was begun");
}

#[tokio::test]
async fn stop_does_not_wait_for_ever() {
    let (session, release) = in_the_middle_of_a_call().await;
    session.stop.cancel();
    pass(31).await;
    assert!(matches!(session.running.await.unwrap(), Err(StdioError::Overdue)));
    drop(release);
}

#[tokio::test]
async fn a_client_that_does_not_wait_for_the_handshake() {
    let mut session = Session::new().await;
    drop(std::mem::replace(&mut session.output, BufReader::new(tokio::io::duplex(1).0).lines()));
    session.send(&ping(1)).await;
    session.running.await.unwrap().unwrap();
}

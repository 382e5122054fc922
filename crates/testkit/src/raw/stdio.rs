//! One child over stdin and stdout, line by line.

use std::process::Stdio as Pipe;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Against hanging only.
const LIMIT: Duration = Duration::from_secs(30);

/// A started server. It is killed when this is dropped; its stderr is not read by anybody.
#[derive(Debug)]
pub struct Stdio {
    pub child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    ids: u64,
}

impl Stdio {
    /// Starts a command, program first.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start(command: &[String]) -> Self {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(Pipe::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the server can be started");
        let stdout = child.stdout.take().expect("stdout is piped");
        let stdin = child.stdin.take();
        Self { child, stdin, stdout: BufReader::new(stdout).lines(), ids: 0 }
    }

    /// Sends one line.
    pub async fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{message}\n").as_bytes()).await.expect("the server reads");
        stdin.flush().await.expect("the server reads");
    }

    /// The next line as it is, or nothing when the server has closed its stdout.
    pub async fn line(&mut self) -> Option<String> {
        let line = tokio::time::timeout(LIMIT, self.stdout.next_line()).await;
        line.expect("the server says something in time").expect("stdout can be read")
    }

    /// The next message.
    pub async fn message(&mut self) -> Value {
        let line = self.line().await.expect("the server lives");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and gives its id, without waiting.
    pub async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.ids += 1;
        let id = self.ids;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Sends a request and gives its answer; what comes before it is dropped.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        loop {
            let line = self.line().await.expect("the server lives");
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The handshake.
    pub async fn greet(&mut self) -> Value {
        let answer = self.request("initialize", super::hello()).await;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer
    }

    /// Calls a tool and gives the answer.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Closes stdin and waits until the server has ended.
    pub async fn close(mut self) -> std::process::ExitStatus {
        self.stdin = None;
        let ended = tokio::time::timeout(LIMIT, self.child.wait()).await;
        ended.expect("the server ends in time").expect("the server can be waited for")
    }
}

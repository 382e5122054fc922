//! A client for one server process, line by line over stdin and stdout.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Maximum wait for a line or for the exit of the server; only prevents hanging.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// A started server process. Dropping it kills the process; stderr is discarded.
#[derive(Debug)]
pub struct RawStdioClient {
    pub child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    ids: u64,
}

impl RawStdioClient {
    /// Starts a server from its command line, program first.
    ///
    /// # Panics
    ///
    /// If the process cannot be started.
    pub fn start(command: &[String]) -> Self {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the server can be started");
        let stdout = child.stdout.take().expect("stdout is piped");
        let stdin = child.stdin.take();
        Self { child, stdin, stdout: BufReader::new(stdout).lines(), ids: 0 }
    }

    /// Sends a message as one line.
    pub async fn send_message(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{message}\n").as_bytes()).await.expect("the server reads");
        stdin.flush().await.expect("the server reads");
    }

    /// Returns the next line unchanged, or `None` once the server has closed its stdout.
    pub async fn read_line(&mut self) -> Option<String> {
        let line = tokio::time::timeout(RESPONSE_TIMEOUT, self.stdout.next_line()).await;
        line.expect("the server sends a line in time").expect("stdout can be read")
    }

    /// Returns the next message.
    pub async fn read_message(&mut self) -> Value {
        let line = self.read_line().await.expect("the server is still running");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request without waiting and returns its id.
    pub async fn start_request(&mut self, method: &str, params: Value) -> u64 {
        self.ids += 1;
        let id = self.ids;
        self.send_message(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Sends a request and returns its response. Messages before the response are dropped.
    pub async fn send_request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start_request(method, params).await;
        loop {
            let line = self.read_line().await.expect("the server is still running");
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Performs the handshake and returns the response to `initialize`.
    pub async fn initialize(&mut self) -> Value {
        let answer = self.send_request("initialize", super::initialize_params()).await;
        self.send_message(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer
    }

    /// Calls a tool and returns the response.
    pub async fn call_tool(&mut self, tool: &str, arguments: Value) -> Value {
        self.send_request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Closes stdin, waits until the server has exited and returns its exit status.
    pub async fn close(mut self) -> std::process::ExitStatus {
        self.stdin = None;
        let ended = tokio::time::timeout(RESPONSE_TIMEOUT, self.child.wait()).await;
        ended.expect("the server exits in time").expect("the server can be waited for")
    }
}

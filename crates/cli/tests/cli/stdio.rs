//! `vouch serve --stdio`: standard output carries protocol frames and nothing else.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, send_signal, wait_for_exit};

/// A client that speaks JSON-RPC in raw lines.
pub(crate) struct Session {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Session {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    pub(crate) fn send(&mut self, message: &Value) -> std::io::Result<()> {
        let input = self.input.as_mut().expect("standard input is open");
        input.write_all(format!("{message}\n").as_bytes())
    }

    /// Returns the next frame; `None` at the end of the output or after an incomplete frame.
    pub(crate) fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        if !line.ends_with('\n') {
            return None;
        }
        let frame: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a frame: {line}"));
        assert_eq!(frame["jsonrpc"], "2.0", "{frame}");
        Some(frame)
    }

    pub(crate) fn handshake(&mut self) -> std::io::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }}))?;
        self.receive();
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    }

    /// Sends a request and returns its result, skipping notifications.
    pub(crate) fn request(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .unwrap();
        loop {
            let frame = self.receive().unwrap();
            if frame["id"] == id {
                return frame["result"].clone();
            }
        }
    }

    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Returns the names of the listed tools.
    pub(crate) fn list_tools(&mut self, id: u64) -> Vec<String> {
        let listed = self.request(id, "tools/list", json!({}));
        let names = listed["tools"].as_array().unwrap().iter();
        names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn call_request(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn stdout_carries_only_frames() {
    let project = Project::new().with("a.txt", "a\n");
    let log = std::fs::File::create(project.root.join("log")).unwrap();
    let mut command = project.command(&["-vvv", "serve", "--stdio"]);
    let mut session = Session::start({
        command.stderr(log);
        command
    });
    session.handshake().unwrap();
    session.send(&call_request(1, "read_repo_file", json!({"path": "a.txt"}))).unwrap();
    assert_eq!(session.receive().unwrap()["result"]["structuredContent"]["content"], "a\n");
    session.send(&call_request(2, "read_repo_file", json!({"path": "../a"}))).unwrap();
    assert_eq!(session.receive().unwrap()["result"]["isError"], true);
    session.close_input();
    assert_eq!(session.receive(), None);
    assert_eq!(wait_for_exit(&mut session.child).code(), Some(0));
    assert!(project.read("log").contains("TRACE"), "the log went to standard error");
}

#[test]
fn answers_all_requests_after_end_of_input() {
    let project = Project::new().with("a.txt", "a\n");
    let mut session = Session::start(project.command(&["serve", "--stdio"]));
    session.handshake().unwrap();
    for id in 1..=20 {
        session.send(&call_request(id, "read_repo_file", json!({"path": "a.txt"}))).unwrap();
    }
    session.close_input();
    let mut ids: Vec<_> = std::iter::from_fn(|| session.receive())
        .map(|frame| frame["id"].as_u64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=20).collect::<Vec<_>>());
    assert_eq!(wait_for_exit(&mut session.child).code(), Some(0));
}

/// The runtime reads files differently from pipes.
#[test]
fn reads_requests_from_file() {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    // The last line has no line break.
    let requests = format!("{{\n{hello}\n[]\n{}", call_request(1, "hello", json!({"name": "Ada"})));
    let project = Project::new().with("requests", &requests);
    let replies = |input: &str| {
        let mut command = project.command(&["serve", "--stdio"]);
        let input = std::fs::File::open(project.root.join(input)).unwrap();
        let output = std::fs::File::create(project.root.join("replies")).unwrap();
        let mut child = command.stdin(input).stdout(output).spawn().unwrap();
        assert_eq!(wait_for_exit(&mut child).code(), Some(0));
        let text = project.read("replies");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let [truncated, welcome, batch, greeting] = &replies("requests")[..] else {
        panic!("four replies")
    };
    assert_eq!(truncated["error"]["code"], -32700);
    assert_eq!(welcome["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(batch["error"]["code"], -32600);
    assert_eq!(greeting["result"]["structuredContent"]["message"], "Hello, Ada!");
    assert_eq!(replies("/dev/null"), Vec::<Value>::new(), "no input is no error");
}

#[test]
fn sigterm_exits_cleanly() {
    let project = Project::new();
    let mut session = Session::start(project.command(&["serve", "--stdio"]));
    session.handshake().unwrap();
    session.send(&call_request(1, "hello", json!({}))).unwrap();
    assert!(session.receive().is_some());
    send_signal(&session.child, Signal::TERM);
    assert_eq!(wait_for_exit(&mut session.child).code(), Some(0));
    assert!(project.run_text(&["audit", "verify"]).starts_with("exit: 0"));
    assert_eq!(project.run_json(&["stats", "--json"])[0]["calls"], 1, "the audit log is complete");
}

//! `vouch serve --stdio`: standard output carries protocol frames and nothing else.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, send_signal, wait};

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

    /// The next frame; None at the end, or where the end tore a frame.
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

fn call(id: u64, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn nothing_but_frames() {
    let project = Project::new().with("a.txt", "a\n");
    let log = std::fs::File::create(project.root.join("log")).unwrap();
    let mut command = project.command(&["-vvv", "serve", "--stdio"]);
    let mut session = Session::start({
        command.stderr(log);
        command
    });
    session.handshake().unwrap();
    session.send(&call(1, "read_repo_file", json!({"path": "a.txt"}))).unwrap();
    assert_eq!(session.receive().unwrap()["result"]["structuredContent"]["content"], "a\n");
    session.send(&call(2, "read_repo_file", json!({"path": "../a"}))).unwrap();
    assert_eq!(session.receive().unwrap()["result"]["isError"], true);
    session.close_input();
    assert_eq!(session.receive(), None);
    assert_eq!(wait(&mut session.child).code(), Some(0));
    assert!(project.read("log").contains("TRACE"), "the log went to standard error");
}

#[test]
fn the_end_of_input_still_gets_its_answers() {
    let project = Project::new().with("a.txt", "a\n");
    let mut session = Session::start(project.command(&["serve", "--stdio"]));
    session.handshake().unwrap();
    for id in 1..=20 {
        session.send(&call(id, "read_repo_file", json!({"path": "a.txt"}))).unwrap();
    }
    session.close_input();
    let mut ids: Vec<_> = std::iter::from_fn(|| session.receive())
        .map(|frame| frame["id"].as_u64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=20).collect::<Vec<_>>());
    assert_eq!(wait(&mut session.child).code(), Some(0));
}

#[test]
fn sigterm_ends_it_well() {
    let project = Project::new();
    let mut session = Session::start(project.command(&["serve", "--stdio"]));
    session.handshake().unwrap();
    session.send(&call(1, "hello", json!({}))).unwrap();
    assert!(session.receive().is_some());
    send_signal(&session.child, Signal::TERM);
    assert_eq!(wait(&mut session.child).code(), Some(0));
    assert!(project.check(&["audit", "verify"]).starts_with("exit: 0"));
    assert_eq!(project.json(&["stats", "--json"])[0]["calls"], 1, "the record is whole");
}

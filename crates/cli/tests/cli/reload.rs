//! Reloads while calls are in flight and streams are open.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::operating::{NEW, OLD, metric, token_project};
use crate::support::{LIMIT, Project, Server, adversary, read_response, wait_until};

/// Returns the table of an upstream that answers calls of `good` once the file `adv/<name>` exists.
fn held_upstream(name: &str) -> String {
    let args = ["--only", "good,count", "--hold", &format!("adv/{name}")];
    format!(
        "[[upstream]]\nname = {name:?}\ncommand = {:?}\nargs = {args:?}\nsandbox = {{ read = [\".\"] }}\n",
        adversary()
    )
}

fn reload(server: &Server, number: usize) {
    server.signal(Signal::HUP);
    let line = format!("vouch_reloads_total{{result=\"ok\"}} {number}");
    wait_until("the reload is done", || metric(server, &line));
}

/// Sends a request and leaves its connection open.
fn send(server: &Server, method: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(
        stream,
        "{method} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        server.token,
        body.len()
    )
    .unwrap();
    stream
}

fn start_call(server: &Server, tool: &str) -> JoinHandle<(u16, Value)> {
    let body = json!({"text": tool}).to_string();
    let stream = send(server, &format!("POST /v1/tools/{tool}"), "Connection: close\r\n", &body);
    std::thread::spawn(move || read_response(stream))
}

/// Reads until the text appears, and returns all that was read. An open stream carries comments from time to time, so the
/// timeout of a read is not enough.
fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let (mut received, mut buffer) = (String::new(), [0; 4096]);
    let start = Instant::now();
    while !received.contains(text) {
        assert!(start.elapsed() < LIMIT, "`{text}` does not arrive: {received}");
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the stream ended: {received}");
        received.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    received
}

/// Returns the calls that the process of an upstream has received.
fn calls_of(server: &Server, upstream: &str) -> Value {
    let (status, answer) = server.call(&format!("{upstream}__count"), &json!({}));
    assert_eq!(status, 200, "{answer}");
    answer["calls"].clone()
}

/// Calls are in flight on an upstream that stays, one whose table changes and one that is removed.
#[test]
fn calls_in_flight_are_answered_after_a_reload() {
    let [stays, changes, goes] = ["stays", "changes", "goes"].map(held_upstream);
    let project = Project::new().with("vouch.toml", &format!("{stays}{changes}{goes}"));
    std::fs::create_dir(project.root.join("adv")).unwrap();
    let server = project.start_gateway(&[], &["stays__good", "changes__good", "goes__good"]);
    let calls =
        ["stays__good", "changes__good", "goes__good"].map(|tool| start_call(&server, tool));
    wait_until("the calls are in flight", || metric(&server, "vouch_calls_in_flight 3"));
    let changed = changes.replace("good,count", "good,count,error");
    project.write("vouch.toml", &format!("{stays}{changed}[limits]\nsessions = 7\n"));
    reload(&server, 1);
    assert!(calls.iter().all(|call| !call.is_finished()));
    assert_eq!(server.call("goes__count", &json!({})).0, 404);
    server.wait_for_tool("changes__error");
    assert_eq!(server.call("changes__error", &json!({})).0, 422, "the new table applies");
    let calls_before = json!([{"tool": "good", "count": 1}]);
    assert_eq!(calls_of(&server, "stays"), calls_before, "an unchanged upstream keeps its process");
    assert_eq!(calls_of(&server, "changes"), json!([{"tool": "error", "count": 1}]));
    for name in ["stays", "changes", "goes"] {
        project.write(&format!("adv/{name}"), "");
    }
    for (call, tool) in calls.into_iter().zip(["stays__good", "changes__good", "goes__good"]) {
        assert_eq!(call.join().unwrap(), (200, json!({"text": tool})));
    }
}

/// Starts a session and a listening stream of it. Returns the headers of the session and the stream.
fn open_session(server: &Server) -> (String, TcpStream) {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }});
    let mut stream = send(server, "POST /mcp", "", &hello.to_string());
    let greeting = read_until(&mut stream, "serverInfo");
    let id = greeting.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("mcp-session-id").then_some(value)
    });
    let headers =
        format!("Mcp-Session-Id: {}\r\nMcp-Protocol-Version: 2025-11-25\r\n", id.unwrap());
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    read_until(&mut send(server, "POST /mcp", &headers, &ready.to_string()), "202");
    let mut listening = send(server, "GET /mcp", &headers, "");
    read_until(&mut listening, "200 OK");
    (headers, listening)
}

/// A session with a listening stream and a call in flight survives a reload, and hears of the new tools.
#[test]
fn session_and_its_streams_survive_a_reload() {
    let project = Project::new().with("vouch.toml", &held_upstream("adv1"));
    std::fs::create_dir(project.root.join("adv")).unwrap();
    let server = project.start_gateway(&[], &["adv1__good"]);
    let (headers, mut listening) = open_session(&server);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "adv1__good", "arguments": {"text": "through the reload"}}});
    let mut answer = send(&server, "POST /mcp", &headers, &call.to_string());
    wait_until("the call is in flight", || metric(&server, "vouch_calls_in_flight 1"));
    let both = format!("{}{}", held_upstream("adv1"), held_upstream("adv2"));
    project.write("vouch.toml", &both);
    reload(&server, 1);
    read_until(&mut listening, "notifications/tools/list_changed");
    project.write("adv/adv1", "");
    read_until(&mut answer, "through the reload");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    read_until(&mut send(&server, "POST /mcp", &headers, &list.to_string()), "adv2__good");
}

/// The token file no longer has the principal of the session.
#[test]
fn session_of_a_revoked_token_ends() {
    let (project, tokens) = token_project();
    let mut server = project.start_server(&["--token-file", &tokens]);
    server.token = OLD.into();
    let (headers, mut listening) = open_session(&server);
    std::fs::write(&tokens, format!("ops {NEW}\n")).unwrap();
    reload(&server, 1);
    // The end of a chunked body.
    read_until(&mut listening, "0\r\n\r\n");
    wait_until("the session is gone", || metric(&server, "vouch_sessions_open 0"));
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
    read_until(&mut send(&server, "POST /mcp", &headers, &list), "HTTP/1.1 401");
    server.token = NEW.into();
    read_until(&mut send(&server, "POST /mcp", &headers, &list), "HTTP/1.1 404");
}

/// A reload begins to seal the log, and names the settings of the log that it does not apply.
#[test]
fn sealing_is_reloaded_and_rotation_needs_a_restart() {
    let project = Project::new().with("vouch.toml", "");
    let server = project.start_server(&[]);
    assert_eq!(server.call("hello", &json!({})).0, 200);
    let seal = "[audit.seal]\nto = [\"../checkpoints.jsonl\"]\n";
    project.write("vouch.toml", &format!("[audit]\nmax_file_bytes = 8192\n{seal}"));
    reload(&server, 1);
    server.signal(Signal::TERM);
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    let changed = "need a restart: audit.max_file_bytes, audit.max_file_days, audit.keep_files, audit.keep_days";
    assert!(log.contains(changed) && !log.contains("audit.key_file"), "{log}");
    let path = project.root.join("../checkpoints.jsonl");
    assert_eq!(std::fs::read_to_string(path).unwrap().lines().count(), 1);
}

//! `vouch serve` over HTTP: banner, signals and shutdown.

use std::io::Write;
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Project, read_response, wait_until, with_filters};

#[test]
fn prints_banner() {
    let project =
        Project::new().with("vouch.toml", "[tools.write_memory_entry]\napprove = \"ask\"\n");
    let server = project.start_server(&[]);
    with_filters(|| insta::assert_snapshot!(project.redact_paths(&server.banner)));
    let (status, answer) = server.call("hello", &json!({"name": "Ada"}));
    assert_eq!((status, &answer["message"]), (200, &json!("Hello, Ada!")));
    assert_eq!(crate::support::list_files(&project.root), ["vouch.toml"], "state is elsewhere");
}

#[test]
fn sigterm_exits_cleanly() {
    let project = Project::new();
    let server = project.start_server(&[]);
    server.signal(Signal::TERM);
    let (status, printed) = server.wait();
    assert_eq!((status.code(), printed.as_str()), (Some(0), ""));
}

#[test]
fn ctrl_c_exits_cleanly() {
    let project = Project::new();
    let server = project.start_server(&[]);
    server.signal(Signal::INT);
    let (status, printed) = server.wait();
    assert_eq!(status.code(), Some(0));
    assert_eq!(printed.trim(), "finishing calls in flight; press Ctrl-C again to stop immediately");
}

/// Opens a connection and sends a request with half of its body.
fn send_half_request(server: &crate::support::Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = format!(
        "POST /v1/tools/hello HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 14\r\nExpect: 100-continue\r\n\r\n",
        server.token
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server asks for the body once it handles the request.
    let mut go_on = [0; 25];
    std::io::Read::read_exact(&mut stream, &mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100 Continue"));
    stream.write_all(b"{\"name\":").unwrap();
    stream
}

#[test]
fn finishes_calls_in_flight() {
    let project = Project::new();
    let server = project.start_server(&[]);
    let mut stream = send_half_request(&server);
    server.signal(Signal::TERM);
    wait_until("the door is closed", || TcpStream::connect(server.address).is_err());
    stream.write_all(b"\"Ada\"}").unwrap();
    let (status, body) = read_response(stream);
    assert_eq!((status, &body["message"]), (200, &json!("Hello, Ada!")));
    assert_eq!(server.wait().0.code(), Some(0));
}

#[test]
fn second_signal_stops_immediately() {
    let (int, term) = (Signal::INT, Signal::TERM);
    for (first, second) in [(int, int), (int, term), (term, int), (term, term)] {
        let project = Project::new();
        let server = project.start_server(&[]);
        let stream = send_half_request(&server);
        server.signal(first);
        wait_until("the door is closed", || TcpStream::connect(server.address).is_err());
        server.signal(second);
        assert_eq!(server.wait().0.code(), Some(130), "{first:?}, {second:?}");
        drop(stream);
    }
}

#[test]
fn quiet_prints_nothing() {
    let project = Project::new();
    let mut child = project
        .command(&["-q", "serve", "--port", "0"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the store is there", || project.state().join("audit.jsonl").exists());
    crate::support::send_signal(&child, Signal::TERM);
    crate::support::wait_for_exit(&mut child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(project.format_output(&output), "exit: 0\n--- out\n--- err\n");
}

//! `vouch serve` over HTTP: what it says, and how it ends.

use std::io::Write;
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Project, answer, until, with_filters};

#[test]
fn the_banner() {
    let project =
        Project::new().with("vouch.toml", "[tools.write_memory_entry]\napprove = \"ask\"\n");
    let server = project.serve(&[]);
    with_filters(|| insta::assert_snapshot!(project.stable(&server.banner)));
    let (status, answer) = server.call("hello", &json!({"name": "Ada"}));
    assert_eq!((status, &answer["message"]), (200, &json!("Hello, Ada!")));
    let written = crate::support::files_below(&project.root).into_iter();
    let mut others = written.filter(|file| !file.starts_with(".vouch/"));
    assert_eq!((others.next().as_deref(), others.next()), (Some("vouch.toml"), None));
}

#[test]
fn sigterm_ends_it_well() {
    let project = Project::new();
    let server = project.serve(&[]);
    server.signal(Signal::TERM);
    let (status, said) = server.wait();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}

#[test]
fn ctrl_c_ends_it_well() {
    let project = Project::new();
    let server = project.serve(&[]);
    server.signal(Signal::INT);
    let (status, said) = server.wait();
    assert_eq!(status.code(), Some(0));
    assert_eq!(said.trim(), "finishing the calls in flight; press Ctrl-C again to stop at once");
}

/// A request whose body is half there when the signal comes.
fn half_a_request(server: &crate::support::Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = "POST /v1/tools/hello HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 14\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    // The server asks for the body once the request is being served.
    let mut go_on = [0; 25];
    std::io::Read::read_exact(&mut stream, &mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100 Continue"));
    stream.write_all(b"{\"name\":").unwrap();
    stream
}

#[test]
fn what_is_in_flight_is_finished() {
    let project = Project::new();
    let server = project.serve(&[]);
    let mut stream = half_a_request(&server);
    server.signal(Signal::TERM);
    until("the door is closed", || TcpStream::connect(server.address).is_err());
    stream.write_all(b"\"Ada\"}").unwrap();
    let (status, body) = answer(stream);
    assert_eq!((status, &body["message"]), (200, &json!("Hello, Ada!")));
    assert_eq!(server.wait().0.code(), Some(0));
}

#[test]
fn a_second_signal_stops_at_once() {
    let (int, term) = (Signal::INT, Signal::TERM);
    for (first, second) in [(int, int), (int, term), (term, int), (term, term)] {
        let project = Project::new();
        let server = project.serve(&[]);
        let stream = half_a_request(&server);
        server.signal(first);
        until("the door is closed", || TcpStream::connect(server.address).is_err());
        server.signal(second);
        assert_eq!(server.wait().0.code(), Some(130), "{first:?}, {second:?}");
        drop(stream);
    }
}

#[test]
fn quiet_says_nothing() {
    let project = Project::new();
    let mut child = project
        .command(&["-q", "serve", "--port", "0"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    until("the store is there", || project.root.join(".vouch/audit.jsonl").exists());
    crate::support::send_signal(&child, Signal::TERM);
    crate::support::wait(&mut child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(project.show(&output), "exit: 0\n--- out\n--- err\n");
}

//! Telemetry: a span of each call reaches a collector, as part of the caller's trace.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc;

use rustix::process::Signal;

use crate::support::{LIMIT, Project, Server, read_response};

const TRACE: [u8; 16] = [
    0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36,
];

/// Starts a collector that accepts OTLP requests. Returns its URL and a channel of request lines and bytes.
fn start_collector() -> (String, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = Vec::new();
            let (head, length) = loop {
                let mut buffer = [0; 4096];
                let count = stream.read(&mut buffer).unwrap();
                assert_ne!(count, 0, "the request is cut off");
                bytes.extend(&buffer[..count]);
                let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
                    continue;
                };
                let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                break (head.clone(), end + 4 + length.unwrap().parse::<usize>().unwrap());
            };
            while bytes.len() < length {
                let mut buffer = [0; 4096];
                let count = stream.read(&mut buffer).unwrap();
                bytes.extend(&buffer[..count]);
            }
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .unwrap();
            let line = head.lines().next().unwrap().to_owned();
            if sender.send((line, bytes)).is_err() {
                return;
            }
        }
    });
    (url, receiver)
}

#[test]
fn span_joins_caller_trace() {
    let (url, received) = start_collector();
    let project = Project::new();
    let mut command = project.command(&["serve", "--port", "0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &url);
    let server = Server::start(command);
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    write!(
        stream,
        "POST /v1/tools/hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\
         Authorization: Bearer {}\r\n\
         traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\r\n",
        server.token
    )
    .unwrap();
    assert_eq!(read_response(stream).0, 200);
    server.signal(Signal::TERM);
    assert_eq!(server.wait().0.code(), Some(0), "spans are sent before exit");
    let (line, body) = received.recv_timeout(LIMIT).unwrap();
    assert_eq!(line, "POST /v1/traces HTTP/1.1");
    let holds = |piece: &[u8]| body.windows(piece.len()).any(|window| window == piece);
    assert!(
        holds(&TRACE) && holds(b"hello") && holds(b"vouch"),
        "{}",
        String::from_utf8_lossy(&body)
    );
}

#[test]
fn unreachable_collector_does_not_block() {
    let project =
        Project::new().with("vouch.toml", "[telemetry]\notlp_endpoint = \"http://127.0.0.1:9\"\n");
    let server = project.start_server(&[]);
    assert_eq!(server.call("hello", &serde_json::json!({})).0, 200);
    server.signal(Signal::TERM);
    assert_eq!(server.wait().0.code(), Some(0));
}

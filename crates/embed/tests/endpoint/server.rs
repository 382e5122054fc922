//! A scripted HTTP server on a free port that records its requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// The reaction to one request.
pub(crate) enum ServerReaction {
    /// Sends these bytes and closes the connection.
    Send(Vec<u8>),
    /// Closes the connection without a response.
    Close,
    /// Keeps the connection open without a response.
    Hang,
}

/// Sends a JSON response with a status.
pub(crate) fn respond(status: u16, body: &str) -> ServerReaction {
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    ServerReaction::Send([head.as_bytes(), body.as_bytes()].concat())
}

pub(crate) struct ScriptedServer {
    address: SocketAddr,
    requests: mpsc::Receiver<Value>,
    thread: JoinHandle<()>,
}

impl ScriptedServer {
    pub(crate) fn start(script: Vec<ServerReaction>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::channel();
        let thread = std::thread::spawn(move || run_script(&listener, script, &sender));
        Self { address, requests, thread }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops the server and returns the recorded requests.
    pub(crate) fn stop(self) -> Vec<Value> {
        // An empty connection unblocks a server that waits for a request.
        drop(TcpStream::connect(self.address));
        self.thread.join().unwrap();
        self.requests.iter().collect()
    }
}

fn run_script(listener: &TcpListener, script: Vec<ServerReaction>, sender: &mpsc::Sender<Value>) {
    let mut hanging = Vec::new();
    let mut script = script.into_iter();
    loop {
        let (mut stream, _) = listener.accept().unwrap();
        let Some(request) = read_request(&stream) else { return };
        sender.send(request).unwrap();
        match script.next() {
            Some(ServerReaction::Send(bytes)) => {
                // The client may have closed the connection already.
                let _ = stream.write_all(&bytes);
                let _ = stream.shutdown(Shutdown::Write);
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            }
            Some(ServerReaction::Close) | None => {}
            Some(ServerReaction::Hang) => hanging.push(stream),
        }
    }
}

/// Reads the relevant parts of a request; returns `None` if the connection is empty.
fn read_request(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let (mut length, mut authorization) = (0, Value::Null);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => authorization = value.into(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    Some(json!({"line": line.trim_end(), "authorization": authorization, "body": body}))
}

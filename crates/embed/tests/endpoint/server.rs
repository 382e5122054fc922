//! A server on a port of its own that does as its script says, and tells what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// What to do with one request.
pub(crate) enum Act {
    /// Sends these bytes and closes.
    Send(Vec<u8>),
    /// Closes without an answer.
    Close,
    /// Keeps the connection open and says nothing.
    Hang,
}

pub(crate) fn answer(status: u16, body: &str) -> Act {
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    Act::Send([head.as_bytes(), body.as_bytes()].concat())
}

pub(crate) struct Server {
    address: SocketAddr,
    asked: mpsc::Receiver<Value>,
    thread: JoinHandle<()>,
}

impl Server {
    pub(crate) fn start(script: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, asked) = mpsc::channel();
        let thread = std::thread::spawn(move || play(&listener, script, &tell));
        Self { address, asked, thread }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked.
    pub(crate) fn stop(self) -> Vec<Value> {
        // One more connection that says nothing wakes a server that waits for a request.
        drop(TcpStream::connect(self.address));
        self.thread.join().unwrap();
        self.asked.iter().collect()
    }
}

fn play(listener: &TcpListener, script: Vec<Act>, tell: &mpsc::Sender<Value>) {
    let mut kept = Vec::new();
    let mut script = script.into_iter();
    loop {
        let (mut stream, _) = listener.accept().unwrap();
        let Some(request) = request(&stream) else { return };
        tell.send(request).unwrap();
        match script.next() {
            Some(Act::Send(bytes)) => {
                // A client that has read enough may be gone.
                let _ = stream.write_all(&bytes);
                let _ = stream.shutdown(Shutdown::Write);
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            }
            Some(Act::Close) | None => {}
            Some(Act::Hang) => kept.push(stream),
        }
    }
}

/// The parts of a request that matter; None if there is none.
fn request(stream: &TcpStream) -> Option<Value> {
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

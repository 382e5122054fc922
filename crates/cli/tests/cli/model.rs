//! A fake model behind an OpenAI-compatible endpoint: returns scripted answers and records the requests.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

pub(crate) struct FakeModel {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Value>>>,
}

impl FakeModel {
    /// Starts a model that answers requests with these texts in order, repeating the last one.
    pub(crate) fn start(answers: &[Value]) -> Self {
        let answers: Vec<String> = answers
            .iter()
            .map(|answer| match answer {
                Value::String(text) => text.clone(),
                object => object.to_string(),
            })
            .collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let (head, body) = read_request(&stream);
                assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
                let mut kept = kept.lock().unwrap();
                let text = answers.get(kept.len()).or(answers.last()).unwrap();
                kept.push(serde_json::from_str(&body).unwrap());
                drop(kept);
                write_answer(stream, text);
            }
        });
        Self { url, received }
    }

    /// Returns the bodies of all requests so far.
    pub(crate) fn received(&self) -> Vec<Value> {
        self.received.lock().unwrap().clone()
    }
}

fn read_request(mut stream: &TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let mut read = |bytes: &mut Vec<u8>| {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "the request is cut off");
        bytes.extend(&buffer[..count]);
    };
    let end = loop {
        match bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            Some(end) => break end,
            None => read(&mut bytes),
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    let length: usize = length.unwrap().parse().unwrap();
    while bytes.len() < end + 4 + length {
        read(&mut bytes);
    }
    (head, String::from_utf8(bytes[end + 4..].to_vec()).unwrap())
}

fn write_answer(mut stream: TcpStream, text: &str) {
    let body =
        json!({"choices": [{"message": {"role": "assistant", "content": text}}]}).to_string();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .unwrap();
}

//! An HTTP client for every compared server: with or without a session, answers as JSON or as a stream.
//!
//! As raw as [`crate::load`]: one connection, one call at a time, and no parsing while the time is measured.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::load::{LatencySample, check_answer};
use crate::process::BENCH_TOKEN;

/// Time limit for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProtocolEra {
    /// `initialize` for this revision and a session, which every peer speaks.
    Handshake(String),
    /// Revision 2026-07-28: every request is independent.
    Stateless,
}

pub(super) struct HttpSession {
    address: String,
    path: &'static str,
    era: ProtocolEra,
    id: Option<String>,
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl HttpSession {
    pub(super) fn open(address: &str, path: &'static str, era: ProtocolEra) -> Result<Self> {
        let (stream, reader) = connect(address)?;
        let mut session = Self {
            address: address.to_owned(),
            path,
            era: era.clone(),
            id: None,
            stream,
            reader,
            body: vec![],
        };
        if let ProtocolEra::Handshake(revision) = era {
            let hello = json!({"protocolVersion": revision, "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"}});
            session.request("initialize", &hello)?;
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let message =
                session.build_message("notifications/initialized", None, &ready.to_string());
            session.exchange(&message)?;
        }
        Ok(session)
    }

    /// Makes calls one at a time until `limit`.
    pub(super) fn run_calls_for(
        &mut self,
        tool: &str,
        arguments: &Value,
        calls: usize,
        limit: Duration,
    ) -> Result<LatencySample> {
        // Servers close connections that are idle for some seconds, as between rounds.
        (self.stream, self.reader) = connect(&self.address)?;
        let params = json!({"name": tool, "arguments": arguments});
        let message =
            self.build_message("tools/call", Some(tool), &self.build_body("tools/call", &params));
        let mut latencies = Vec::with_capacity(calls);
        let start = Instant::now();
        while latencies.len() < calls && start.elapsed() < limit {
            latencies.push(self.exchange(&message)?);
            check_answer(&self.body)?;
        }
        Ok(LatencySample::new(latencies, start.elapsed()))
    }

    /// Sends a request and returns its result. The duration excludes parsing the answer.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Result<(Duration, Value)> {
        let message = self.build_message(method, None, &self.build_body(method, params));
        let elapsed = self.exchange(&message)?;
        check_answer(&self.body)?;
        let text = std::str::from_utf8(&self.body)?;
        // In a stream, the answer is the line that has a result; plain JSON is one line.
        let answer = text.lines().find(|line| line.contains("\"result\"")).context("no result")?;
        let answer = answer.strip_prefix("data:").unwrap_or(answer);
        let mut answer: Value = serde_json::from_str(answer)?;
        Ok((elapsed, answer["result"].take()))
    }

    fn build_body(&self, method: &str, params: &Value) -> String {
        let mut params = params.clone();
        if self.era == ProtocolEra::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    }

    fn build_message(&self, method: &str, tool: Option<&str>, body: &str) -> Vec<u8> {
        let mut head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nAuthorization: Bearer {BENCH_TOKEN}\r\n\
             Content-Length: {}\r\n",
            self.path,
            self.address,
            body.len()
        );
        match (&self.era, &self.id) {
            (ProtocolEra::Stateless, _) => {
                head += &format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
                head += &tool.map(|tool| format!("Mcp-Name: {tool}\r\n")).unwrap_or_default();
            }
            (ProtocolEra::Handshake(revision), Some(id)) => {
                head += &format!("MCP-Protocol-Version: {revision}\r\nMcp-Session-Id: {id}\r\n");
            }
            (ProtocolEra::Handshake(_), None) => {}
        }
        format!("{head}\r\n{body}").into_bytes()
    }

    /// Sends a message and reads the whole response. The time ends with the answer: a stream may be closed later.
    fn exchange(&mut self, message: &[u8]) -> Result<Duration> {
        let before = Instant::now();
        self.stream.write_all(message)?;
        let head = read_head(&mut self.reader)?;
        if let Some(id) = head.session {
            self.id = Some(id);
        }
        self.body.clear();
        let mut answered = None;
        match head.length {
            Some(length) => {
                self.body.resize(length, 0);
                self.reader.read_exact(&mut self.body)?;
            }
            None if head.chunked => {
                while read_chunk(&mut self.reader, &mut self.body)? {
                    if answered.is_none() && has_answer(&self.body) {
                        answered = Some(before.elapsed());
                    }
                }
            }
            None => {}
        }
        let elapsed = answered.unwrap_or_else(|| before.elapsed());
        if !head.ok {
            bail!("{}: {}", head.status, String::from_utf8_lossy(&self.body));
        }
        Ok(elapsed)
    }
}

fn connect(address: &str) -> Result<(TcpStream, BufReader<TcpStream>)> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    let reader = BufReader::with_capacity(64 * 1024, stream.try_clone()?);
    Ok((stream, reader))
}

/// Returns true if the stream has the answer, up to the empty line that ends an event.
fn has_answer(body: &[u8]) -> bool {
    let ended = body.ends_with(b"\n\n") || body.ends_with(b"\r\n\r\n");
    ended && body.windows(8).any(|bytes| bytes == b"\"result\"" || bytes == b"\"error\":")
}

struct ResponseHead {
    status: String,
    ok: bool,
    length: Option<usize>,
    chunked: bool,
    session: Option<String>,
}

fn read_head(reader: &mut impl BufRead) -> Result<ResponseHead> {
    let mut line = String::new();
    ensure!(reader.read_line(&mut line)? > 0, "the server closed the connection");
    let status = line.trim_end().to_owned();
    let ok = [" 200", " 202"].iter().any(|code| status.contains(code));
    let mut head = ResponseHead { status, ok, length: None, chunked: false, session: None };
    loop {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "the server closed the connection");
        let text = line.trim_end();
        if text.is_empty() {
            return Ok(head);
        }
        let Some((name, value)) = text.split_once(':') else { continue };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => head.length = Some(value.parse()?),
            "transfer-encoding" => head.chunked = value.eq_ignore_ascii_case("chunked"),
            "mcp-session-id" => head.session = Some(value.to_owned()),
            _ => {}
        }
    }
}

/// Appends one chunk; false after the last.
fn read_chunk(reader: &mut impl BufRead, body: &mut Vec<u8>) -> Result<bool> {
    let mut line = String::new();
    ensure!(reader.read_line(&mut line)? > 0, "the server closed the connection");
    let length = usize::from_str_radix(line.trim(), 16).context("invalid chunk length")?;
    let before = body.len();
    body.resize(before + length, 0);
    reader.read_exact(&mut body[before..])?;
    line.clear();
    reader.read_line(&mut line)?;
    Ok(length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_chunked_event_stream() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nmcp-session-id: s 1\r\n\r\n\
                    6\r\nid: 1\n\r\n1b\r\ndata: {\"id\":1,\"result\":{}}\n\r\n1\r\n\n\r\n0\r\n\r\nHTTP/1.1";
        let mut reader = text.as_bytes();
        let head = read_head(&mut reader).expect("a head");
        assert!(head.ok && head.chunked && head.length.is_none());
        assert_eq!(head.session.as_deref(), Some("s 1"));
        let mut body = Vec::new();
        let mut seen = Vec::new();
        while read_chunk(&mut reader, &mut body).expect("a chunk") {
            seen.push(has_answer(&body));
        }
        assert_eq!(seen, [false, false, true]);
        assert_eq!(body, b"id: 1\ndata: {\"id\":1,\"result\":{}}\n\n");
        assert_eq!(reader, b"HTTP/1.1", "the next response is not consumed");
    }

    #[test]
    fn rejects_truncated_responses() {
        assert!(read_head(&mut &b""[..]).is_err());
        assert!(read_head(&mut &b"HTTP/1.1 200 OK\r\n"[..]).is_err());
        assert!(read_chunk(&mut &b"5\r\nab"[..], &mut Vec::new()).is_err());
        assert!(read_chunk(&mut &b"no number\r\n"[..], &mut Vec::new()).is_err());
    }
}

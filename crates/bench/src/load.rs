//! Load generator: raw JSON-RPC over pipes and sockets, so that the client costs little.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::process::BENCH_TOKEN;

/// Latencies of one round of calls, sorted.
#[derive(Clone, Debug)]
pub(crate) struct LatencySample {
    pub(crate) calls: usize,
    pub(crate) elapsed: Duration,
    latencies: Vec<Duration>,
}

impl LatencySample {
    pub(crate) fn per_second(&self) -> f64 {
        self.calls as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns a latency quantile in microseconds.
    pub(crate) fn quantile_us(&self, share: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let index = (last as f64 * share).round() as usize;
        self.latencies.get(index).map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
    }

    pub(crate) fn new(mut latencies: Vec<Duration>, elapsed: Duration) -> Self {
        latencies.sort_unstable();
        Self { calls: latencies.len(), elapsed, latencies }
    }
}

/// A session over the pipes of a stdio server, after the handshake.
pub(crate) struct StdioSession<W, R> {
    input: W,
    output: R,
    line: String,
    /// Id of the last request sent by [`Self::send_request`]; starts above the ids that other methods use.
    id: u64,
}

impl<W: Write, R: BufRead> StdioSession<W, R> {
    pub(crate) fn open(input: W, output: R) -> Result<Self> {
        let mut pipes = Self { input, output, line: String::new(), id: 1 << 32 };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        }});
        pipes.exchange(format!("{hello}\n").as_bytes())?;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        pipes.input.write_all(format!("{ready}\n").as_bytes())?;
        pipes.input.flush()?;
        Ok(pipes)
    }

    /// Makes `calls` calls with up to `in_flight` of them unanswered at any time.
    pub(crate) fn run_calls(
        &mut self,
        tool: &str,
        arguments: &Value,
        in_flight: usize,
        calls: usize,
    ) -> Result<LatencySample> {
        let params = json!({"name": tool, "arguments": arguments});
        let head = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":"#);
        let mut sent = VecDeque::with_capacity(in_flight);
        let mut latencies = Vec::with_capacity(calls);
        let mut next = 0;
        let start = Instant::now();
        while latencies.len() < calls {
            while next < calls && sent.len() < in_flight {
                self.input.write_all(format!("{head}{next}}}\n").as_bytes())?;
                sent.push_back(Instant::now());
                next += 1;
            }
            self.input.flush()?;
            self.receive()?;
            // Answers may arrive out of order; the sum of all waiting times is not affected.
            latencies.extend(sent.pop_front().map(|since| since.elapsed()));
            check_answer(self.line.as_bytes())?;
        }
        Ok(LatencySample::new(latencies, start.elapsed()))
    }

    /// Makes calls one at a time until `limit`. Unlike [`Self::run_calls`], it skips other messages between answers.
    pub(crate) fn run_calls_for(
        &mut self,
        tool: &str,
        arguments: &Value,
        calls: usize,
        limit: Duration,
    ) -> Result<LatencySample> {
        let params = json!({"name": tool, "arguments": arguments});
        let head = format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":"#);
        let mut latencies = Vec::with_capacity(calls);
        let start = Instant::now();
        while latencies.len() < calls && start.elapsed() < limit {
            latencies.push(self.send_request(&head)?);
            check_answer(self.line.as_bytes())?;
        }
        Ok(LatencySample::new(latencies, start.elapsed()))
    }

    /// Sends a request and returns its result. The duration excludes parsing the answer.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<(Duration, Value)> {
        let head = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":"#);
        let elapsed = self.send_request(&head)?;
        check_answer(self.line.as_bytes())?;
        let mut answer: Value = serde_json::from_str(&self.line)?;
        Ok((elapsed, answer["result"].take()))
    }

    /// Sends a request with a new id and skips other messages. The answer is left in `line`.
    fn send_request(&mut self, head: &str) -> Result<Duration> {
        self.id += 1;
        let message = format!("{head}{}}}\n", self.id);
        let ids = [format!("\"id\":{},", self.id), format!("\"id\":{}}}", self.id)];
        let before = Instant::now();
        self.exchange(message.as_bytes())?;
        while !ids.iter().any(|id| self.line.contains(id)) {
            self.receive()?;
        }
        Ok(before.elapsed())
    }

    /// Makes one call and returns its structured content. The duration excludes parsing the answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value)> {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments,
        }});
        let message = format!("{message}\n");
        let before = Instant::now();
        self.exchange(message.as_bytes())?;
        let elapsed = before.elapsed();
        let mut answer: Value = serde_json::from_str(&self.line)?;
        Ok((elapsed, answer["result"]["structuredContent"].take()))
    }

    fn exchange(&mut self, message: &[u8]) -> Result<()> {
        self.input.write_all(message)?;
        self.input.flush()?;
        self.receive()
    }

    fn receive(&mut self) -> Result<()> {
        self.line.clear();
        ensure!(self.output.read_line(&mut self.line)? > 0, "the server closed the connection");
        Ok(())
    }
}

/// An HTTP connection that makes one call at a time, in the stateless protocol revision.
pub(crate) struct HttpConnection {
    address: String,
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl HttpConnection {
    pub(crate) fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let reader = BufReader::with_capacity(64 * 1024, stream.try_clone()?);
        Ok(Self { address: address.to_owned(), stream, reader, body: Vec::new() })
    }

    /// Makes one call and returns its structured content. The duration excludes parsing the answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value)> {
        let request = http_request(&self.address, tool, arguments);
        let before = Instant::now();
        self.stream.write_all(&request)?;
        read_response(&mut self.reader, &mut self.body)?;
        let elapsed = before.elapsed();
        check_answer(&self.body)?;
        let mut answer: Value = serde_json::from_slice(&self.body)?;
        Ok((elapsed, answer["result"]["structuredContent"].take()))
    }
}

/// Makes calls over HTTP in the stateless revision, one at a time on each connection.
pub(crate) fn run_http_calls(
    address: &str,
    tool: &str,
    arguments: &Value,
    connections: usize,
    calls: usize,
) -> Result<LatencySample> {
    let request = http_request(address, tool, arguments);
    let each = calls / connections;
    let start = Instant::now();
    let latencies = std::thread::scope(|scope| -> Result<Vec<Duration>> {
        let workers: Vec<_> = (0..connections)
            .map(|_| scope.spawn(|| run_connection(address, &request, each)))
            .collect();
        let mut all = Vec::with_capacity(calls);
        for worker in workers {
            all.extend(
                worker.join().map_err(|_| anyhow::anyhow!("a connection thread panicked"))??,
            );
        }
        Ok(all)
    })?;
    Ok(LatencySample::new(latencies, start.elapsed()))
}

fn http_request(address: &str, tool: &str, arguments: &Value) -> Vec<u8> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
    .to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nAuthorization: Bearer {BENCH_TOKEN}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn run_connection(address: &str, request: &[u8], calls: usize) -> Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(64 * 1024, stream.try_clone()?);
    let mut latencies = Vec::with_capacity(calls);
    let mut body = Vec::new();
    for _ in 0..calls {
        let before = Instant::now();
        stream.write_all(request)?;
        read_response(&mut reader, &mut body)?;
        latencies.push(before.elapsed());
        check_answer(&body)?;
    }
    Ok(latencies)
}

fn read_response(reader: &mut impl BufRead, body: &mut Vec<u8>) -> Result<()> {
    let mut line = String::new();
    let mut length = None;
    let mut status = None;
    loop {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "the server closed the connection");
        let text = line.trim_end();
        if status.is_none() {
            status = Some(text.to_owned());
        } else if text.is_empty() {
            break;
        } else if let Some((name, value)) = text.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse()?);
        }
    }
    let length: usize = length.context("response has no content-length")?;
    body.resize(length, 0);
    reader.read_exact(body)?;
    match status {
        Some(status) if status.contains(" 200 ") => Ok(()),
        status => bail!("{status:?}: {}", String::from_utf8_lossy(body)),
    }
}

/// Returns an error if a call failed: failures would be fast and worthless. Searches for `isError` instead of parsing.
pub(crate) fn check_answer(answer: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(answer)?;
    ensure!(
        text.contains("\"result\"") && !text.contains("\"isError\":true"),
        "a call failed: {}",
        text.chars().take(400).collect::<String>()
    );
    Ok(())
}

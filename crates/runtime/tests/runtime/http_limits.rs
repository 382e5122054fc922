//! Tests of the limits of the HTTP server: each is exceeded by an attacker while a client works.

use std::sync::Arc;
use std::time::Duration;

use runtime::transports::http::{BearerTokens, HttpLimits};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::{HttpServer, NEVER, fetch_summary};

/// Time after which a wait has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(50);

async fn server_with(adjust: impl FnOnce(&mut HttpLimits)) -> HttpServer {
    let mut limits = HttpLimits {
        header_timeout: NEVER,
        body_timeout: NEVER,
        idle_timeout: NEVER,
        write_timeout: NEVER,
        ..HttpLimits::default()
    };
    adjust(&mut limits);
    HttpServer::with_options(|options| options.limits = Arc::new(limits)).await
}

/// Waits for the end of the connection and returns what arrived before. A reset is an end too.
async fn read_to_end(mut stream: TcpStream) -> String {
    let mut received = Vec::new();
    let end = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut received)).await;
    assert!(end.is_ok(), "the connection does not end");
    String::from_utf8_lossy(&received).into_owned()
}

/// Reads the head and the body of one response, and leaves the connection open.
async fn read_response(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut received = String::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        received.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let Some((head, body)) = received.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() >= length.parse::<usize>().unwrap() {
            return Ok(received);
        }
    }
}

async fn call_echo(stream: &mut TcpStream, address: &str) -> String {
    try_to_call_echo(stream, address).await.unwrap()
}

/// Errors if the connection ends before the answer.
async fn try_to_call_echo(stream: &mut TcpStream, address: &str) -> std::io::Result<String> {
    let body = r#"{"text":"hi"}"#;
    let request = format!(
        "POST /v1/tools/echo HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    read_response(stream).await
}

async fn wait_for_metric(server: &HttpServer, line: &str) {
    let start = std::time::Instant::now();
    while !server.metrics().lines().any(|one| one == line) {
        assert!(start.elapsed() < PATIENCE, "no line `{line}` in\n{}", server.metrics());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn strangers_cannot_displace_a_client_or_block_the_health_check() {
    let server = server_with(|limits| limits.max_connections = 8).await;
    let mut client = TcpStream::connect(server.address()).await.unwrap();
    assert!(call_echo(&mut client, server.address()).await.starts_with("HTTP/1.1 200"));
    let mut strangers = Vec::new();
    for number in 0..200 {
        let mut stranger = TcpStream::connect(server.address()).await.unwrap();
        if number % 2 == 0 {
            // It may already be closed.
            let _ = stranger.write_all(b"GET /healthz HTTP/1.1\r\nHo").await;
        }
        strangers.push(stranger);
    }
    assert_eq!(server.get("/healthz").send().await.unwrap().status(), 200);
    // The client was idle for longer than any stranger, and is still connected.
    assert!(call_echo(&mut client, server.address()).await.starts_with("HTTP/1.1 200"));
    assert!(server.metrics().contains("vouch_connections_closed_total{reason=\"displaced\"}"));
    drop((strangers, client));
    let metrics = server.stop().await.pipeline.metrics().render().unwrap();
    assert!(metrics.contains("vouch_connections_open 0"), "{metrics}");
}

#[tokio::test]
async fn request_in_flight_is_not_displaced() {
    let server = server_with(|limits| limits.max_connections = 2).await;
    let call = tokio::spawn(server.post("/v1/tools/patient").body(r#"{"text":""}"#).send());
    wait_for_metric(&server, "vouch_calls_in_flight 1").await;
    let mut strangers = Vec::new();
    for _ in 0..50 {
        strangers.push(TcpStream::connect(server.address()).await.unwrap());
    }
    assert_eq!(server.get("/healthz").send().await.unwrap().status(), 200);
    assert!(!call.is_finished());
    assert!(server.metrics().contains("vouch_calls_in_flight 1"));
    call.abort();
}

#[tokio::test]
async fn connection_is_refused_if_all_others_are_in_use() {
    let server = server_with(|limits| limits.max_connections = 1).await;
    let call = tokio::spawn(server.post("/v1/tools/patient").body(r#"{"text":""}"#).send());
    wait_for_metric(&server, "vouch_calls_in_flight 1").await;
    let stranger = TcpStream::connect(server.address()).await.unwrap();
    let answer = read_to_end(stranger).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("Retry-After"), "{answer}");
    wait_for_metric(&server, "vouch_http_refusals_total{limit=\"connections\"} 1").await;
    assert!(!call.is_finished());
    call.abort();
}

/// The system allows no thread for blocking code: its stack is larger than the address space.
#[test]
fn call_without_a_thread_is_answered() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.thread_stack_size(1 << 60).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = HttpServer::with_options(|_| {}).await;
        let failed = "the tool failed unexpectedly; see the server log for the cause";
        let rest = fetch_summary(server.post("/v1/tools/echo").body(r#"{"text":"hi"}"#)).await;
        assert_eq!(rest, format!(r#"500 "INTERNAL_ERROR" "{failed}""#));
        let call = json!({"name": "echo", "arguments": {"text": "hi"}});
        let reply = server.rpc("tools/call", call).send();
        let reply = tokio::time::timeout(PATIENCE, reply).await.expect("an answer").unwrap();
        let body: Value = reply.json().await.unwrap();
        let error = &body["result"]["structuredContent"]["error"];
        assert_eq!((&error["code"], &error["message"]), (&"INTERNAL_ERROR".into(), &failed.into()));
        assert_eq!(server.get("/healthz").send().await.unwrap().status(), 200);
        server.stop().await;
    });
}

fn count_header_timeouts(server: &HttpServer) -> usize {
    let name = "vouch_connections_closed_total{reason=\"header_timeout\"} ";
    let count = server.metrics().lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
    count.unwrap_or(0)
}

#[tokio::test]
async fn unfinished_headers_end_at_their_time_limit() {
    let server = server_with(|limits| limits.header_timeout = SOON).await;
    for start in
        ["", "G", "GET /healthz HTTP/1.1\r\nHost: x\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    {
        let mut stranger = TcpStream::connect(server.address()).await.unwrap();
        // It may already be closed.
        let _ = stranger.write_all(start.as_bytes()).await;
        read_to_end(stranger).await;
    }
    wait_for_metric(&server, "vouch_connections_closed_total{reason=\"header_timeout\"} 4").await;
    // The same for the second request of a connection, which may be idle before it. On a busy machine, the limit may pass
    // before the first request is read.
    let mut client = loop {
        let mut client = TcpStream::connect(server.address()).await.unwrap();
        if try_to_call_echo(&mut client, server.address()).await.is_ok() {
            break client;
        }
    };
    let before = count_header_timeouts(&server);
    client.write_all(b"GET /healthz HTTP/1.1\r\n").await.unwrap();
    read_to_end(client).await;
    let line =
        format!("vouch_connections_closed_total{{reason=\"header_timeout\"}} {}", before + 1);
    wait_for_metric(&server, &line).await;
}

#[tokio::test]
async fn idle_connection_ends_at_its_time_limit() {
    let server = server_with(|limits| limits.idle_timeout = SOON).await;
    let mut client = TcpStream::connect(server.address()).await.unwrap();
    call_echo(&mut client, server.address()).await;
    read_to_end(client).await;
    wait_for_metric(&server, "vouch_connections_closed_total{reason=\"idle\"} 1").await;
}

#[tokio::test]
async fn unfinished_body_is_answered_at_its_time_limit() {
    let server = server_with(|limits| limits.body_timeout = SOON).await;
    for path in ["/v1/tools/echo", "/mcp"] {
        let mut client = TcpStream::connect(server.address()).await.unwrap();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n{{",
            server.address()
        );
        client.write_all(request.as_bytes()).await.unwrap();
        let answer = read_to_end(client).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("did not arrive within 50 ms"), "{answer}");
    }
}

#[tokio::test]
async fn client_that_reads_nothing_is_disconnected() {
    let server = server_with(|limits| limits.write_timeout = SOON).await;
    let mut client = TcpStream::connect(server.address()).await.unwrap();
    let request = format!("GET /openapi.json HTTP/1.1\r\nHost: {}\r\n\r\n", server.address());
    // Pipelined requests whose responses fill the buffers of the socket.
    let flood = async { while client.write_all(request.as_bytes()).await.is_ok() {} };
    assert!(tokio::time::timeout(PATIENCE, flood).await.is_ok(), "it is not disconnected");
    wait_for_metric(&server, "vouch_connections_closed_total{reason=\"write_timeout\"} 1").await;
}

async fn initialize(server: &HttpServer, token: &str) -> reqwest::Response {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }});
    server.post("/mcp").bearer_auth(token).body(hello.to_string()).send().await.unwrap()
}

#[tokio::test]
async fn sessions_are_limited_per_client_and_in_total() {
    const TOKENS: [&str; 3] = ["0123456789abcdef", "1123456789abcdef", "2123456789abcdef"];
    let limits =
        HttpLimits { max_sessions: 5, max_sessions_per_client: 2, ..HttpLimits::default() };
    let server = HttpServer::with_options(|options| {
        let [a, b, c] = TOKENS;
        options.tokens = BearerTokens::parse(&format!("a {a}\nb {b}\nc {c}")).unwrap();
        options.limits = Arc::new(limits);
    })
    .await;
    let mut log = Vec::new();
    let mut opened = None;
    for token in TOKENS.iter().flat_map(|token| [token; 3]) {
        let reply = initialize(&server, token).await;
        let status = reply.status().as_u16();
        if status == 200 {
            opened.get_or_insert(reply.headers()["mcp-session-id"].clone());
            log.push("200".to_owned());
            continue;
        }
        assert_eq!(reply.headers()["retry-after"], "30");
        let body: Value = reply.json().await.unwrap();
        let error = &body["error"];
        assert_eq!(error["data"]["code"], "RATE_LIMITED");
        log.push(format!("{status} {} {}", error["code"], error["message"]));
    }
    insta::assert_snapshot!(log.join("\n"));
    // A session that ended makes room.
    let end =
        server.delete("/mcp").bearer_auth(TOKENS[0]).header("mcp-session-id", opened.unwrap());
    assert!(end.send().await.unwrap().status().is_success());
    assert_eq!(initialize(&server, TOKENS[0]).await.status(), 200);
    // Requests without a session are not concerned.
    let list = server.rpc("tools/list", json!({})).bearer_auth(TOKENS[1]);
    assert_eq!(list.send().await.unwrap().status(), 200);
    assert!(server.metrics().contains("vouch_sessions_open 5"));
}

#[tokio::test]
async fn idle_session_expires() {
    let server = server_with(|limits| limits.session_idle_timeout = SOON).await;
    let session = server.initialize().await;
    // It ends although its client does nothing, and no other session needs its place.
    wait_for_metric(&server, "vouch_sessions_open 0").await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let late = session.add_headers(server.post("/mcp")).body(list).send().await.unwrap();
    assert_eq!(late.status(), 404);
}

#[tokio::test]
async fn streams_of_a_session_are_limited() {
    let server = server_with(|limits| limits.max_streams_per_session = 2).await;
    let session = server.initialize().await;
    let listen = || {
        let request = server.get("/mcp").header("accept", "text/event-stream");
        session.add_headers(request).send()
    };
    let first = listen().await.unwrap();
    let _second = listen().await.unwrap();
    let third = listen().await.unwrap();
    assert_eq!(third.status(), 429);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let refused = session.add_headers(server.post("/mcp")).body(call.to_string());
    let refused: Value = refused.send().await.unwrap().json().await.unwrap();
    assert_eq!(refused["error"]["message"], "the session has its maximum of 2 open streams");
    // A stream whose client disconnected makes room.
    drop(first);
    let start = std::time::Instant::now();
    while listen().await.unwrap().status() != 200 {
        assert!(start.elapsed() < PATIENCE, "the stream is still counted");
        tokio::task::yield_now().await;
    }
}

/// Sends the headers of a request, which reserves memory for its body until the connection ends.
async fn hold_memory(server: &HttpServer, body_length: usize) -> TcpStream {
    let mut holder = TcpStream::connect(server.address()).await.unwrap();
    let head = format!(
        "POST /v1/tools/echo HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {body_length}\r\n\r\n",
        server.address()
    );
    holder.write_all(head.as_bytes()).await.unwrap();
    holder
}

#[tokio::test]
async fn requests_over_the_memory_budget_are_refused_and_later_ones_served() {
    const BUDGET: usize = 1 << 20;
    let server = server_with(|limits| limits.max_memory_bytes = BUDGET).await;
    let small = || server.post("/v1/tools/echo").body(r#"{"text":"hi"}"#).send();
    let big = hold_memory(&server, 100_000).await;
    let held = 8 * 100_000 + 32 * 1024;
    wait_for_metric(&server, &format!("vouch_http_memory_bytes {held}")).await;
    let other = hold_memory(&server, 12_000).await;
    let held = held + 8 * 12_000 + 32 * 1024;
    wait_for_metric(&server, &format!("vouch_http_memory_bytes {held}")).await;
    assert_eq!(small().await.unwrap().status(), 200);
    for path in ["/v1/tools/echo", "/mcp"] {
        let body = json!({"text": "x".repeat(10_000)}).to_string();
        let reply = server.post(path).body(body.clone()).send().await.unwrap();
        assert_eq!(reply.status(), 429, "{path}");
        assert_eq!(reply.headers()["retry-after"], "1");
        assert!(reply.text().await.unwrap().contains("use the memory of this server"));
        // The same without a declared length: it is refused when its bytes arrive.
        let body = futures::stream::iter([Ok::<_, std::io::Error>(body)]);
        let reply = server.post(path).body(reqwest::Body::wrap_stream(body)).send().await.unwrap();
        assert_eq!(reply.status(), 429, "{path}");
    }
    let last = hold_memory(&server, 100_000).await;
    assert!(read_to_end(last).await.starts_with("HTTP/1.1 429"));
    drop((big, other));
    wait_for_metric(&server, "vouch_http_memory_bytes 0").await;
    assert_eq!(small().await.unwrap().status(), 200);
}

/// Many small values take a hundred times the memory of a long string.
#[tokio::test]
async fn request_of_too_many_values_is_refused_before_it_is_parsed() {
    let server = server_with(|limits| limits.max_memory_bytes = 2 << 20).await;
    let values = format!(r#"{{"text":[{}0]}}"#, "[0],".repeat(3_000));
    for path in ["/v1/tools/echo", "/mcp"] {
        let chunks =
            values.as_bytes().chunks(1000).map(|part| Ok::<_, std::io::Error>(part.to_vec()));
        let chunks = futures::stream::iter(chunks.collect::<Vec<_>>());
        for body in [reqwest::Body::from(values.clone()), reqwest::Body::wrap_stream(chunks)] {
            let reply = server.post(path).body(body).send().await.unwrap();
            assert_eq!(reply.status(), 413, "{path}");
            let text = reply.text().await.unwrap();
            assert!(text.contains("more than the 2 MB of memory"), "{text}");
            assert!(text.contains("TOO_LARGE"), "{text}");
        }
    }
    wait_for_metric(&server, "vouch_http_refusals_total{limit=\"memory\"} 4").await;
    // The parser replaces such an object by the value in its string.
    for key in ["$serde_json::private::RawValue", "\\u0024serde_json::private::RawValue"] {
        let body = format!(r#"{{"text":{{"{key}":"[{}0]"}}}}"#, "0,".repeat(3_000));
        for path in ["/v1/tools/echo", "/mcp"] {
            let reply = server.post(path).body(body.clone()).send().await.unwrap();
            assert_eq!(reply.status(), 400, "{path}");
            assert!(reply.text().await.unwrap().contains("has a key that is reserved"), "{path}");
        }
    }
    // A string of the same length is parsed, and then refused by the schema.
    let string = json!({"text": "[0],".repeat(3_000)}).to_string();
    let reply = server.post("/v1/tools/echo").body(string).send().await.unwrap();
    assert_eq!(reply.status(), 400);
    wait_for_metric(&server, "vouch_http_memory_bytes 0").await;
}

#[tokio::test]
async fn streams_of_an_http2_connection_are_limited() {
    let server = server_with(|limits| limits.max_streams = 2).await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let url = format!("http://{}/v1/tools/patient", server.address());
    let patient = || {
        let request = client.post(&url).header("content-type", "application/json");
        tokio::spawn(request.body(r#"{"text":""}"#).send())
    };
    let calls = [patient(), patient(), patient(), patient()];
    wait_for_metric(&server, "vouch_calls_in_flight 2").await;
    // Another connection is answered, so the other calls had the time to arrive.
    assert_eq!(server.get("/healthz").send().await.unwrap().status(), 200);
    assert!(server.metrics().contains("vouch_calls_in_flight 2"));
    calls.iter().for_each(tokio::task::JoinHandle::abort);
}

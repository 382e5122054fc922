//! Tests of tool calls that are answered without the SDK: they get the answers that the SDK would give, and live as long as
//! calls of the SDK.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use contract::{Caller, Constraints, ContentBlock, Contract, RawResult, ToolOutput};
use runtime::transports::http::{BearerTokens, HttpLimits};
use runtime::transports::mcp::McpService;
use runtime::transports::stdio::serve_streams;
use runtime::{CallInterruption, Catalog, ElicitationBroker, Pipeline, PipelineOptions, RateClock};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::http::{HttpServer, HttpSession, NEVER, identity};
use crate::rig::{AsyncScript, Rig, ScriptedUpstream, build_contract, tools};
use crate::stdio::stateless_request;

/// The number of the first call in event ids that is not the SDK's.
pub(crate) const FIRST_NUMBER: u64 = 1 << 32;

pub(crate) type Headers = Vec<(&'static str, &'static str)>;

/// A request with its status, headers and body, and the number in the ids of its events.
pub(crate) struct Reply {
    pub(crate) summary: String,
    pub(crate) number: Option<u64>,
}

pub(crate) async fn send(server: &HttpServer, headers: &Headers, body: Vec<u8>) -> Reply {
    let mut request = server.plain_post("/mcp");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    summarize(request.body(body).send().await.unwrap()).await
}

pub(crate) async fn summarize(reply: reqwest::Response) -> Reply {
    let status = reply.status();
    let headers = reply.headers().iter().filter(|(name, _)| *name != "date");
    let mut headers: Vec<_> = headers
        .map(|(name, value)| match name.as_str() {
            "content-length" => name.to_string(),
            _ => format!("{name}: {value:?}"),
        })
        .collect();
    headers.sort();
    let body = reply.text().await.unwrap();
    let (body, number) = hide_number(&body);
    // The other request is longer.
    let body = match body.rsplit_once(" at line ") {
        Some((reason, rest)) => {
            let place = |it: char| it.is_ascii_digit() || " column".contains(it);
            reason.to_owned() + rest.trim_start_matches(place)
        }
        None => body,
    };
    let summary = format!("{status} {}\n{body}", headers.join(", "));
    Reply { summary, number }
}

/// Returns the event stream without the number of the request in its ids, and the number.
pub(crate) fn hide_number(body: &str) -> (String, Option<u64>) {
    let mut number = None;
    let lines = body.split('\n').map(|line| {
        let id = line.strip_prefix("id: ").and_then(|id| id.split_once('/'));
        let Some((index, request)) = id else { return line.to_owned() };
        number = Some(request.parse().unwrap());
        format!("id: {index}/N")
    });
    let body = lines.collect::<Vec<_>>().join("\n");
    (body, number)
}

/// Returns the same request with a member that has no meaning, which only the SDK answers.
pub(crate) fn for_sdk(body: &[u8]) -> Vec<u8> {
    match body.trim_ascii_start().strip_prefix(b"{") {
        Some(rest) if rest.trim_ascii_start().starts_with(b"\"") => {
            [&br#"{"unknown":0,"#[..], rest].concat()
        }
        _ => body.to_vec(),
    }
}

/// Returns a server with local tools, and with upstream tools that answer in every form.
pub(crate) async fn start_server() -> HttpServer {
    let mut catalog = Catalog::default();
    for tool in tools() {
        catalog.add_tool(tool).unwrap();
    }
    let blocks = ToolOutput {
        structured: Some(json!({"text": "é\n\"\\\u{1}"})),
        content: vec![ContentBlock::Block(json!({"type": "image", "data": "AA==", "z": 1.10}))],
        ..ToolOutput::from_text("")
    };
    let lines = "{\r\n  \"content\": [ ],\n \"structuredContent\": {\"text\": \"\\u00e9\\n\"}}";
    let failed = r#"{"isError":true,"content":[{"type":"text","text":"no"}]}"#;
    let answers = [
        ("raw", raw_answer(lines, true)),
        ("bare", raw_answer(r#" {"structuredContent":{"text":"x"}}"#, false)),
        ("typed", raw_answer(r#"{"content":[],"resultType":"complete"}"#, true)),
        ("failed", ToolOutput { is_error: true, ..raw_answer(failed, true) }),
        ("blocks", blocks),
    ];
    for (name, output) in answers {
        let answer = move |_: Value| Ok::<_, CallInterruption>(output.clone());
        let contract = build_contract(name, Constraints::default());
        catalog.add_invoker(contract, Arc::new(ScriptedUpstream(answer))).unwrap();
    }
    let annotated = build_annotated_contract();
    let answer = |_: Value| Ok(ToolOutput::from_structured(json!({"text": "x"})));
    catalog.add_invoker(annotated, Arc::new(ScriptedUpstream(answer))).unwrap();
    // Each call comes an hour after the one before, so that none exceeds a rate.
    let hours = AtomicU64::new(0);
    let now = move || Duration::from_secs(3600 * hours.fetch_add(1, Ordering::Relaxed));
    let options = PipelineOptions { rate_clock: RateClock::new(now), ..PipelineOptions::default() };
    let rig = Rig::with_catalog(catalog, options).await;
    HttpServer::with_rig(rig, |http| {
        // On a busy machine, one of two answers would be sent in parts.
        http.limits = Arc::new(HttpLimits { hold_back: NEVER, ..HttpLimits::clone(&http.limits) });
    })
    .await
}

/// Returns the contract of a tool whose argument clients repeat in a header, for nodes that do not read the body.
fn build_annotated_contract() -> Arc<Contract> {
    let mut definition = build_contract("annotated", Constraints::default()).to_definition();
    let schema = definition.input_schema.as_mut().unwrap();
    schema["properties"]["text"]["x-mcp-header"] = json!("Text");
    Arc::new(Contract::new(definition, &[]).unwrap())
}

fn raw_answer(text: &str, has_content: bool) -> ToolOutput {
    let has_structured = text.contains("structuredContent");
    let has_type = text.contains("resultType");
    let raw = RawResult { text: text.into(), has_type, has_content, has_structured };
    ToolOutput { raw: Some(raw), ..ToolOutput::from_structured(json!({"text": "x"})) }
}

/// Returns bodies of calls: ordinary ones, with results and errors of every kind, and malformed ones. `meta` is the text of
/// `_meta`.
pub(crate) fn call_bodies(meta: &str) -> Vec<String> {
    let names = [
        "echo",
        "raw",
        "bare",
        "typed",
        "failed",
        "blocks",
        "liar",
        "silent",
        "panics",
        "huge",
        "small_input",
        "write",
        "missing",
        "",
        "e cho",
        "ü",
    ];
    let arguments = [
        r#"{"text":"a"}"#,
        r#"{"text":"\u00e9\n\"\\ \ud83d\ude00 ü","times":2}"#,
        r#"{ "text" : "a" , "times" : 1e0 }"#,
        r#"{"text":"a","text":"b"}"#,
        r#"{"text":1.50,"times":123456789012345678901234567890}"#,
        r#"{"text":"a","times":-0}"#,
        "{}",
        "null",
        "[]",
        r#""text""#,
        r#"{"text":"\ud800"}"#,
        r#"{"text":1e400}"#,
        r#"{"text":"a",}"#,
    ];
    let mut bodies = Vec::new();
    let params = |name: &str, arguments: &str| {
        format!(r#"{{"name":"{name}","arguments":{arguments},"_meta":{meta}}}"#)
    };
    let call = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
    };
    bodies.extend(names.map(|name| call(&params(name, arguments[0]))));
    bodies.extend(arguments.map(|arguments| call(&params("echo", arguments))));
    let echo = params("echo", arguments[0]);
    // Ids and the other members of a message.
    for id in [
        "0",
        "-7",
        "\"a\"",
        "\"\"",
        "9223372036854775807",
        "9223372036854775808",
        "1.0",
        "1.5",
        "null",
        "true",
        "[]",
        "{}",
    ] {
        bodies.push(format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{echo}}}"#
        ));
    }
    bodies.extend([
        format!(r#"{{"params":{echo},"method":"tools/call","id":1,"jsonrpc":"2.0"}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{echo}}}"#),
        format!(r#"{{"jsonrpc":"2\u002e0","id":1,"method":"tools/call","params":{echo}}}"#),
        format!(r#"{{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{echo}}}"#),
        format!(r#"{{"id":1,"method":"tools/call","params":{echo}}}"#),
        format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{echo}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{echo}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{echo}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{}},"method":"tools/call","params":{echo}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"err\u006fr":{{}},"method":"tools/call","params":{echo}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{echo}}} {{}}"#),
        format!("[{}]", call(&echo)),
        format!("\u{feff}{}", call(&echo)),
        format!("\n\t {} \n", call(&echo)),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_owned(),
        call("null"),
        call("[]"),
        call(r#"{"arguments":{}}"#),
        call(r#"{"name":7,"arguments":{"text":"a"}}"#),
        call(r#"{"name":"echo","arguments":{"text":"a"},"task":{}}"#),
        call(r#"{"name":"echo","name":"liar","arguments":{"text":"a"}}"#),
        call(r#"{"name":"echo","arguments":{"text":"a"},"requestState":"x"}"#),
        call(r#"{"name":"echo","arguments":{"text":"a"},"inputResponses":{}}"#),
    ]);
    // As deep as the parser goes, and deeper.
    for depth in [60, 120, 124, 125, 126, 127, 128, 200] {
        let deep = "[".repeat(depth) + &"]".repeat(depth);
        bodies.push(call(&params("echo", &format!(r#"{{"text":{deep}}}"#))));
    }
    bodies
}

pub(crate) fn metas(context: &str) -> Vec<String> {
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let mut metas: Vec<String> = [
        r#""dev.vouchsafe/session":"review-7""#,
        r#""dev.vouchsafe/session":"no handle""#,
        r#""dev.vouchsafe/session":null"#,
        r#""progressToken":1"#,
        r#""progressToken":null"#,
        r#""progressToken":[]"#,
        r#""x":{"y":[1,2]},"x":3"#,
        &format!(r#""traceparent":"{traceparent}""#),
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#,
        r#""io.modelcontextprotocol/protocolVersion":"2025-06-18""#,
        r#""io.modelcontextprotocol/protocolVersion":"2099-01-01""#,
        r#""io.modelcontextprotocol/protocolVersion":7"#,
        r#""io.modelcontextprotocol/clientInfo":"x""#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"n","version":"v"}"#,
        r#""io.modelcontextprotocol/clientCapabilities":null"#,
        r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#,
        r#""io.modelcontextprotocol/clientCapabilities":{"elicitation":7}"#,
        r#""io.modelcontextprotocol/logLevel":"loud""#,
    ]
    .iter()
    // A later member with the same name counts.
    .map(|member| {
        if context.is_empty() { format!("{{{member}}}") } else { format!("{{{context},{member}}}") }
    })
    .collect();
    metas.extend(["null", "[]", "7", "{}"].map(str::to_owned));
    metas
}

pub(crate) fn call_with_meta(meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"echo","arguments":{{"text":"a"}},"_meta":{meta}}}}}"#
    )
}

/// Sends a request in both ways and compares the answers. Returns true if the SDK did not answer the first one.
pub(crate) async fn compare(server: &HttpServer, headers: &Headers, body: &str) -> bool {
    let direct = send(server, headers, body.as_bytes().to_vec()).await;
    let by_sdk = send(server, headers, for_sdk(body.as_bytes())).await;
    assert_eq!(direct.summary, by_sdk.summary, "{headers:?}\n{body}");
    assert!(by_sdk.number.is_none_or(|number| number < FIRST_NUMBER), "{body}");
    direct.number.is_some_and(|number| number >= FIRST_NUMBER)
}

pub(crate) fn base_headers() -> Headers {
    vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
}

/// Returns the headers with one replaced, added (`+`) or removed (empty value).
pub(crate) fn change(headers: &Headers, name: &'static str, value: &'static str) -> Headers {
    let (is_added, value) = match value.strip_prefix('+') {
        Some(value) => (true, value),
        None => (false, value),
    };
    let kept = headers.iter().filter(|(other, _)| is_added || *other != name);
    let changed = (!value.is_empty()).then_some((name, value));
    kept.copied().chain(changed).collect()
}

pub(crate) const STATELESS_CONTEXT: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}"#;

pub(crate) fn stateless_headers() -> Headers {
    let mut headers = base_headers();
    headers.extend([
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
    ]);
    headers
}

#[tokio::test]
async fn stateless_calls_get_the_answers_of_the_sdk() {
    let server = start_server().await;
    let headers = stateless_headers();
    let meta = format!("{{{STATELESS_CONTEXT}}}");
    for body in call_bodies(&meta) {
        compare(&server, &headers, &body).await;
        // The header names the tool.
        let call: Value = serde_json::from_str(&body).unwrap_or_default();
        let name = call["params"]["name"].as_str().unwrap_or_default().to_owned();
        if name != "echo" && name.is_ascii() {
            let name: &'static str = name.leak();
            compare(&server, &change(&headers, "mcp-name", name), &body).await;
        }
    }
    for meta in metas(STATELESS_CONTEXT) {
        compare(&server, &headers, &call_with_meta(&meta)).await;
    }
    for (name, value) in [
        ("mcp-name", ""),
        ("mcp-name", "liar"),
        ("mcp-name", "+echo"),
        ("mcp-name", "=?base64?ZWNobw==?="),
        ("mcp-name", "ech\u{f6}"),
        ("mcp-method", ""),
        ("mcp-method", "tools/list"),
        ("mcp-method", "+tools/call"),
        ("mcp-protocol-version", ""),
        ("mcp-protocol-version", "2025-06-18"),
        ("mcp-protocol-version", "2099-01-01"),
        ("mcp-protocol-version", "+2026-07-28"),
        ("mcp-protocol-version", "+2025-06-18"),
        ("mcp-session-id", "never"),
        ("mcp-param-text", "b"),
        ("accept", ""),
        ("accept", "application/json"),
        ("accept", "text/event-stream"),
        ("accept", "*/*"),
        ("accept", "+text/plain"),
        ("content-type", ""),
        ("content-type", "text/plain"),
        ("content-type", "application/json; charset=utf-8"),
        ("content-type", "+application/json"),
    ] {
        compare(&server, &change(&headers, name, value), &call_with_meta(&meta)).await;
    }
}

/// The SDK compares the headers with the arguments.
#[tokio::test]
async fn arguments_in_headers_are_checked() {
    let server = start_server().await;
    let headers = change(&stateless_headers(), "mcp-name", "annotated");
    let call =
        call_with_meta(&format!("{{{STATELESS_CONTEXT}}}")).replace("\"echo\"", "\"annotated\"");
    for (value, status) in [("a", "200"), ("b", "400"), ("", "400"), ("=?base64?YQ==?=", "200")] {
        let headers = change(&headers, "mcp-param-text", value);
        compare(&server, &headers, &call).await;
        let reply = send(&server, &headers, call.as_bytes().to_vec()).await;
        assert!(reply.summary.starts_with(status), "{value}: {}", reply.summary);
    }
}

#[tokio::test]
async fn calls_in_sessions_get_the_answers_of_the_sdk() {
    let server = start_server().await;
    let session = server.initialize_until_direct().await;
    let id: &'static str = session.id.to_str().unwrap().to_owned().leak();
    let mut headers = base_headers();
    headers.extend([("mcp-session-id", id), ("mcp-protocol-version", "2025-11-25")]);
    for (number, body) in call_bodies("{}").into_iter().enumerate() {
        let is_direct = compare(&server, &headers, &body).await;
        // The results and errors of tools do not need the SDK.
        assert!(is_direct || number >= 16, "{body}");
    }
    for meta in metas("") {
        compare(&server, &headers, &call_with_meta(&meta)).await;
    }
    for (name, value) in [
        ("mcp-session-id", ""),
        ("mcp-session-id", "never"),
        ("mcp-session-id", "+never"),
        ("mcp-protocol-version", ""),
        ("mcp-protocol-version", "2024-11-05"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-protocol-version", "2099-01-01"),
        ("mcp-protocol-version", "+2025-03-26"),
        ("mcp-name", "liar"),
        ("accept", "application/json"),
        ("accept", "+text/plain"),
        ("content-type", "text/plain"),
    ] {
        compare(&server, &change(&headers, name, value), &call_with_meta("{}")).await;
    }
}

/// Sends a line in a new session over stdio, and returns all answers in order.
pub(crate) async fn send_line(
    pipeline: &Arc<Pipeline>,
    is_stateless: bool,
    line: &[u8],
) -> Vec<String> {
    let (mut input, server_input) = tokio::io::duplex(64 * 1024);
    let (output, server_output) = tokio::io::duplex(64 * 1024);
    let service = McpService::new(Arc::clone(pipeline), identity(), Caller::new("stdio"));
    let stop = CancellationToken::new();
    let running = tokio::spawn(serve_streams(service, server_input, server_output, stop));
    let mut output = BufReader::new(output).lines();
    let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let begin = match is_stateless {
        true => format!("{}\n", stateless_request(0, "server/discover", json!({}))),
        false => {
            format!("{hello}\n{ready}\n{}\n", json!({"jsonrpc": "2.0", "id": 0, "method": "ping"}))
        }
    };
    input.write_all(begin.as_bytes()).await.unwrap();
    for _ in 0..if is_stateless { 1 } else { 2 } {
        output.next_line().await.unwrap().unwrap();
    }
    input.write_all(&[line, b"\n"].concat()).await.unwrap();
    drop(input);
    let mut answers = Vec::new();
    while let Some(answer) = output.next_line().await.unwrap() {
        // The other line is longer.
        answers.push(match answer.rsplit_once(" at column ") {
            Some((reason, _)) => reason.to_owned(),
            None => answer,
        });
    }
    running.await.unwrap().unwrap();
    answers.sort();
    answers
}

#[tokio::test]
async fn calls_over_stdio_get_the_answers_of_the_sdk() {
    let server = start_server().await;
    for (is_stateless, context) in [(false, ""), (true, STATELESS_CONTEXT)] {
        let mut bodies = call_bodies(&format!("{{{context}}}"));
        bodies.extend(metas(context).iter().map(|meta| call_with_meta(meta)));
        bodies.retain(|body| !body.contains('\n'));
        for body in bodies {
            let pipeline = &server.rig.pipeline;
            let direct = send_line(pipeline, is_stateless, body.as_bytes()).await;
            let by_sdk = send_line(pipeline, is_stateless, &for_sdk(body.as_bytes())).await;
            assert_eq!(direct, by_sdk, "{body}");
        }
    }
}

impl HttpServer {
    /// Performs the handshake and waits until the server has processed it.
    pub(crate) async fn initialize_until_direct(&self) -> HttpSession {
        let session = self.initialize().await;
        loop {
            let reply = call_in(self, &session, "echo").send().await.unwrap();
            if summarize(reply).await.number.is_some_and(|number| number >= FIRST_NUMBER) {
                return session;
            }
        }
    }
}

pub(crate) fn call_in(
    server: &HttpServer,
    session: &HttpSession,
    tool: &str,
) -> reqwest::RequestBuilder {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": {"text": "a"}}});
    session.add_headers(server.post("/mcp")).body(call.to_string())
}

/// A tool that answers when it is told to.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    pub(crate) started: Arc<Notify>,
    pub(crate) open: Arc<Notify>,
}

#[async_trait]
impl AsyncScript for Gate {
    async fn run(&self, _: Value, _: &ElicitationBroker) -> Result<ToolOutput, CallInterruption> {
        self.started.notify_one();
        self.open.notified().await;
        Ok(ToolOutput::from_structured(json!({"text": "late"})))
    }
}

pub(crate) async fn gated_rig() -> (Rig, Gate) {
    let gate = Gate::default();
    let mut catalog = Catalog::default();
    for tool in tools() {
        catalog.add_tool(tool).unwrap();
    }
    let contract = build_contract(
        "gate",
        Constraints { timeout: Duration::from_secs(60), ..Constraints::default() },
    );
    catalog.add_invoker(contract, Arc::new(ScriptedUpstream(gate.clone()))).unwrap();
    (Rig::with_catalog(catalog, PipelineOptions::default()).await, gate)
}

pub(crate) async fn start_gated_server() -> (HttpServer, HttpSession, Gate) {
    let (rig, gate) = gated_rig().await;
    let server = HttpServer::with_rig(rig, |_| {}).await;
    let session = server.initialize_until_direct().await;
    (server, session, gate)
}

/// Returns the code of the last call in the audit log: `null` for a success.
pub(crate) async fn last_code(server: HttpServer) -> Value {
    server.stop().await.audit_records().await.pop().unwrap()["code"].clone()
}

#[tokio::test]
async fn cancelled_call_in_a_session_has_no_answer() {
    let (server, session, gate) = start_gated_server().await;
    let running = tokio::spawn(call_in(&server, &session, "gate").send());
    gate.started.notified().await;
    let cancel = |id: Value| {
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        session.add_headers(server.post("/mcp")).body(cancel.to_string()).send()
    };
    // Another request, and a request with a text as its id.
    assert_eq!(cancel(json!(2)).await.unwrap().status(), 202);
    assert_eq!(cancel(json!("1")).await.unwrap().status(), 202);
    // A notification that the SDK refuses: it lacks the media types.
    let refused =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let refused = session.add_headers(server.plain_post("/mcp")).body(refused.to_string());
    assert_eq!(refused.send().await.unwrap().status(), 406);
    assert!(!running.is_finished());
    assert_eq!(cancel(json!(1)).await.unwrap().status(), 202);
    let reply = summarize(running.await.unwrap().unwrap()).await;
    assert!(reply.summary.ends_with("\ndata: \nid: 0/N\nretry: 3000\n\n"), "{}", reply.summary);
    assert_eq!(last_code(server).await, "CANCELLED");
}

#[tokio::test]
async fn call_in_a_session_outlives_its_connection() {
    let (server, session, gate) = start_gated_server().await;
    let running = tokio::spawn(call_in(&server, &session, "gate").send());
    gate.started.notified().await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    // The server has noticed it once the connection is closed.
    while !server.metrics().contains("vouch_connections_open 1") {
        tokio::task::yield_now().await;
    }
    gate.open.notify_one();
    while server.metrics().contains("in_flight 1") {
        tokio::task::yield_now().await;
    }
    assert_eq!(last_code(server).await, Value::Null);
}

#[tokio::test]
async fn stream_of_a_running_call_is_resumed_on_another_connection() {
    let (server, session, gate) = start_gated_server().await;
    // The stream begins after a second without an answer.
    let mut first = call_in(&server, &session, "gate").send().await.unwrap();
    let event = String::from_utf8(first.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    let number = hide_number(&event).1.unwrap();
    assert!(number >= FIRST_NUMBER);
    assert_eq!(event, format!("data: \nid: 0/{number}\nretry: 3000\n\n"));
    drop(first);
    let resume = |id: String, session: &HttpSession| {
        let stream = server.get("/mcp").header("accept", "text/event-stream");
        session.add_headers(stream).header("last-event-id", id).send()
    };
    let other = server.initialize_until_direct().await;
    for (id, session) in [
        (format!("0/{}", number + 1), &session),
        (format!("2/{number}"), &session),
        (format!("0/{number}"), &other),
    ] {
        assert_eq!(resume(id, session).await.unwrap().text().await.unwrap(), "");
    }
    let from_first = resume(format!("0/{number}"), &session).await.unwrap();
    let from_answer = resume(format!("1/{number}"), &session).await.unwrap();
    // As with the SDK, the last reader gets the answer; the streams of others end.
    assert_eq!(from_first.text().await.unwrap(), event);
    let from_first = resume(format!("0/{number}"), &session).await.unwrap();
    assert_eq!(from_answer.text().await.unwrap(), "");
    gate.open.notify_one();
    let result = r#"{"content":[],"structuredContent":{"text":"late"},"isError":false}"#;
    let answer =
        format!("data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\nid: 1/{number}\n\n");
    assert_eq!(from_first.text().await.unwrap(), format!("{event}{answer}"));
    // As with the SDK, the answer is not kept once the call has finished.
    assert_eq!(resume(format!("0/{number}"), &session).await.unwrap().text().await.unwrap(), "");
    assert_eq!(last_code(server).await, Value::Null);
}

#[tokio::test]
async fn call_ends_with_its_session() {
    let (server, session, gate) = start_gated_server().await;
    let running = tokio::spawn(call_in(&server, &session, "gate").send());
    gate.started.notified().await;
    let end = session.add_headers(server.delete("/mcp")).send().await.unwrap();
    assert_eq!(end.status(), 202);
    let reply = summarize(running.await.unwrap().unwrap()).await;
    assert!(reply.summary.ends_with("\ndata: \nid: 0/N\nretry: 3000\n\n"), "{}", reply.summary);
    // The call itself is cancelled after some time.
    while server.metrics().contains("in_flight 1") {
        tokio::task::yield_now().await;
    }
    assert_eq!(last_code(server).await, "CANCELLED");
}

/// The calls of a session belong to its principal, whoever answers them.
#[tokio::test]
async fn direct_calls_do_not_exist_for_another_principal() {
    const ALICE: &str = "a123456789abcdef";
    const MALLORY: &str = "m123456789abcdef";
    let (rig, gate) = gated_rig().await;
    let tokens = BearerTokens::parse(&format!("alice {ALICE}\nmallory {MALLORY}")).unwrap();
    let server = HttpServer::with_rig(rig, |http| http.tokens = tokens).await;
    let session = server.initialize_as(ALICE, json!({})).await;
    let call = |token: &str, tool: &str| call_in(&server, &session, tool).bearer_auth(token).send();
    while summarize(call(ALICE, "echo").await.unwrap()).await.number.unwrap() < FIRST_NUMBER {}
    let mut running = call(ALICE, "gate").await.unwrap();
    let event = String::from_utf8(running.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    let number = hide_number(&event).1.unwrap();
    assert!(number >= FIRST_NUMBER);
    // She waits for an answer. He cannot call, cancel or read it.
    assert_eq!(call(MALLORY, "echo").await.unwrap().status(), 404);
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let cancel = session.add_headers(server.post("/mcp")).body(cancel.to_string());
    assert_eq!(cancel.bearer_auth(MALLORY).send().await.unwrap().status(), 404);
    let resume = session.add_headers(server.get("/mcp")).header("accept", "text/event-stream");
    let resume = resume.header("last-event-id", format!("0/{number}")).bearer_auth(MALLORY);
    assert_eq!(resume.send().await.unwrap().status(), 404);
    gate.open.notify_one();
    assert!(running.text().await.unwrap().contains("\"text\":\"late\""));
}

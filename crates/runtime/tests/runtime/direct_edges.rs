//! Tests of calls without the SDK where they could differ from calls of the SDK: unusual messages, changes of a session, and
//! what is recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use contract::{Constraints, Contract, ToolDefinition, ToolOutput};
use runtime::transports::http::HttpLimits;
use runtime::{CallInterruption, Catalog, PipelineOptions, RateClock};
use serde_json::{Value, json};

use crate::direct_calls::{
    FIRST_NUMBER, Headers, STATELESS_CONTEXT, base_headers, call_bodies, call_in, call_with_meta,
    change, compare, for_sdk, gated_rig, hide_number, last_code, metas, send, start_gated_server,
    start_server, stateless_headers, summarize,
};
use crate::http::{HttpServer, HttpSession};
use crate::rig::{Rig, ScriptedUpstream};
use crate::stdio::{StdioSession, stateless_request};

/// Returns the headers of requests in a session.
fn session_headers(session: &HttpSession) -> Headers {
    let id: &'static str = session.id.to_str().unwrap().to_owned().leak();
    let mut headers = base_headers();
    headers.extend([("mcp-session-id", id), ("mcp-protocol-version", "2025-11-25")]);
    headers
}

/// Compares each record of a call without the SDK with that of the same call of the SDK, which follows it.
fn compare_records(records: &[Value]) {
    let mut calls = records.to_vec();
    // Refused requests are not all recorded.
    calls.retain(|record| record["tool"].is_string());
    for call in &mut calls {
        call.as_object_mut().unwrap().shift_remove("seq");
    }
    assert!(calls.len() > 50);
    for pair in calls.chunks(2) {
        assert_eq!(pair.first(), pair.get(1));
    }
}

#[tokio::test]
async fn calls_are_recorded_as_those_of_the_sdk() {
    let server = start_server().await;
    let mut messages = call_bodies(&format!("{{{STATELESS_CONTEXT}}}"));
    messages.extend(metas(STATELESS_CONTEXT).iter().map(|meta| call_with_meta(meta)));
    // A client that does not give its name.
    let nameless = STATELESS_CONTEXT.replace("clientInfo", "other");
    messages.push(call_with_meta(&format!("{{{nameless}}}")));
    for message in messages {
        compare(&server, &stateless_headers(), &message).await;
    }
    let records = server.rig.audit_records().await;
    compare_records(&records);
    assert_eq!(records.last().unwrap().get("client"), None);
    let session = server.initialize_until_direct().await;
    let begin = server.rig.audit_records().await.len();
    let mut messages = call_bodies("{}");
    messages.extend(metas("").iter().map(|meta| call_with_meta(meta)));
    for message in messages {
        compare(&server, &session_headers(&session), &message).await;
    }
    compare_records(&server.stop().await.audit_records().await[begin..]);
}

/// A client may perform another handshake in its session. Only the SDK knows what it can be asked then.
#[tokio::test]
async fn calls_after_another_handshake_belong_to_the_sdk() {
    let server = start_server().await;
    let session = server.initialize_until_direct().await;
    let hello = json!({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "other", "version": "2"},
    }});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for message in [hello, ready] {
        let request = session.add_headers(server.post("/mcp")).body(message.to_string());
        let reply = request.send().await.unwrap();
        assert!(reply.status().is_success());
        reply.bytes().await.unwrap();
        let reply = call_in(&server, &session, "echo").send().await.unwrap();
        assert!(summarize(reply).await.number.unwrap() < FIRST_NUMBER);
    }
    let records = server.stop().await.audit_records().await;
    assert_eq!(records.last().unwrap()["client"], "other/2");
}

/// The SDK decides which notifications cancel a call. It reads the first header of a name.
#[tokio::test]
async fn call_is_cancelled_by_each_notification_that_the_sdk_accepts() {
    for (name, value) in [("accept", "text/plain"), ("content-type", "text/plain")] {
        let (server, session, gate) = start_gated_server().await;
        let running = tokio::spawn(call_in(&server, &session, "gate").send());
        gate.started.notified().await;
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 1}});
        let cancel = session.add_headers(server.post("/mcp")).body(cancel.to_string());
        assert_eq!(cancel.header(name, value).send().await.unwrap().status(), 202);
        let reply = summarize(running.await.unwrap().unwrap()).await;
        assert!(reply.summary.ends_with("id: 0/N\nretry: 3000\n\n"), "{}", reply.summary);
        assert_eq!(last_code(server).await, "CANCELLED");
    }
}

/// The SDK reads the first header of a name, so a repeated one does not lose an answer.
#[tokio::test]
async fn stream_is_resumed_by_each_request_that_the_sdk_accepts() {
    let (server, session, gate) = start_gated_server().await;
    let mut first = call_in(&server, &session, "gate").send().await.unwrap();
    let event = String::from_utf8(first.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    let number = hide_number(&event).1.unwrap();
    assert!(number >= FIRST_NUMBER);
    let resume = server.get("/mcp").header("accept", "text/event-stream").header("accept", "*/*");
    let resume = session.add_headers(resume).header("mcp-protocol-version", "2025-03-26");
    let resume = resume.header("last-event-id", format!("0/{number}")).header("last-event-id", "0");
    let resumed = resume.send().await.unwrap();
    gate.open.notify_one();
    assert!(resumed.text().await.unwrap().contains("late"));
}

/// The answers at the limit of streams are those of the SDK: an error for a call, and an empty stream for a resumption.
#[tokio::test]
async fn streams_of_a_session_are_limited() {
    let (rig, gate) = gated_rig().await;
    let server = HttpServer::with_rig(rig, |http| {
        let limits = HttpLimits { max_streams_per_session: 1, ..HttpLimits::clone(&http.limits) };
        http.limits = Arc::new(limits);
    })
    .await;
    let session = server.initialize_until_direct().await;
    let mut first = call_in(&server, &session, "gate").send().await.unwrap();
    let event = String::from_utf8(first.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    let number = hide_number(&event).1.unwrap();
    assert!(number >= FIRST_NUMBER);
    assert_eq!(call_in(&server, &session, "echo").send().await.unwrap().status(), 429);
    for number in [number, 0] {
        let resume = session.add_headers(server.get("/mcp").header("accept", "text/event-stream"));
        let resume = resume.header("last-event-id", format!("0/{number}"));
        let reply = resume.send().await.unwrap();
        assert_eq!((reply.status().as_u16(), &*reply.text().await.unwrap()), (200, ""));
    }
    gate.open.notify_one();
    assert!(first.text().await.unwrap().contains("late"));
}

/// Connections have threads of their own. A call and its stream outlive the connection there as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_outlive_connections_on_other_threads() {
    let (server, session, gate) = start_gated_server().await;
    let running = tokio::spawn(call_in(&server, &session, "gate").send());
    gate.started.notified().await;
    running.abort();
    let mut first = call_in(&server, &session, "gate").send().await.unwrap();
    let event = String::from_utf8(first.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    let number = hide_number(&event).1.unwrap();
    assert!(number >= FIRST_NUMBER);
    drop(first);
    let resume = session.add_headers(server.get("/mcp").header("accept", "text/event-stream"));
    let resumed = resume.header("last-event-id", format!("1/{number}")).send().await.unwrap();
    gate.open.notify_one();
    gate.open.notify_waiters();
    while server.metrics().contains("in_flight 2") {
        tokio::task::yield_now().await;
    }
    gate.open.notify_one();
    let text = resumed.text().await.unwrap();
    assert!(text.contains("late"), "{text}");
    let records = server.stop().await.audit_records().await;
    let ended = records.iter().rev().take(2).map(|record| &record["outcome"]);
    assert_eq!(ended.collect::<Vec<_>>(), ["ok", "ok"]);
}

/// Without a session, a call ends with its connection.
#[tokio::test]
async fn stateless_call_is_cancelled_by_a_disconnect() {
    let (rig, gate) = gated_rig().await;
    let server = HttpServer::with_rig(rig, |_| {}).await;
    let params = json!({"name": "gate", "arguments": {"text": "a"}});
    let running = tokio::spawn(server.rpc("tools/call", params).send());
    gate.started.notified().await;
    running.abort();
    while server.metrics().contains("in_flight 1") {
        tokio::task::yield_now().await;
    }
    assert_eq!(last_code(server).await, "CANCELLED");
}

/// A defect of the pipeline itself ends one connection, and leaves nothing behind.
#[tokio::test]
async fn server_survives_a_panic_outside_of_tools() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let breaks = Arc::clone(&is_broken);
    let now = move || {
        assert!(!breaks.swap(false, Ordering::Relaxed), "a defect");
        Duration::ZERO
    };
    let options = PipelineOptions { rate_clock: RateClock::new(now), ..PipelineOptions::default() };
    let server = HttpServer::with_rig(Rig::with_options(options).await, |_| {}).await;
    let call = || server.rpc("tools/call", json!({"name": "rare", "arguments": {"text": "a"}}));
    assert_eq!(call().send().await.unwrap().status(), 200);
    is_broken.store(true, Ordering::Relaxed);
    assert!(call().send().await.is_err());
    assert!(server.metrics().contains("in_flight 0"));
    assert_eq!(call().send().await.unwrap().status(), 200);
}

/// The lifecycle of a session that began without a handshake does not change.
#[tokio::test]
async fn stdio_session_without_handshake_needs_metadata() {
    let mut session = StdioSession::with_rig(Rig::new().await);
    session.send(&stateless_request(0, "tools/list", json!({}))).await;
    assert_eq!(session.receive().await.unwrap()["id"], 0);
    session.initialize(json!({})).await;
    session
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": "a"}}}))
        .await;
    let reply = session.receive().await.unwrap();
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
}

/// Parts of messages that a mutation inserts, or puts in place of a value.
const PARTS: [&str; 60] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.0",
    "1e2",
    "1.50",
    "-0",
    "-0.0",
    "1e400",
    "1E-7",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "9007199254740993.0",
    "123456789012345678901234567890",
    "\"id\":2,",
    "\"id\":\"\",",
    "\"name\":\"any\",",
    "\"arguments\":{},",
    "\"arguments\":null,",
    "\"_meta\":{},",
    "\"_meta\":null,",
    "\"method\":\"tools/call\",",
    "\"params\":{},",
    "\"jsonrpc\":\"2.0\",",
    "\"result\":{},",
    "\"error\":null,",
    "\"task\":{},",
    "\"inputResponses\":null,",
    "\"requestState\":null,",
    "\"progressToken\":1,",
    "\"traceparent\":\"x\",",
    "\"dev.vouchsafe/session\":\"s\",",
    "\"$serde_json::private::RawValue\":\"[1]\",",
    "\"$serde_json::private::Number\":\"1\",",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\ud800",
    "\\u0041",
    "é",
    "\u{1}",
    "\n",
    " ",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{2028}",
    "\\/",
    "\\\\",
    "\"\":{},",
    "\"a\":{\"a\":1,\"a\":2},",
];

/// A small generator, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).unwrap()).unwrap()
    }
}

/// Changes one or two places of a call, mostly where a value or member begins or ends, and every second time only in the
/// arguments.
fn mutate(random: &mut Random, call: &str) -> String {
    let mut call = call.to_owned();
    let arguments = call.find("\"arguments\"").unwrap()..call.find(",\"_meta\"").unwrap();
    for _ in 0..1 + random.below(2) {
        let is_anywhere = random.below(2) == 0;
        let mut places = Vec::new();
        for (at, c) in call.char_indices() {
            let is_end = "{}[],:\"".contains(c) || random.below(10) == 0;
            if is_end && (is_anywhere || arguments.contains(&at)) {
                places.push(at + c.len_utf8() * random.below(2));
            }
        }
        let Some(&at) = places.get(random.below(places.len().max(1))) else { continue };
        let part = PARTS[random.below(PARTS.len())];
        match random.below(4) {
            0 if at < call.len() => {
                call.remove(at);
            }
            1 => {
                let end = call[at..].find([',', '}', ']']).unwrap_or_default();
                call.replace_range(at..at + end, part.trim_end_matches(','));
            }
            _ => call.insert_str(at, part),
        }
    }
    call
}

/// Returns a server with a tool that takes anything and returns it.
async fn start_open_server() -> HttpServer {
    let definition = ToolDefinition {
        name: "any".into(),
        description: Some("Returns its arguments.".into()),
        input_schema: Some(json!({"type": "object"})),
        constraints: Some(Constraints::default()),
        ..ToolDefinition::default()
    };
    let answer = |arguments: Value| {
        let output = ToolOutput::from_structured(json!({"text": arguments}));
        Ok::<_, CallInterruption>(output)
    };
    let mut catalog = Catalog::default();
    let contract = Arc::new(Contract::new(definition, &[]).unwrap());
    catalog.add_invoker(contract, Arc::new(ScriptedUpstream(answer))).unwrap();
    let hours = AtomicU64::new(0);
    let now = move || Duration::from_secs(3600 * hours.fetch_add(1, Ordering::Relaxed));
    let options = PipelineOptions { rate_clock: RateClock::new(now), ..PipelineOptions::default() };
    HttpServer::with_rig(Rig::with_catalog(catalog, options).await, |_| {}).await
}

/// `VOUCH_MUTATIONS` is the number of calls, for a longer run.
#[tokio::test]
async fn mutated_calls_get_the_answers_of_the_sdk() {
    let count = std::env::var("VOUCH_MUTATIONS").map_or(400, |count| count.parse().unwrap());
    let server = start_open_server().await;
    let in_session = session_headers(&server.initialize().await);
    let stateless = change(&stateless_headers(), "mcp-name", "any");
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for number in 0..count {
        let (headers, meta) = match number % 2 {
            0 => (&stateless, STATELESS_CONTEXT),
            _ => (&in_session, "\"x\":1"),
        };
        let arguments = r#"{"text":"a","n":[1,{"k":2}]}"#;
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"any","arguments":{arguments},"_meta":{{{meta}}}}}}}"#
        );
        let call = mutate(&mut random, &call);
        let direct = send(&server, headers, call.as_bytes().to_vec()).await;
        let by_sdk = send(&server, headers, for_sdk(call.as_bytes())).await;
        assert_eq!(direct.summary, by_sdk.summary, "{number}: {call}");
    }
}

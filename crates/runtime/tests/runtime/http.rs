//! Tests of the HTTP server with real sockets: admitted and refused requests, and its availability afterwards.

use std::sync::Arc;
use std::time::Duration;

use runtime::transports::http::{BearerTokens, HttpError, HttpLimits, HttpOptions, HttpTransport};
use runtime::transports::mcp::ServerIdentity;
use runtime::{PipelineOptions, RateClock};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::rig::{Rig, STARTED_WRITES, object};

/// Longer than any test may take.
pub(crate) const NEVER: Duration = Duration::from_secs(3600);

pub(crate) struct HttpServer {
    pub(crate) rig: Rig,
    url: String,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<Result<(), HttpError>>,
    client: reqwest::Client,
}

pub(crate) struct HttpSession {
    pub(crate) id: reqwest::header::HeaderValue,
}

impl HttpSession {
    pub(crate) fn add_headers(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        request
            .header("mcp-session-id", self.id.clone())
            .header("mcp-protocol-version", "2025-11-25")
    }
}

pub(crate) fn identity() -> ServerIdentity {
    ServerIdentity { name: "test".into(), version: "0".into(), instructions: None }
}

impl HttpServer {
    async fn start() -> Self {
        Self::with_options(|_| {}).await
    }

    pub(crate) async fn with_options(adjust: impl FnOnce(&mut HttpOptions)) -> Self {
        Self::with_rig(Rig::new().await, adjust).await
    }

    pub(crate) async fn with_rig(rig: Rig, adjust: impl FnOnce(&mut HttpOptions)) -> Self {
        runtime::client::install_tls();
        let mut options = HttpOptions::new(([127, 0, 0, 1], 0).into());
        // Time limits are tested in `http_limits.rs`; on a busy machine they would end other tests.
        options.limits = Arc::new(HttpLimits {
            header_timeout: NEVER,
            body_timeout: NEVER,
            idle_timeout: NEVER,
            write_timeout: NEVER,
            ..HttpLimits::default()
        });
        adjust(&mut options);
        let transport =
            HttpTransport::bind(rig.pipeline.clone(), identity(), options).await.unwrap();
        let url = format!("http://{}", transport.address());
        let stop = CancellationToken::new();
        let running = tokio::spawn(transport.serve(stop.clone()));
        Self { rig, url, stop, running, client: reqwest::Client::new() }
    }

    /// Returns host and port.
    pub(crate) fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    pub(crate) fn metrics(&self) -> String {
        self.rig.pipeline.metrics().render().unwrap()
    }

    pub(crate) fn post(&self, path: &str) -> reqwest::RequestBuilder {
        self.client
            .post(format!("{}{path}", self.url))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
    }

    /// Returns a request without headers.
    pub(crate) fn plain_post(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.post(format!("{}{path}", self.url))
    }

    pub(crate) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    pub(crate) fn delete(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.delete(format!("{}{path}", self.url))
    }

    pub(crate) fn rpc(&self, method: &str, params: Value) -> reqwest::RequestBuilder {
        self.rpc_with_version("2026-07-28", method, params)
    }

    /// Returns a request of a client that has declared these capabilities.
    pub(crate) fn rpc_with_capabilities(
        &self,
        method: &str,
        params: Value,
        capabilities: Value,
    ) -> reqwest::RequestBuilder {
        self.request("2026-07-28", method, params, capabilities)
    }

    fn rpc_with_version(
        &self,
        version: &str,
        method: &str,
        params: Value,
    ) -> reqwest::RequestBuilder {
        self.request(version, method, params, json!({}))
    }

    /// Returns a request of the stateless revisions.
    fn request(
        &self,
        version: &str,
        method: &str,
        params: Value,
        capabilities: Value,
    ) -> reqwest::RequestBuilder {
        let mut params = object(params);
        let name = params
            .get("name")
            .or(params.get("uri"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        params.insert(
            "_meta".into(),
            json!({
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": capabilities,
                "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            }),
        );
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = self
            .post("/mcp")
            .header("mcp-protocol-version", version)
            .header("mcp-method", method)
            .body(body.to_string());
        if !name.is_empty() {
            request = request.header("mcp-name", name);
        }
        request
    }

    /// Performs the handshake and returns the session.
    pub(crate) async fn initialize(&self) -> HttpSession {
        self.initialize_with_capabilities(json!({})).await
    }

    pub(crate) async fn initialize_with_capabilities(&self, capabilities: Value) -> HttpSession {
        self.initialize_as("", capabilities).await
    }

    /// Performs the handshake with a token and returns the session.
    pub(crate) async fn initialize_as(&self, token: &str, capabilities: Value) -> HttpSession {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "1"},
        }});
        let post = || self.post("/mcp").bearer_auth(token);
        let reply = post().body(hello.to_string()).send().await.unwrap();
        let session = HttpSession { id: reply.headers()["mcp-session-id"].clone() };
        let greeting = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        session.add_headers(post()).body(greeting.to_string()).send().await.unwrap();
        session
    }

    async fn assert_still_works(&self) {
        let reply = self.post("/v1/tools/echo").body(r#"{"text":"up"}"#).send().await.unwrap();
        assert_eq!(reply.status(), 200);
    }

    pub(crate) async fn stop(self) -> Rig {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
        self.rig
    }
}

/// Returns the status with the envelope's code and message, or with the whole body.
pub(crate) async fn fetch_summary(request: reqwest::RequestBuilder) -> String {
    let reply = request.send().await.unwrap();
    let status = reply.status().as_u16();
    let text = reply.text().await.unwrap();
    match serde_json::from_str::<Value>(&text) {
        Ok(body) if body.get("success") == Some(&json!(false)) => {
            assert_eq!(body["error"]["status"].as_u64(), Some(u64::from(status)), "{body}");
            format!("{status} {} {}", body["error"]["code"], body["error"]["message"])
        }
        _ => format!("{status} {text}"),
    }
}

#[tokio::test]
async fn rest_responses() {
    let server = HttpServer::start().await;
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let mut log = Vec::new();
    for (name, request) in [
        ("call", server.post("/v1/tools/echo").body(r#"{"text":"hi","times":2}"#)),
        ("no body", server.post("/v1/tools/echo")),
        ("no JSON", server.post("/v1/tools/echo").body("{")),
        ("no object", server.post("/v1/tools/echo").body("[]")),
        ("deep", server.post("/v1/tools/echo").body(format!(r#"{{"text":{deep}}}"#))),
        ("no type", server.client.post(format!("{}/v1/tools/echo", server.url)).body("{}")),
        ("unknown parameter", server.post("/v1/tools/echo").body(r#"{"text":"","x":1}"#)),
        ("unknown tool", server.post("/v1/tools/none").body("{}")),
        ("unknown contract", server.get("/v1/tools/none")),
        ("needs approval", server.post("/v1/tools/write").body(r#"{"text":1}"#)),
        ("wrong method", server.client.delete(format!("{}/v1/tools/echo", server.url))),
        ("nowhere", server.get("/nowhere")),
        ("healthy", server.get("/healthz")),
    ] {
        log.push(format!("{name}: {}", fetch_summary(request).await));
    }
    insta::assert_snapshot!(log.join("\n"));
    let first = server.post("/v1/tools/rare").body(r#"{"text":""}"#).send().await.unwrap();
    assert_eq!(first.status(), 200);
    let limited = server.post("/v1/tools/rare").body(r#"{"text":""}"#).send().await.unwrap();
    assert_eq!(limited.status(), 429);
    assert!(limited.headers().contains_key("retry-after"));
    let list: Value = server.get("/v1/tools").send().await.unwrap().json().await.unwrap();
    let names: Vec<_> =
        list["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    let mut sorted = names.clone();
    sorted.sort_by_key(|name| name.to_string());
    assert_eq!(names, sorted);
    server.assert_still_works().await;
}

#[tokio::test]
async fn openapi_describes_every_tool() {
    let server = HttpServer::start().await;
    let document: Value = server.get("/openapi.json").send().await.unwrap().json().await.unwrap();
    assert_eq!(document["openapi"], "3.1.0");
    let post = &document["paths"]["/v1/tools/write"]["post"];
    insta::assert_json_snapshot!(post);
}

#[tokio::test]
async fn invalid_mcp_requests_get_protocol_errors() {
    let server = HttpServer::start().await;
    let mut log = Vec::new();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    for (name, request) in [
        ("truncated", server.post("/mcp").body(r#"{"jsonrpc": "2.0", "id": 1, "method""#)),
        ("batch", server.rpc("tools/list", json!({})).body(format!("[{list},{list}]"))),
        ("unknown version", server.rpc_with_version("1999-01-01", "tools/list", json!({}))),
        ("unknown tool", server.rpc("tools/call", json!({"name": "none", "arguments": {}}))),
        ("unknown method", server.rpc("tools/destroy", json!({}))),
        (
            "bad state",
            server.rpc(
                "tools/call",
                json!({"name": "write", "arguments": {"text": ""}, "requestState": "x"}),
            ),
        ),
        ("no prompt", server.rpc("prompts/get", json!({"name": "p"}))),
        ("no resource", server.rpc("resources/read", json!({"uri": "a://b"}))),
    ] {
        log.push(format!("{name}: {}", fetch_summary(request).await));
    }
    insta::assert_snapshot!(log.join("\n"));
    server.assert_still_works().await;
}

#[tokio::test]
async fn mcp_call_returns_result_and_joins_the_trace() {
    let server = HttpServer::start().await;
    let params = json!({"name": "echo", "arguments": {"text": "hi"}});
    let reply: Value = server.rpc("tools/call", params).send().await.unwrap().json().await.unwrap();
    insta::assert_json_snapshot!(reply["result"]);
    let params = json!({"name": "echo", "arguments": {}});
    let reply: Value = server.rpc("tools/call", params).send().await.unwrap().json().await.unwrap();
    assert_eq!(reply["result"]["isError"], true);
    assert_eq!(reply["result"]["structuredContent"]["error"]["code"], "INVALID_INPUT");
    let list: Value =
        server.rpc("tools/list", json!({})).send().await.unwrap().json().await.unwrap();
    assert_eq!(list["result"]["ttlMs"], 60_000);
    assert_eq!(list["result"]["cacheScope"], "public");
    let lines = server.stop().await.audit_records().await;
    assert_eq!(lines[0]["trace"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(lines[0]["client"], "t/1");
}

#[tokio::test]
async fn rejects_body_of_fifty_megabytes() {
    let server = HttpServer::start().await;
    let big = json!({"text": "x".repeat(50_000_000)}).to_string();
    for path in ["/v1/tools/echo", "/mcp"] {
        // The server may respond and close before it has read everything, so it responds with 413 or disconnects.
        if let Ok(reply) = server.post(path).body(big.clone()).send().await {
            assert_eq!(reply.status(), 413, "{path}");
        }
    }
    server.assert_still_works().await;
}

#[tokio::test]
async fn rejects_foreign_hosts_and_origins() {
    let server = HttpServer::start().await;
    for path in ["/mcp", "/v1/tools/echo", "/healthz"] {
        let evil = server.post(path).header("host", "evil.example").body("{}");
        assert!(fetch_summary(evil).await.starts_with("403 \"ACCESS_DENIED\""), "{path}");
        let evil = server.post(path).header("origin", "https://evil.example").body("{}");
        assert!(fetch_summary(evil).await.starts_with("403 \"ACCESS_DENIED\""), "{path}");
        // Every header counts, not only the first one.
        let own = server.post(path).header("origin", "http://localhost");
        let evil = own.header("origin", "https://evil.example").body("{}");
        assert!(fetch_summary(evil).await.starts_with("403 \"ACCESS_DENIED\""), "{path}");
    }
    let origin = |request: reqwest::RequestBuilder| request.header("origin", "http://localhost");
    let twice = origin(origin(server.post("/v1/tools/echo"))).body(r#"{"text":""}"#);
    assert!(fetch_summary(twice).await.starts_with("200"));
    server.assert_still_works().await;
    let lines = server.stop().await.audit_records().await;
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[0]["code"], "ACCESS_DENIED");
}

#[tokio::test]
async fn requires_a_valid_token() {
    let tokens = BearerTokens::parse("ci 0123456789abcdef").unwrap();
    let server = HttpServer::with_options(|options| options.tokens = tokens).await;
    for path in ["/mcp", "/v1/tools/echo"] {
        let body = r#"{"text":""}"#;
        assert!(fetch_summary(server.post(path).body(body)).await.starts_with("401"), "{path}");
        let wrong = server.post(path).bearer_auth("0123456789abcdeX").body(body);
        let reply = wrong.send().await.unwrap();
        assert_eq!(reply.status(), 401);
        assert_eq!(reply.headers()["www-authenticate"], "Bearer");
    }
    let right = server.post("/v1/tools/echo").bearer_auth("0123456789abcdef");
    assert!(fetch_summary(right.body(r#"{"text":"in"}"#)).await.starts_with("200"));
    assert!(fetch_summary(server.get("/healthz")).await.starts_with("200"));
    assert!(fetch_summary(server.get("/metrics")).await.starts_with("401"));
    let lines = server.stop().await.audit_records().await;
    assert_eq!(lines[0]["code"], "UNAUTHENTICATED");
    let last_call = lines.iter().find(|line| line["outcome"] == "ok").unwrap();
    assert_eq!(last_call["caller"], "token:ci");
}

#[tokio::test]
async fn binding_beyond_loopback_requires_a_token() {
    let rig = Rig::new().await;
    let options = HttpOptions::new(([0, 0, 0, 0], 0).into());
    let refused = HttpTransport::bind(rig.pipeline.clone(), identity(), options).await;
    assert!(matches!(refused, Err(HttpError::TokenRequired(_))));
}

#[tokio::test]
async fn shutdown_finishes_running_calls() {
    let server = HttpServer::start().await;
    let request = server.post("/v1/tools/slow").body(r#"{"text":""}"#).send();
    let request = tokio::spawn(request);
    while !server.rig.pipeline.metrics().render().unwrap().contains("in_flight 1") {
        tokio::task::yield_now().await;
    }
    let rig = server.stop().await;
    assert_eq!(request.await.unwrap().unwrap().status(), 504);
    assert_eq!(rig.audit_records().await[0]["code"], "EXECUTION_TIMEOUT");
}

#[tokio::test]
async fn shutdown_delivers_responses_of_calls_with_side_effects() {
    for round in 0..20 {
        let server = HttpServer::start().await;
        let text = format!("round {round}");
        let params = json!({"name": "slow_write", "arguments": {"text": text}});
        let request = tokio::spawn(server.rpc("tools/call", params).send());
        while !server.rig.pipeline.metrics().render().unwrap().contains("in_flight 1") {
            tokio::task::yield_now().await;
        }
        let rig = server.stop().await;
        let reply: Value = request.await.unwrap().unwrap().json().await.unwrap();
        if STARTED_WRITES.lock().unwrap().contains(&text) {
            assert_eq!(reply["result"]["structuredContent"]["text"], "written", "{reply}");
            assert_eq!(rig.audit_records().await[0]["outcome"], "ok");
        }
    }
}

#[tokio::test]
async fn unfinished_request_does_not_block_shutdown() {
    use tokio::io::AsyncWriteExt;
    let server = HttpServer::start().await;
    let address = server.url.trim_start_matches("http://").to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let head = format!(
        "POST /v1/tools/echo HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    server.assert_still_works().await;
    // With time paused, the limit passes immediately while real I/O continues.
    tokio::time::pause();
    server.stop().await;
}

#[tokio::test]
async fn refused_mcp_requests_are_audited() {
    let server = HttpServer::start().await;
    let mut log = Vec::new();
    for (name, request) in [
        ("arguments", server.rpc("tools/call", json!({"name": "echo", "arguments": [1]}))),
        ("no name", server.rpc("tools/call", json!({"arguments": {}}))),
        ("truncated", server.post("/mcp").body("{")),
        ("other name", server.rpc("tools/call", json!({"name": "echo"})).header("mcp-name", "x")),
        ("unreadable name", server.post("/v1/tools/%ff").body("{}")),
    ] {
        log.push(format!("{name}: {}", fetch_summary(request).await));
    }
    insta::assert_snapshot!(log.join("\n"));
    let lines = server.stop().await.audit_records().await;
    assert!(lines.iter().all(|line| line["outcome"] == "error"), "{lines:?}");
    assert_eq!(lines.len(), 5, "{lines:?}");
}

#[tokio::test]
async fn flood_of_refused_requests_does_not_fill_the_audit_log() {
    // Time stands still, so the number of records does not depend on how long the requests take.
    let rate_clock = RateClock::new(|| Duration::ZERO);
    let options = PipelineOptions { rate_clock, ..PipelineOptions::default() };
    let server = HttpServer::with_rig(Rig::with_options(options).await, |_| {}).await;
    let requests = (0..700).map(|_| server.get("/healthz").header("host", "evil.example").send());
    for reply in futures::future::join_all(requests).await {
        assert_eq!(reply.unwrap().status(), 403);
    }
    assert_eq!(server.stop().await.audit_records().await.len(), 600);
}

#[tokio::test]
async fn disconnecting_client_cancels_its_call() {
    let server = HttpServer::start().await;
    for path in ["/v1/tools/patient", "/mcp"] {
        let request = if path == "/mcp" {
            server.rpc("tools/call", json!({"name": "patient", "arguments": {"text": ""}}))
        } else {
            server.post(path).body(r#"{"text":""}"#)
        };
        let request = tokio::spawn(request.send());
        while !server.rig.pipeline.metrics().render().unwrap().contains("in_flight 1") {
            tokio::task::yield_now().await;
        }
        request.abort();
        server.rig.pipeline.drain().await;
    }
    let lines = server.stop().await.audit_records().await;
    let codes: Vec<_> = lines.iter().map(|line| line["code"].clone()).collect();
    assert_eq!(codes, ["CANCELLED", "CANCELLED"]);
}

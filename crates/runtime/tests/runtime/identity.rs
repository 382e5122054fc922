//! Attacks by another local user or by another token: without a token nothing is served, and the sessions, streams and
//! resources of one principal do not exist for another.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Constraints, ErrorCode, Resource, ResourceContent, ResourceProvider,
    ResourceTemplate, SideEffects, ToolError,
};
use runtime::transports::http::{BearerTokens, PROJECT_PRINCIPAL};
use runtime::{ApprovalRoute, Catalog, ClientPolicy, PipelineOptions, ResourceFilter};
use serde_json::{Value, json};

use crate::http::{HttpServer, HttpSession, fetch_summary};
use crate::rig::{Rig, answer, scripted_tool};
use crate::upstream_elicitation::next_message;

const ALICE: &str = "a123456789abcdef";
const MALLORY: &str = "m123456789abcdef";

/// Provides two documents with change notifications, one of them private.
struct TwoDocuments;

impl ResourceProvider for TwoDocuments {
    fn list_resources(&self) -> Vec<Resource> {
        ["test://public/a", "test://private/b"]
            .map(|uri| Resource {
                uri: uri.into(),
                name: uri.into(),
                title: None,
                description: "A document.".into(),
                mime_type: "text/plain".into(),
            })
            .into()
    }

    fn list_templates(&self) -> Vec<ResourceTemplate> {
        ["test://public/{name}", "test://private/{name}"]
            .map(|uri| ResourceTemplate {
                uri_template: uri.into(),
                name: uri.into(),
                title: None,
                description: "Documents.".into(),
                mime_type: "text/plain".into(),
            })
            .into()
    }

    fn read_resource(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        match uri {
            "test://public/a" | "test://private/b" => {
                Ok(ResourceContent::from_text(uri, "text/plain", "the content"))
            }
            _ => Err(ToolError::new(ErrorCode::NotFound, "there is no such resource")),
        }
    }

    fn complete_variable(&self, _: &str, _: &str, _: &str) -> Vec<String> {
        vec!["b".into()]
    }

    fn has_revisions(&self) -> bool {
        true
    }

    fn resource_revision(&self, uri: &str) -> Option<u64> {
        uri.starts_with("test://").then_some(1)
    }
}

fn catalog() -> Catalog {
    let plain = Constraints { timeout: Duration::from_secs(60), ..Constraints::default() };
    let asking = Constraints {
        approval: true,
        side_effects: SideEffects::Append,
        idempotent: false,
        ..plain.clone()
    };
    let mut catalog = Catalog::default();
    for tool in [
        scripted_tool("echo", plain.clone(), |_, _| answer("up")),
        scripted_tool("write", asking, |_, _| answer("written")),
        scripted_tool("patient", plain, |_, ctx| {
            while !ctx.is_cancelled() {
                std::thread::yield_now();
            }
            answer("cancelled")
        }),
    ] {
        catalog.add_tool(tool).unwrap();
    }
    catalog.add_resources(Arc::new(TwoDocuments), |_| {}).unwrap();
    catalog
}

async fn serve(options: PipelineOptions) -> HttpServer {
    let rig = Rig::with_catalog(catalog(), options).await;
    let tokens = BearerTokens::parse(&format!("alice {ALICE}\nmallory {MALLORY}")).unwrap();
    HttpServer::with_rig(rig, |http| http.tokens = tokens).await
}

/// Requests of every route, as another local user would send them.
fn every_route(server: &HttpServer) -> Vec<(&'static str, reqwest::RequestBuilder)> {
    let listen = json!({"notifications": {"resourceSubscriptions": ["test://public/a"]}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }});
    vec![
        ("discover", server.rpc("server/discover", json!({}))),
        ("handshake", server.post("/mcp").body(hello.to_string())),
        ("list", server.rpc("tools/list", json!({}))),
        ("call", server.rpc("tools/call", json!({"name": "echo", "arguments": {"text": ""}}))),
        ("write", server.rpc("tools/call", json!({"name": "write", "arguments": {"text": ""}}))),
        ("resource", server.rpc("resources/read", json!({"uri": "test://public/a"}))),
        ("listen", server.rpc("subscriptions/listen", listen)),
        ("stream", server.get("/mcp").header("accept", "text/event-stream")),
        ("end", server.delete("/mcp").header("mcp-session-id", "x")),
        ("REST list", server.get("/v1/tools")),
        ("REST tool", server.get("/v1/tools/echo")),
        ("REST call", server.post("/v1/tools/echo").body(r#"{"text":""}"#)),
        ("REST write", server.post("/v1/tools/write").body(r#"{"text":""}"#)),
        ("REST resources", server.get("/v1/resources")),
        ("REST resource", server.get("/v1/resources/read?uri=test://public/a")),
        ("openapi", server.get("/openapi.json")),
        ("metrics", server.get("/metrics")),
        ("nowhere", server.get("/nowhere")),
        ("below health", server.get("/healthz/")),
        ("twisted health", server.get("/healthz/../metrics")),
        ("encoded health", server.get("/healthz%2f..%2fmetrics")),
        ("double slash", server.get("//healthz")),
    ]
}

#[tokio::test]
async fn every_route_requires_the_token() {
    let rig = Rig::with_catalog(catalog(), PipelineOptions::default()).await;
    let token = format!("vouch_{}", "0f".repeat(32));
    let tokens = BearerTokens::for_project(&token);
    let server = HttpServer::with_rig(rig, |http| http.tokens = tokens).await;
    for (name, request) in every_route(&server) {
        let reply = fetch_summary(request).await;
        assert!(reply.starts_with("401 \"UNAUTHENTICATED\""), "{name}: {reply}");
        assert!(!reply.contains("the content") && !reply.contains("echo"), "{name}: {reply}");
    }
    let upper = token.to_uppercase();
    let longer = format!("{token}0");
    for wrong in ["", "x", &token[..69], &longer, &upper, &token[6..], "local", "project"] {
        for (name, request) in every_route(&server) {
            let reply = fetch_summary(request.bearer_auth(wrong)).await;
            assert!(reply.starts_with("401"), "{name} with {wrong:?}: {reply}");
        }
    }
    for header in [format!("Basic {token}"), token.clone(), format!("Bearer{token}")] {
        let reply = fetch_summary(server.get("/v1/tools").header("authorization", header)).await;
        assert!(reply.starts_with("401"), "{reply}");
    }
    // A token in the address would be logged by proxies, so it does not count.
    let reply = fetch_summary(server.get(&format!("/v1/tools?token={token}"))).await;
    assert!(reply.starts_with("401"), "{reply}");
    assert!(fetch_summary(server.get("/healthz")).await.starts_with("200"));
    let reply = fetch_summary(server.get("/v1/tools").bearer_auth(&token)).await;
    assert!(reply.starts_with("200"), "{reply}");
    let echo = server.post("/v1/tools/echo").bearer_auth(&token).body(r#"{"text":""}"#);
    assert!(fetch_summary(echo).await.starts_with("200"));
    let lines = server.stop().await.audit_records().await;
    let done: Vec<_> = lines.iter().filter(|line| line["outcome"] == "ok").collect();
    assert_eq!((done.len(), &done[0]["caller"]), (1, &json!(PROJECT_PRINCIPAL)));
    assert!(lines.iter().any(|line| line["caller"] == "(unauthenticated)"));
}

/// A web page that resolves its name to loopback learns nothing about tokens: the reply is the same with each.
#[tokio::test]
async fn foreign_host_and_origin_are_refused_before_the_token_is_looked_at() {
    let server = serve(PipelineOptions::default()).await;
    for (header, value) in [
        ("host", "evil.example"),
        ("host", "evil.example:8377"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://localhost.evil.example"),
    ] {
        for path in ["/mcp", "/v1/tools", "/metrics", "/healthz"] {
            let mut replies = Vec::new();
            for token in [None, Some("wrong-wrong-wrong"), Some(ALICE)] {
                let request = server.get(path).header(header, value);
                let request = match token {
                    Some(token) => request.bearer_auth(token),
                    None => request,
                };
                let reply = request.send().await.unwrap();
                assert_eq!(reply.status(), 403, "{header} {value} {path}");
                assert!(!reply.headers().contains_key("www-authenticate"));
                replies.push(reply.text().await.unwrap());
            }
            assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");
        }
    }
}

fn in_session(
    server: &HttpServer,
    session: &HttpSession,
    token: &str,
    body: Value,
) -> reqwest::RequestBuilder {
    session.add_headers(server.post("/mcp").bearer_auth(token)).body(body.to_string())
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test]
async fn session_does_not_exist_for_another_token() {
    let clients = ask_both();
    let server = serve(PipelineOptions { clients, ..PipelineOptions::default() }).await;
    let session = server.initialize_as(ALICE, json!({"elicitation": {}})).await;
    let hers = |body: Value| in_session(&server, &session, ALICE, body);
    let his = |body: Value| in_session(&server, &session, MALLORY, body);
    let write = request(7, "tools/call", json!({"name": "write", "arguments": {"text": "x"}}));
    let (mut reply, mut text) = (hers(write).send().await.unwrap(), String::new());
    let asked = next_message(&mut reply, &mut text).await;
    assert_eq!(asked["method"], "elicitation/create", "{asked}");

    // While her call waits: he cannot answer, call, list, subscribe, cancel, listen, resume or end.
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": yes});
    let refusal = json!({"jsonrpc": "2.0", "id": asked["id"],
        "error": {"code": -1, "message": "no"}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 7}});
    for body in [
        answer.clone(),
        refusal,
        cancel,
        request(8, "tools/list", json!({})),
        request(8, "tools/call", json!({"name": "echo", "arguments": {"text": ""}})),
        request(8, "resources/read", json!({"uri": "test://public/a"})),
        request(8, "resources/subscribe", json!({"uri": "test://public/a"})),
    ] {
        let reply = fetch_summary(his(body.clone())).await;
        assert!(reply.starts_with("404"), "{body}: {reply}");
    }
    for last_event in [None, Some("0"), Some("0/0"), Some("1/1")] {
        let mut stream = session
            .add_headers(server.get("/mcp").bearer_auth(MALLORY))
            .header("accept", "text/event-stream");
        if let Some(id) = last_event {
            stream = stream.header("last-event-id", id);
        }
        let reply = fetch_summary(stream).await;
        assert!(reply.starts_with("404"), "{last_event:?}: {reply}");
    }
    let end = session.add_headers(server.delete("/mcp").bearer_auth(MALLORY));
    assert!(fetch_summary(end).await.starts_with("404"));
    // To him, a session of another principal looks like one that never existed.
    let never = server.delete("/mcp").bearer_auth(MALLORY).header("mcp-session-id", "never");
    assert!(fetch_summary(never).await.starts_with("404"));
    let nothing = server.delete("/mcp");
    assert!(fetch_summary(session.add_headers(nothing)).await.starts_with("401"));

    // Her session is unharmed.
    assert_eq!(hers(answer).send().await.unwrap().status(), 202);
    let done = next_message(&mut reply, &mut text).await;
    assert_eq!(done["result"]["structuredContent"], json!({"text": "written"}), "{done}");
    let end = session.add_headers(server.delete("/mcp").bearer_auth(ALICE));
    assert_eq!(end.send().await.unwrap().status(), 202);
    let after = fetch_summary(hers(request(9, "tools/list", json!({})))).await;
    assert!(after.starts_with("404"), "{after}");
}

fn ask_both() -> HashMap<String, ClientPolicy> {
    let ask = ClientPolicy { approval: Some(ApprovalRoute::Ask), ..ClientPolicy::default() };
    ["token:alice", "token:mallory"].map(|name| (name.to_owned(), ask.clone())).into()
}

/// In the stateless revision the sealed state stands for the session.
#[tokio::test]
async fn request_state_does_not_open_for_another_token() {
    let clients = ask_both();
    let server = serve(PipelineOptions { clients, ..PipelineOptions::default() }).await;
    let call = async |token: &str, params: Value| -> Value {
        let request =
            server.rpc_with_capabilities("tools/call", params, json!({"elicitation": {}}));
        request.bearer_auth(token).send().await.unwrap().json().await.unwrap()
    };
    let mut params = json!({"name": "write", "arguments": {"text": "x"}});
    let first = call(ALICE, params.clone()).await;
    params["requestState"] = first["result"]["requestState"].clone();
    params["inputResponses"] =
        json!({"approval": {"action": "accept", "content": {"approve": true}}});
    let stolen = call(MALLORY, params.clone()).await;
    assert_eq!(stolen["error"]["code"], -32602, "{stolen}");
    let done = call(ALICE, params.clone()).await;
    assert_eq!(done["result"]["structuredContent"], json!({"text": "written"}), "{done}");
    let replayed = call(ALICE, params).await;
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
}

fn public_only() -> HashMap<String, ClientPolicy> {
    let filter: Arc<dyn ResourceFilter> = Arc::new(|uri: &str| uri.starts_with("test://public/"));
    let policy = ClientPolicy { resources: Some(filter), ..ClientPolicy::default() };
    [("token:mallory".to_owned(), policy)].into()
}

#[tokio::test]
async fn client_reads_only_allowed_resources() {
    let clients = public_only();
    let server = serve(PipelineOptions { clients, ..PipelineOptions::default() }).await;
    let complete = |template: &str| json!({"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": "name", "value": ""}});
    let texts = async |token: &str| {
        let mut log = Vec::new();
        for request in [
            server.rpc("resources/list", json!({})),
            server.rpc("resources/templates/list", json!({})),
            server.rpc("resources/read", json!({"uri": "test://private/b"})),
            server.rpc("completion/complete", complete("test://private/{name}")),
            server.get("/v1/resources"),
            server.get("/v1/resources/read?uri=test://private/b"),
            server.get("/v1/resources/read?uri=test%3A%2F%2Fprivate%2Fb"),
        ] {
            log.push(fetch_summary(request.bearer_auth(token)).await);
        }
        log
    };
    for reply in texts(MALLORY).await {
        // An error repeats the address that was asked for.
        let reply = reply.replace(r#""data":{"uri":"test://private/b""#, "");
        assert!(!reply.contains("//private") && !reply.contains("the content"), "{reply}");
        assert!(!reply.contains(r#""b""#), "{reply}");
    }
    let hers = texts(ALICE).await;
    assert_eq!(hers.iter().filter(|reply| reply.contains("//private")).count(), 6, "{hers:?}");
    let public = server.rpc("resources/read", json!({"uri": "test://public/a"}));
    assert!(fetch_summary(public.bearer_auth(MALLORY)).await.contains("the content"));
    let listed = fetch_summary(server.rpc("resources/list", json!({})).bearer_auth(ALICE)).await;
    assert!(listed.contains(r#""cacheScope":"private""#), "{listed}");
    let lines = server.stop().await.audit_records().await;
    let denied = lines.iter().filter(|line| line["code"] == "ACCESS_DENIED").count();
    assert_eq!(denied, 3, "{lines:?}");
}

#[tokio::test]
async fn client_subscribes_only_to_allowed_resources() {
    let clients = public_only();
    let server = serve(PipelineOptions { clients, ..PipelineOptions::default() }).await;
    for (token, allowed) in [(MALLORY, false), (ALICE, true)] {
        let session = server.initialize_as(token, json!({})).await;
        let subscribe = |uri: &str| {
            in_session(
                &server,
                &session,
                token,
                request(1, "resources/subscribe", json!({"uri": uri})),
            )
        };
        let private = fetch_summary(subscribe("test://private/b")).await;
        assert_eq!(!private.contains("error"), allowed, "{private}");
        let public = fetch_summary(subscribe("test://public/a")).await;
        assert!(!public.contains("error"), "{public}");

        let uris = ["test://private/b", "test://public/a"];
        let listen = json!({"notifications": {"resourceSubscriptions": uris}});
        let listen = server.rpc("subscriptions/listen", listen).bearer_auth(token);
        let (mut reply, mut text) = (listen.send().await.unwrap(), String::new());
        let accepted = next_message(&mut reply, &mut text).await.to_string();
        assert!(accepted.contains("test://public/a"), "{accepted}");
        assert_eq!(accepted.contains("test://private/b"), allowed, "{accepted}");
    }
}

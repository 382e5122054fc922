//! Tests of the session that a tool sees: the connection's, the transport's, or the one named by the request.

use contract::Constraints;
use runtime::PipelineOptions;
use serde_json::{Value, json};

use crate::http::{HttpServer, fetch_summary};
use crate::rig::{Rig, answer, scripted_tool};
use crate::stdio::StdioSession;

/// Returns a rig with a tool that answers with the session it was called in.
async fn rig() -> Rig {
    let session = scripted_tool("session", Constraints::default(), |_, ctx| {
        answer(ctx.caller.session.as_deref().unwrap_or("(none)"))
    });
    Rig::with_tools(vec![session], PipelineOptions::default()).await
}

fn call(meta: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "session", "arguments": {"text": ""}, "_meta": meta,
    }})
}

async fn session_over_stdio(session: &mut StdioSession, meta: Value) -> Value {
    session.send(&call(meta)).await;
    let reply = session.receive().await.unwrap();
    reply["result"]["structuredContent"]["text"].clone()
}

#[tokio::test]
async fn stdio_connection_is_one_session_unless_a_handle_is_sent() {
    let mut first = StdioSession::with_rig(rig().await);
    first.initialize(json!({})).await;
    let own = session_over_stdio(&mut first, json!({})).await;
    assert_eq!(own.as_str().unwrap().len(), 32, "{own}");
    let handle = json!({"dev.vouchsafe/session": "review-7"});
    assert_eq!(session_over_stdio(&mut first, handle).await, "review-7");
    assert_eq!(session_over_stdio(&mut first, json!({})).await, own);

    let mut second = StdioSession::with_rig(rig().await);
    second.initialize(json!({})).await;
    assert_ne!(session_over_stdio(&mut second, json!({})).await, own);
}

#[tokio::test]
async fn rejects_invalid_session_handle() {
    let mut session = StdioSession::with_rig(rig().await);
    session.initialize(json!({})).await;
    for handle in [json!(""), json!("a b"), json!(7), json!("x".repeat(129))] {
        session.send(&call(json!({"dev.vouchsafe/session": handle}))).await;
        let reply = session.receive().await.unwrap();
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("1 to 128"), "{reply}");
    }
}

#[tokio::test]
async fn session_over_http() {
    let server = HttpServer::with_rig(rig().await, |_| {}).await;
    let rest = || server.post("/v1/tools/session").body(r#"{"text":""}"#);
    assert_eq!(fetch_summary(rest()).await, r#"200 {"text":"(none)"}"#);
    assert_eq!(fetch_summary(rest().header("vouch-session", "a-1")).await, r#"200 {"text":"a-1"}"#);
    let refused = fetch_summary(rest().header("vouch-session", "a b")).await;
    assert!(refused.starts_with("400 \"INVALID_INPUT\""), "{refused}");

    // In the handshake revisions the transport provides the session.
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }});
    let hello = server.post("/mcp").body(hello.to_string()).send().await.unwrap();
    let id = hello.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let in_session = |body: Value| {
        let request = server.post("/mcp").header("mcp-session-id", &id);
        request.header("mcp-protocol-version", "2025-11-25").body(body.to_string())
    };
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    in_session(ready).send().await.unwrap();
    let reply = in_session(call(json!({}))).send().await.unwrap().text().await.unwrap();
    assert!(reply.contains(&id), "{reply}");
}

//! Tests of a catalog that is replaced while it is served: subscribers are notified, and calls in flight are not
//! affected.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use contract::{Constraints, ErrorCode, Tool};
use runtime::{Catalog, PipelineOptions};
use serde_json::{Value, json};

use crate::http::HttpServer;
use crate::rig::{Rig, answer, call, code, reply_to_json, scripted_tool};
use crate::stdio::{StdioSession, advance_time, ping, pong, stateless_request};
use crate::subscriptions::next_message;

/// Seconds after which a client may be notified again.
const NOTIFY_SECONDS: u64 = 2;

fn live_options() -> PipelineOptions {
    PipelineOptions { live: true, list_ttl: Duration::from_secs(5), ..PipelineOptions::default() }
}

fn constant_tool(name: &str, text: &'static str) -> Arc<dyn Tool> {
    scripted_tool(name, Constraints::default(), move |_, _| answer(text))
}

fn catalog(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Catalog {
    let mut catalog = Catalog::default();
    for tool in tools {
        catalog.add_tool(tool).unwrap();
    }
    catalog
}

async fn rig() -> Rig {
    Rig::with_catalog(catalog([constant_tool("one", "1")]), live_options()).await
}

fn list_changed() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
}

#[tokio::test]
async fn published_catalog_is_used_from_the_next_call_on() {
    let rig = rig().await;
    let changes = rig.pipeline.catalog_changes();
    rig.pipeline.publish(catalog([constant_tool("one", "2"), constant_tool("two", "2")]));
    assert!(changes.has_changed().unwrap());
    for name in ["one", "two"] {
        let reply = rig.call(name, json!({"text": ""})).await;
        assert_eq!(reply_to_json(&reply), json!({"structured": {"text": "2"}}));
    }
    rig.pipeline.publish(catalog([]));
    assert_eq!(code(&rig.call("one", json!({"text": ""})).await), ErrorCode::ToolNotFound);
}

#[tokio::test]
async fn equal_names_and_digests_are_not_a_change() {
    let rig = rig().await;
    let changes = rig.pipeline.catalog_changes();
    rig.pipeline.publish(catalog([constant_tool("one", "another invoker")]));
    assert!(!changes.has_changed().unwrap());
    let reply = rig.call("one", json!({"text": ""})).await;
    assert_eq!(reply_to_json(&reply), json!({"structured": {"text": "another invoker"}}));
}

#[tokio::test]
async fn call_in_flight_keeps_its_catalog_entry() {
    let (started, has_started) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let constraints = Constraints { timeout: Duration::from_secs(3600), ..Constraints::default() };
    let gate = scripted_tool("gate", constraints, move |_, _| {
        started.send(()).unwrap();
        let _ = released.lock().unwrap().recv();
        answer("through")
    });
    let rig = Rig::with_catalog(catalog([gate]), live_options()).await;
    let pipeline = Arc::clone(&rig.pipeline);
    let running =
        tokio::spawn(async move { pipeline.call(call("gate", json!({"text": ""}))).await });
    tokio::task::spawn_blocking(move || has_started.recv().unwrap()).await.unwrap();
    rig.pipeline.publish(catalog([]));
    assert_eq!(code(&rig.call("gate", json!({"text": ""})).await), ErrorCode::ToolNotFound);
    release.send(()).unwrap();
    assert_eq!(reply_to_json(&running.await.unwrap()), json!({"structured": {"text": "through"}}));
}

#[tokio::test]
async fn publishing_does_not_reset_used_quota() {
    let rare = |rate| {
        let constraints = Constraints { rate_per_minute: rate, ..Constraints::default() };
        catalog([scripted_tool("rare", constraints, |_, _| answer(""))])
    };
    let rig = Rig::with_catalog(rare(1), live_options()).await;
    assert!(rig.call("rare", json!({"text": ""})).await.code().is_none());
    // Published again, and removed for a moment: an upstream that reconnects must not reset the quota.
    for published in [rare(1), catalog([]), rare(1)] {
        rig.pipeline.publish(published);
    }
    assert_eq!(code(&rig.call("rare", json!({"text": ""})).await), ErrorCode::RateLimited);
    rig.pipeline.publish(rare(2));
    assert!(rig.call("rare", json!({"text": ""})).await.code().is_none());
}

#[tokio::test]
async fn entry_can_be_reused_in_another_catalog() {
    let rig = rig().await;
    let before = rig.pipeline.catalog();
    let mut next = catalog([constant_tool("two", "2")]);
    next.add_entry(Arc::clone(before.get("one").unwrap())).unwrap();
    assert!(next.add_entry(Arc::clone(before.get("one").unwrap())).is_err(), "names are unique");
    rig.pipeline.publish(next);
    assert_eq!(rig.pipeline.catalog().names().collect::<Vec<_>>(), ["one", "two"]);
}

async fn list_tool_names(session: &mut StdioSession, id: u64) -> Vec<Value> {
    session.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).await;
    let reply = session.receive().await.unwrap();
    let tools = reply["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].clone()).collect()
}

#[tokio::test]
async fn stdio_session_is_notified_of_new_catalogs() {
    let mut session = StdioSession::with_rig(rig().await);
    session.initialize(json!({})).await;
    assert_eq!(list_tool_names(&mut session, 1).await, ["one"]);
    session.rig.pipeline.publish(catalog([constant_tool("two", "2")]));
    assert_eq!(session.receive().await.unwrap(), list_changed());
    assert_eq!(list_tool_names(&mut session, 2).await, ["two"]);
    // Many changes cause one message, and no change causes none.
    for name in ["three", "four", "five"] {
        session.rig.pipeline.publish(catalog([constant_tool(name, "")]));
    }
    advance_time(NOTIFY_SECONDS).await;
    assert_eq!(session.receive().await.unwrap(), list_changed());
    session.rig.pipeline.publish(catalog([constant_tool("five", "")]));
    advance_time(NOTIFY_SECONDS).await;
    session.send(&ping(3)).await;
    assert_eq!(session.receive().await.unwrap(), pong(3));
    assert_eq!(session.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn fixed_catalog_offers_no_change_notifications() {
    let mut session = StdioSession::with_rig(Rig::new().await);
    session.send(&stateless_request(0, "server/discover", json!({}))).await;
    let discovered = session.receive().await.unwrap();
    assert_eq!(discovered["result"]["capabilities"]["tools"], json!({}), "{discovered}");
    session.send(&listen(1)).await;
    assert_eq!(session.receive().await.unwrap()["error"]["code"], -32601);
}

fn listen(id: u64) -> Value {
    stateless_request(
        id,
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    )
}

#[tokio::test]
async fn stdio_listener_is_notified_of_new_catalogs() {
    let mut session = StdioSession::with_rig(rig().await);
    session.send(&stateless_request(0, "server/discover", json!({}))).await;
    let discovered = session.receive().await.unwrap();
    assert_eq!(discovered["result"]["capabilities"]["tools"]["listChanged"], true);
    session.send(&listen(1)).await;
    let known = session.receive().await.unwrap();
    assert_eq!(known["params"]["notifications"], json!({"toolsListChanged": true}), "{known}");
    for round in ["two", "three"] {
        session.rig.pipeline.publish(catalog([constant_tool(round, "")]));
        advance_time(NOTIFY_SECONDS).await;
        let notice = session.receive().await.unwrap();
        assert_eq!(notice["method"], "notifications/tools/list_changed", "{notice}");
        assert_eq!(
            notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1,
            "{notice}"
        );
    }
    let rest = session.finish().await;
    assert_eq!(rest.len(), 1, "the end of the request: {rest:?}");
}

#[tokio::test]
async fn http_session_is_notified_of_new_catalogs() {
    let server = HttpServer::with_rig(rig().await, |_| {}).await;
    let session = server.initialize().await;
    let stream = session.add_headers(server.get("/mcp")).header("accept", "text/event-stream");
    let mut stream = stream.send().await.unwrap();
    server.rig.pipeline.publish(catalog([constant_tool("two", "2")]));
    assert_eq!(next_message(&mut stream, "notifications/tools/list_changed").await, list_changed());
    drop(stream);
    server.stop().await;
}

#[tokio::test]
async fn http_listener_is_notified_of_new_catalogs() {
    let server = HttpServer::with_rig(rig().await, |_| {}).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let mut stream = server.rpc("subscriptions/listen", filter).send().await.unwrap();
    next_message(&mut stream, "notifications/subscriptions/acknowledged").await;
    server.rig.pipeline.publish(catalog([constant_tool("two", "2")]));
    next_message(&mut stream, "notifications/tools/list_changed").await;
    let list = server.rpc("tools/list", json!({})).send().await.unwrap();
    let list: Value = list.json().await.unwrap();
    assert_eq!(list["result"]["ttlMs"], 5000);
    assert_eq!(list["result"]["tools"][0]["name"], "two");
    let list: Value = server.get("/v1/tools").send().await.unwrap().json().await.unwrap();
    assert_eq!(list["tools"][0]["name"], "two");
    let document: Value = server.get("/openapi.json").send().await.unwrap().json().await.unwrap();
    assert!(document["paths"].get("/v1/tools/two").is_some());
    drop(stream);
    server.stop().await;
}

//! A catalog that is replaced while it is served: who listens hears of it, and no call notices.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use contract::{Code, Constraints, Tool};
use runtime::{Catalog, PipelineOptions};
use serde_json::{Value, json};

use crate::http::Server;
use crate::rig::{Rig, answer, call, code, show, tool};
use crate::stdio::{Session, inline, pass, ping, pong};
use crate::watching::next;

/// Seconds within which whoever was told before may be told again.
const A_WHILE: u64 = 2;

fn live() -> PipelineOptions {
    PipelineOptions { live: true, list_ttl: Duration::from_secs(5), ..PipelineOptions::default() }
}

fn says(name: &str, text: &'static str) -> Arc<dyn Tool> {
    tool(name, Constraints::default(), move |_, _| answer(text))
}

fn catalog(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Catalog {
    let mut catalog = Catalog::default();
    for tool in tools {
        catalog.add_tool(tool).unwrap();
    }
    catalog
}

async fn rig() -> Rig {
    Rig::over(catalog([says("one", "1")]), live()).await
}

fn changed() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
}

#[tokio::test]
async fn another_catalog_is_served_from_the_next_call_on() {
    let rig = rig().await;
    let changes = rig.pipeline.catalog_changes();
    rig.pipeline.publish(catalog([says("one", "2"), says("two", "2")]));
    assert!(changes.has_changed().unwrap());
    for name in ["one", "two"] {
        let reply = rig.call(name, json!({"text": ""})).await;
        assert_eq!(show(&reply), json!({"structured": {"text": "2"}}));
    }
    rig.pipeline.publish(catalog([]));
    assert_eq!(code(&rig.call("one", json!({"text": ""})).await), Code::ToolNotFound);
}

#[tokio::test]
async fn the_same_names_and_digests_are_no_change() {
    let rig = rig().await;
    let changes = rig.pipeline.catalog_changes();
    rig.pipeline.publish(catalog([says("one", "another invoker")]));
    assert!(!changes.has_changed().unwrap());
    let reply = rig.call("one", json!({"text": ""})).await;
    assert_eq!(show(&reply), json!({"structured": {"text": "another invoker"}}));
}

#[tokio::test]
async fn a_call_in_flight_ends_as_it_began() {
    let (started, has_started) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let constraints = Constraints { timeout: Duration::from_secs(3600), ..Constraints::default() };
    let gate = tool("gate", constraints, move |_, _| {
        started.send(()).unwrap();
        let _ = released.lock().unwrap().recv();
        answer("through")
    });
    let rig = Rig::over(catalog([gate]), live()).await;
    let pipeline = Arc::clone(&rig.pipeline);
    let running =
        tokio::spawn(async move { pipeline.call(call("gate", json!({"text": ""}))).await });
    tokio::task::spawn_blocking(move || has_started.recv().unwrap()).await.unwrap();
    rig.pipeline.publish(catalog([]));
    assert_eq!(code(&rig.call("gate", json!({"text": ""})).await), Code::ToolNotFound);
    release.send(()).unwrap();
    assert_eq!(show(&running.await.unwrap()), json!({"structured": {"text": "through"}}));
}

#[tokio::test]
async fn what_was_used_of_a_share_is_not_given_back() {
    let rare = |rate| {
        let constraints = Constraints { rate_per_minute: rate, ..Constraints::default() };
        catalog([tool("rare", constraints, |_, _| answer(""))])
    };
    let rig = Rig::over(rare(1), live()).await;
    assert!(rig.call("rare", json!({"text": ""})).await.code().is_none());
    // Published again, and gone for a moment: an upstream that comes and goes brings nobody a new share.
    for published in [rare(1), catalog([]), rare(1)] {
        rig.pipeline.publish(published);
    }
    assert_eq!(code(&rig.call("rare", json!({"text": ""})).await), Code::RateLimited);
    rig.pipeline.publish(rare(2));
    assert!(rig.call("rare", json!({"text": ""})).await.code().is_none());
}

#[tokio::test]
async fn an_entry_can_be_taken_over() {
    let rig = rig().await;
    let before = rig.pipeline.catalog();
    let mut next = catalog([says("two", "2")]);
    next.adopt(Arc::clone(before.get("one").unwrap())).unwrap();
    assert!(next.adopt(Arc::clone(before.get("one").unwrap())).is_err(), "a name is one tool's");
    rig.pipeline.publish(next);
    assert_eq!(rig.pipeline.catalog().names().collect::<Vec<_>>(), ["one", "two"]);
}

async fn names(session: &mut Session, id: u64) -> Vec<Value> {
    session.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).await;
    let reply = session.receive().await.unwrap();
    let tools = reply["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].clone()).collect()
}

#[tokio::test]
async fn over_stdio_with_a_handshake() {
    let mut session = Session::on(rig().await);
    session.shake_hands(json!({})).await;
    assert_eq!(names(&mut session, 1).await, ["one"]);
    session.rig.pipeline.publish(catalog([says("two", "2")]));
    assert_eq!(session.receive().await.unwrap(), changed());
    assert_eq!(names(&mut session, 2).await, ["two"]);
    // Many changes are one message, and no change is none.
    for name in ["three", "four", "five"] {
        session.rig.pipeline.publish(catalog([says(name, "")]));
    }
    pass(A_WHILE).await;
    assert_eq!(session.receive().await.unwrap(), changed());
    session.rig.pipeline.publish(catalog([says("five", "")]));
    pass(A_WHILE).await;
    session.send(&ping(3)).await;
    assert_eq!(session.receive().await.unwrap(), pong(3));
    assert_eq!(session.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_fixed_catalog_promises_nothing() {
    let mut session = Session::on(Rig::new().await);
    session.send(&inline(0, "server/discover", json!({}))).await;
    let discovered = session.receive().await.unwrap();
    assert_eq!(discovered["result"]["capabilities"]["tools"], json!({}), "{discovered}");
    session.send(&listen(1)).await;
    assert_eq!(session.receive().await.unwrap()["error"]["code"], -32601);
}

fn listen(id: u64) -> Value {
    inline(id, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}))
}

#[tokio::test]
async fn over_stdio_who_listens_is_told() {
    let mut session = Session::on(rig().await);
    session.send(&inline(0, "server/discover", json!({}))).await;
    let discovered = session.receive().await.unwrap();
    assert_eq!(discovered["result"]["capabilities"]["tools"]["listChanged"], true);
    session.send(&listen(1)).await;
    let known = session.receive().await.unwrap();
    assert_eq!(known["params"]["notifications"], json!({"toolsListChanged": true}), "{known}");
    for round in ["two", "three"] {
        session.rig.pipeline.publish(catalog([says(round, "")]));
        pass(A_WHILE).await;
        let told = session.receive().await.unwrap();
        assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{told}");
    }
    let rest = session.finish().await;
    assert_eq!(rest.len(), 1, "the end of the request: {rest:?}");
}

#[tokio::test]
async fn over_http_with_a_handshake() {
    let server = Server::on(rig().await, |_| {}).await;
    let session = server.shake_hands().await;
    let stream = session.of(server.get("/mcp")).header("accept", "text/event-stream");
    let mut stream = stream.send().await.unwrap();
    server.rig.pipeline.publish(catalog([says("two", "2")]));
    assert_eq!(next(&mut stream, "notifications/tools/list_changed").await, changed());
    drop(stream);
    server.stop().await;
}

#[tokio::test]
async fn over_http_who_listens_is_told() {
    let server = Server::on(rig().await, |_| {}).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let mut stream = server.rpc("subscriptions/listen", filter).send().await.unwrap();
    next(&mut stream, "notifications/subscriptions/acknowledged").await;
    server.rig.pipeline.publish(catalog([says("two", "2")]));
    next(&mut stream, "notifications/tools/list_changed").await;
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

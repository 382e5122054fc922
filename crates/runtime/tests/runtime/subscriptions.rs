//! Tests of resource subscriptions: clients of every revision are notified, at a bounded rate, until they disconnect.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use contract::{CallContext, ErrorCode, Resource, ResourceContent, ResourceProvider, ToolError};
use runtime::{Catalog, PipelineOptions};
use serde_json::{Value, json};

use crate::http::HttpServer;
use crate::rig::Rig;
use crate::stdio::{StdioSession, advance_time, ping, pong, stateless_request};

const CLOCK: &str = "test://clock";
/// Seconds within which every subscription has been polled.
const POLL_SECONDS: u64 = 2;

/// Provides one resource that changes on demand and one that never changes, and counts the polls.
#[derive(Default)]
struct ClockResources {
    time: AtomicU64,
    polls: AtomicU64,
}

impl ClockResources {
    fn advance(&self) {
        self.time.fetch_add(1, Ordering::SeqCst);
    }
}

impl ResourceProvider for ClockResources {
    fn list_resources(&self) -> Vec<Resource> {
        let resource = |name: &str| Resource {
            uri: format!("test://{name}"),
            name: name.into(),
            title: None,
            description: "A document.".into(),
            mime_type: "text/plain".into(),
        };
        vec![resource("clock"), resource("stone")]
    }

    fn read_resource(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        match uri {
            CLOCK => {
                let time = self.time.load(Ordering::SeqCst);
                Ok(ResourceContent::from_text(uri, "text/plain", time.to_string()))
            }
            _ => Err(ToolError::new(ErrorCode::NotFound, "there is no such resource")),
        }
    }

    fn has_revisions(&self) -> bool {
        true
    }

    fn resource_revision(&self, uri: &str) -> Option<u64> {
        self.polls.fetch_add(1, Ordering::SeqCst);
        (uri == CLOCK).then(|| self.time.load(Ordering::SeqCst))
    }
}

async fn rig() -> (Arc<ClockResources>, Rig) {
    let clock = Arc::new(ClockResources::default());
    let mut catalog = Catalog::default();
    catalog.add_resources(clock.clone(), |_| {}).unwrap();
    (clock, Rig::with_catalog(catalog, PipelineOptions::default()).await)
}

fn request(id: u64, method: &str, uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": uri}})
}

fn update() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": CLOCK}})
}

/// Returns a client of the handshake revisions that is subscribed to the clock.
async fn subscribed() -> (Arc<ClockResources>, StdioSession) {
    let (clock, rig) = rig().await;
    let mut session = StdioSession::with_rig(rig);
    session.initialize(json!({})).await;
    session.send(&request(1, "resources/subscribe", CLOCK)).await;
    assert_eq!(session.receive().await.unwrap(), pong(1));
    (clock, session)
}

/// Returns true once the resources are no longer polled. The clock keeps changing, so that a disconnected client is
/// noticed by a failed notification.
async fn is_no_longer_polled(clock: &ClockResources) -> bool {
    for _ in 0..50 {
        let polls = clock.polls.load(Ordering::SeqCst);
        clock.advance();
        advance_time(POLL_SECONDS).await;
        if clock.polls.load(Ordering::SeqCst) == polls {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn subscriber_is_notified_until_it_unsubscribes() {
    let (clock, mut session) = subscribed().await;
    for _ in 0..1000 {
        clock.advance();
    }
    advance_time(POLL_SECONDS).await;
    assert_eq!(session.receive().await.unwrap(), update());
    // Many changes cause one update, and no change causes none.
    advance_time(POLL_SECONDS).await;
    session.send(&ping(2)).await;
    assert_eq!(session.receive().await.unwrap(), pong(2));
    clock.advance();
    advance_time(POLL_SECONDS).await;
    assert_eq!(session.receive().await.unwrap(), update());
    session.send(&request(3, "resources/unsubscribe", CLOCK)).await;
    assert_eq!(session.receive().await.unwrap(), pong(3));
    clock.advance();
    assert!(is_no_longer_polled(&clock).await, "polling stops without subscribers");
    // A new subscription is notified again.
    session.send(&request(4, "resources/subscribe", CLOCK)).await;
    assert_eq!(session.receive().await.unwrap(), pong(4));
    clock.advance();
    advance_time(POLL_SECONDS).await;
    assert_eq!(session.receive().await.unwrap(), update());
    assert_eq!(session.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn ended_session_releases_the_provider() {
    let (clock, session) = subscribed().await;
    assert_eq!(session.finish().await, Vec::<Value>::new());
    assert!(is_no_longer_polled(&clock).await);
    assert_eq!(Arc::strong_count(&clock), 1, "only the test holds the provider");
}

#[tokio::test]
async fn rejects_invalid_subscriptions() {
    let (_clock, mut session) = subscribed().await;
    let mut log = Vec::new();
    for (id, uri) in ["test://stone", "test://none", ""].iter().enumerate() {
        session.send(&request(id as u64 + 10, "resources/subscribe", uri)).await;
        log.push(session.receive().await.unwrap().to_string());
    }
    // A request of another revision.
    let listen = json!({"notifications": {"resourceSubscriptions": [CLOCK]}});
    session.send(&json!({"jsonrpc": "2.0", "id": 20, "method": "subscriptions/listen", "params": listen})).await;
    log.push(session.receive().await.unwrap().to_string());
    // Unsubscribing from an unknown resource is not an error.
    session.send(&request(21, "resources/unsubscribe", "test://none")).await;
    log.push(session.receive().await.unwrap().to_string());
    insta::assert_snapshot!(log.join("\n"));
}

#[tokio::test]
async fn subscribe_is_unavailable_without_change_support() {
    let mut session = StdioSession::with_rig(Rig::new().await);
    session.initialize(json!({})).await;
    session.send(&request(1, "resources/subscribe", CLOCK)).await;
    let reply = session.receive().await.unwrap();
    assert_eq!(reply["error"]["code"], -32601, "{reply}");
}

fn listen(id: u64, uris: &[&str]) -> Value {
    stateless_request(
        id,
        "subscriptions/listen",
        json!({"notifications": {"resourceSubscriptions": uris}}),
    )
}

#[tokio::test]
async fn listener_gets_acknowledgement_updates_and_end() {
    let (clock, rig) = rig().await;
    let mut session = StdioSession::with_rig(rig);
    session.send(&stateless_request(0, "server/discover", json!({}))).await;
    let discovered = session.receive().await.unwrap();
    assert_eq!(discovered["result"]["capabilities"]["resources"]["subscribe"], true);
    session.send(&listen(1, &[CLOCK, "test://none"])).await;
    let mut log = vec![session.receive().await.unwrap().to_string()];
    for _ in 0..2 {
        clock.advance();
        clock.advance();
        advance_time(POLL_SECONDS).await;
        log.push(session.receive().await.unwrap().to_string());
    }
    log.extend(session.finish().await.iter().map(Value::to_string));
    insta::assert_snapshot!(log.join("\n"));
    assert!(is_no_longer_polled(&clock).await);
}

/// Reads an event stream until a message with this method arrives, and returns it.
pub(crate) async fn next_message(stream: &mut reqwest::Response, method: &str) -> Value {
    let mut text = String::new();
    loop {
        let chunk = stream.chunk().await.unwrap().expect("the stream is open");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages = data.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
        if let Some(found) = messages.find(|message| message["method"] == method) {
            return found;
        }
    }
}

#[tokio::test]
async fn http_listen_request_stays_open_until_shutdown() {
    let (clock, rig) = rig().await;
    let server = HttpServer::with_rig(rig, |_| {}).await;
    let filter = json!({"notifications": {"resourceSubscriptions": [CLOCK]}});
    let mut stream = server.rpc("subscriptions/listen", filter).send().await.unwrap();
    let known = next_message(&mut stream, "notifications/subscriptions/acknowledged").await;
    assert_eq!(known["params"]["notifications"]["resourceSubscriptions"], json!([CLOCK]));
    clock.advance();
    let updated = next_message(&mut stream, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], CLOCK);
    // The shutdown does not wait for a stream that would never end.
    let stopping = tokio::spawn(server.stop());
    let rest = stream.text().await.unwrap();
    assert!(rest.contains("\"result\""), "{rest}");
    stopping.await.unwrap();
}

#[tokio::test]
async fn http_client_that_disconnects_is_no_longer_polled() {
    let (clock, rig) = rig().await;
    let server = HttpServer::with_rig(rig, |_| {}).await;
    let filter = json!({"notifications": {"resourceSubscriptions": [CLOCK]}});
    let mut stream = server.rpc("subscriptions/listen", filter).send().await.unwrap();
    next_message(&mut stream, "notifications/subscriptions/acknowledged").await;
    drop(stream);
    assert!(is_no_longer_polled(&clock).await);
    server.stop().await;
}

#[tokio::test]
async fn http_session_is_notified_until_deleted() {
    let (clock, rig) = rig().await;
    let server = HttpServer::with_rig(rig, |_| {}).await;
    let session = server.initialize().await;
    let in_session = |request| session.add_headers(request);
    let stream = in_session(server.get("/mcp")).header("accept", "text/event-stream");
    let mut stream = stream.send().await.unwrap();
    let subscribe = request(1, "resources/subscribe", CLOCK).to_string();
    let reply = in_session(server.post("/mcp")).body(subscribe).send().await.unwrap();
    assert!(reply.text().await.unwrap().contains("\"result\":{}"));
    clock.advance();
    let updated = next_message(&mut stream, "notifications/resources/updated").await;
    assert_eq!(updated, update());
    // Deleting the session ends the subscription.
    let client = server.delete("/mcp");
    assert!(in_session(client).send().await.unwrap().status().is_success());
    assert!(is_no_longer_polled(&clock).await);
    drop(stream);
    server.stop().await;
}

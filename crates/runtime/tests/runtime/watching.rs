//! Documents that change: clients of every revision hear of it, not too often, and not after they have gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use contract::{CallContext, Code, Resource, ResourceContent, Resources, ToolError};
use runtime::{Catalog, PipelineOptions};
use serde_json::{Value, json};

use crate::http::Server;
use crate::rig::Rig;
use crate::stdio::{Session, inline, pass, ping, pong};

const CLOCK: &str = "test://clock";
/// Seconds within which whoever watches has looked.
const A_WHILE: u64 = 2;

/// One document that changes when the test says so, one that never does, and how often somebody looked.
#[derive(Default)]
struct Tower {
    time: AtomicU64,
    looks: AtomicU64,
}

impl Tower {
    fn strike(&self) {
        self.time.fetch_add(1, Ordering::SeqCst);
    }
}

impl Resources for Tower {
    fn list(&self) -> Vec<Resource> {
        let resource = |name: &str| Resource {
            uri: format!("test://{name}"),
            name: name.into(),
            title: None,
            description: "A document.".into(),
            mime_type: "text/plain".into(),
        };
        vec![resource("clock"), resource("stone")]
    }

    fn read(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        match uri {
            CLOCK => {
                let time = self.time.load(Ordering::SeqCst);
                Ok(ResourceContent::text(uri, "text/plain", time.to_string()))
            }
            _ => Err(ToolError::new(Code::NotFound, "there is no such resource")),
        }
    }

    fn has_changes(&self) -> bool {
        true
    }

    fn changes(&self, uri: &str) -> Option<u64> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        (uri == CLOCK).then(|| self.time.load(Ordering::SeqCst))
    }
}

async fn rig() -> (Arc<Tower>, Rig) {
    let tower = Arc::new(Tower::default());
    let mut catalog = Catalog::default();
    catalog.add_resources(tower.clone(), |_| {}).unwrap();
    (tower, Rig::over(catalog, PipelineOptions::default()).await)
}

fn request(id: u64, method: &str, uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": uri}})
}

fn update() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": CLOCK}})
}

/// A client of the handshake revisions that watches the clock.
async fn subscribed() -> (Arc<Tower>, Session) {
    let (tower, rig) = rig().await;
    let mut session = Session::on(rig);
    session.shake_hands(json!({})).await;
    session.send(&request(1, "resources/subscribe", CLOCK)).await;
    assert_eq!(session.receive().await.unwrap(), pong(1));
    (tower, session)
}

/// True once nobody looks at the documents any more. What goes on is told, so that a client that has gone is noticed.
async fn is_forgotten(tower: &Tower) -> bool {
    for _ in 0..50 {
        let looks = tower.looks.load(Ordering::SeqCst);
        tower.strike();
        pass(A_WHILE).await;
        if tower.looks.load(Ordering::SeqCst) == looks {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn who_subscribed_hears_of_changes_until_it_unsubscribes() {
    let (tower, mut session) = subscribed().await;
    for _ in 0..1000 {
        tower.strike();
    }
    pass(A_WHILE).await;
    assert_eq!(session.receive().await.unwrap(), update());
    // Many changes were one update, and without another change there is none.
    pass(A_WHILE).await;
    session.send(&ping(2)).await;
    assert_eq!(session.receive().await.unwrap(), pong(2));
    tower.strike();
    pass(A_WHILE).await;
    assert_eq!(session.receive().await.unwrap(), update());
    session.send(&request(3, "resources/unsubscribe", CLOCK)).await;
    assert_eq!(session.receive().await.unwrap(), pong(3));
    tower.strike();
    assert!(is_forgotten(&tower).await, "nobody looks for nobody");
    // Who comes back is told again.
    session.send(&request(4, "resources/subscribe", CLOCK)).await;
    assert_eq!(session.receive().await.unwrap(), pong(4));
    tower.strike();
    pass(A_WHILE).await;
    assert_eq!(session.receive().await.unwrap(), update());
    assert_eq!(session.finish().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_session_that_ends_leaves_nothing_behind() {
    let (tower, session) = subscribed().await;
    assert_eq!(session.finish().await, Vec::<Value>::new());
    assert!(is_forgotten(&tower).await);
    assert_eq!(Arc::strong_count(&tower), 1, "nothing holds the provider but the test");
}

#[tokio::test]
async fn what_cannot_be_watched() {
    let (_tower, mut session) = subscribed().await;
    let mut log = Vec::new();
    for (id, uri) in ["test://stone", "test://none", ""].iter().enumerate() {
        session.send(&request(id as u64 + 10, "resources/subscribe", uri)).await;
        log.push(session.receive().await.unwrap().to_string());
    }
    // Of another revision.
    let listen = json!({"notifications": {"resourceSubscriptions": [CLOCK]}});
    session.send(&json!({"jsonrpc": "2.0", "id": 20, "method": "subscriptions/listen", "params": listen})).await;
    log.push(session.receive().await.unwrap().to_string());
    // What was never watched can be let go of.
    session.send(&request(21, "resources/unsubscribe", "test://none")).await;
    log.push(session.receive().await.unwrap().to_string());
    insta::assert_snapshot!(log.join("\n"));
}

#[tokio::test]
async fn without_changes_nothing_is_promised() {
    let mut session = Session::on(Rig::new().await);
    session.shake_hands(json!({})).await;
    session.send(&request(1, "resources/subscribe", CLOCK)).await;
    let reply = session.receive().await.unwrap();
    assert_eq!(reply["error"]["code"], -32601, "{reply}");
}

fn listen(id: u64, uris: &[&str]) -> Value {
    inline(id, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}}))
}

#[tokio::test]
async fn who_listens_is_told_what_it_will_hear_of_and_when_it_is_over() {
    let (tower, rig) = rig().await;
    let mut session = Session::on(rig);
    session.send(&inline(0, "server/discover", json!({}))).await;
    let discovered = session.receive().await.unwrap();
    assert_eq!(discovered["result"]["capabilities"]["resources"]["subscribe"], true);
    session.send(&listen(1, &[CLOCK, "test://none"])).await;
    let mut log = vec![session.receive().await.unwrap().to_string()];
    for _ in 0..2 {
        tower.strike();
        tower.strike();
        pass(A_WHILE).await;
        log.push(session.receive().await.unwrap().to_string());
    }
    log.extend(session.finish().await.iter().map(Value::to_string));
    insta::assert_snapshot!(log.join("\n"));
    assert!(is_forgotten(&tower).await);
}

/// Reads the stream of events until a message is such as it is looked for.
pub(crate) async fn next(stream: &mut reqwest::Response, method: &str) -> Value {
    let mut text = String::new();
    loop {
        let chunk = stream.chunk().await.unwrap().expect("the stream goes on");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let mut messages = data.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
        if let Some(found) = messages.find(|message| message["method"] == method) {
            return found;
        }
    }
}

#[tokio::test]
async fn over_http_a_request_stays_open_until_the_server_ends() {
    let (tower, rig) = rig().await;
    let server = Server::on(rig, |_| {}).await;
    let filter = json!({"notifications": {"resourceSubscriptions": [CLOCK]}});
    let mut stream = server.rpc("subscriptions/listen", filter).send().await.unwrap();
    let known = next(&mut stream, "notifications/subscriptions/acknowledged").await;
    assert_eq!(known["params"]["notifications"]["resourceSubscriptions"], json!([CLOCK]));
    tower.strike();
    let updated = next(&mut stream, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], CLOCK);
    // Stopping does not wait for a stream that would never end.
    let stopping = tokio::spawn(server.stop());
    let rest = stream.text().await.unwrap();
    assert!(rest.contains("\"result\""), "{rest}");
    stopping.await.unwrap();
}

#[tokio::test]
async fn over_http_a_client_that_went_away_is_forgotten() {
    let (tower, rig) = rig().await;
    let server = Server::on(rig, |_| {}).await;
    let filter = json!({"notifications": {"resourceSubscriptions": [CLOCK]}});
    let mut stream = server.rpc("subscriptions/listen", filter).send().await.unwrap();
    next(&mut stream, "notifications/subscriptions/acknowledged").await;
    drop(stream);
    assert!(is_forgotten(&tower).await);
    server.stop().await;
}

#[tokio::test]
async fn over_http_with_a_handshake() {
    let (tower, rig) = rig().await;
    let server = Server::on(rig, |_| {}).await;
    let session = server.shake_hands().await;
    let in_session = |request| session.of(request);
    let stream = in_session(server.get("/mcp")).header("accept", "text/event-stream");
    let mut stream = stream.send().await.unwrap();
    let subscribe = request(1, "resources/subscribe", CLOCK).to_string();
    let reply = in_session(server.post("/mcp")).body(subscribe).send().await.unwrap();
    assert!(reply.text().await.unwrap().contains("\"result\":{}"));
    tower.strike();
    let updated = next(&mut stream, "notifications/resources/updated").await;
    assert_eq!(updated, update());
    // A session that is deleted is over.
    let client = server.delete("/mcp");
    assert!(in_session(client).send().await.unwrap().status().is_success());
    assert!(is_forgotten(&tower).await);
    drop(stream);
    server.stop().await;
}

//! The legacy HTTP+SSE transport.

use link::{Connection, ConnectionError, MessageBounds, Options, ProtocolEra};
use serde_json::{Map, json};

use crate::support::{answer, call, call_once, call_text, drop_once, elicitable_call, wait_until};
use crate::web_server::{ServerKind, ServerScript, WebServer};

#[tokio::test]
async fn calls_elicits_and_cancels() {
    let web = WebServer::start(&ServerScript::new(ServerKind::Sse));
    let connection = web.connection();
    assert_eq!(connection.connect().await.unwrap().era, ProtocolEra::Handshake);
    assert_eq!(connection.list_tools().await.unwrap(), [json!({ "name": "echo" })]);
    assert_eq!(call_text(&connection, "echo", json!({})).await, "ok");
    assert_eq!(connection.deviations().garbage, 0, "events before the endpoint are ignored");
    let none = Map::new();
    let asked = answer(connection.call(elicitable_call("elicit", &none)).await.unwrap())
        .structured
        .unwrap();
    assert_eq!(asked["answer"]["content"]["method"], "elicitation/create");
    let hanging = call_once(&connection, "hang", json!({}));
    let calls = web.script.count("tools/call");
    drop_once(hanging, async || web.script.count("tools/call") > calls).await;
    wait_until("the cancellation arrives", async || {
        web.script.count("notifications/cancelled") == 1
    })
    .await;
    connection.close().await;
    wait_until("the stream is closed", async || {
        let _ = web.script.stream.send(": still there?\n\n".to_owned());
        web.script.stream.receiver_count() == 0
    })
    .await;
}

#[tokio::test]
async fn reconnects_after_server_restart() {
    let web = WebServer::start(&ServerScript::new(ServerKind::Sse));
    let address = web.address;
    let connection = web.connection();
    assert_eq!(call_text(&connection, "echo", json!({})).await, "ok");
    drop(web);
    let script = ServerScript::new(ServerKind::Sse);
    let _web = WebServer::start_at(&script, address);
    wait_until("it reconnects", async || call(&connection, "echo", json!({})).await.is_ok()).await;
}

#[tokio::test]
async fn pending_call_may_have_run_when_session_is_lost() {
    let web = WebServer::start(&ServerScript::new(ServerKind::Sse));
    let connection = web.connection();
    let pending_call = tokio::spawn({
        let connection = connection.clone();
        async move { call(&connection, "hang", json!({})).await }
    });
    wait_until("the call is pending", async || web.script.count("tools/call") == 1).await;
    let error = call(&connection, "forgotten", json!({})).await.unwrap_err();
    assert!(matches!(error, ConnectionError::Unavailable { may_have_run: false, .. }), "{error}");
    let error = pending_call.await.unwrap().unwrap_err();
    assert!(matches!(error, ConnectionError::Unavailable { may_have_run: true, .. }), "{error}");
}

#[tokio::test]
async fn rejects_message_endpoint_of_another_origin() {
    let other = WebServer::start(&ServerScript::new(ServerKind::Sse));
    let web = WebServer::start(&ServerScript::new(ServerKind::Sse));
    *web.script.other_url.lock().unwrap() = Some(format!("http://{}/messages", other.address));
    let error = web.connection().connect().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "protocol violation: the SSE message endpoint is on another origin"
    );
    assert_eq!(other.script.seen.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn event_over_the_size_limit_ends_the_stream() {
    let web = WebServer::start(&ServerScript::new(ServerKind::Sse));
    let bounds = MessageBounds { max_message_bytes: 1000, ..MessageBounds::default() };
    let connection = Connection::new(Options { bounds, ..web.options() });
    let error = call(&connection, "big", json!({})).await.unwrap_err();
    assert!(matches!(error, ConnectionError::TooLarge { limit: 1000, .. }), "{error}");
    assert_eq!(call_text(&connection, "echo", json!({})).await, "ok");
}

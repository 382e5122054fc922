//! The legacy transport with its two addresses.

use link::{Bounds, Era, Link, LinkError, Options};
use serde_json::{Map, json};

use crate::support::{answer, askable, call, turn, until, words};
use crate::web::{Kind, SOON, Script, Web};

#[tokio::test]
async fn calls_questions_and_cancelling() {
    let web = Web::start(&Script::new(Kind::Sse));
    let link = web.link();
    assert_eq!(link.connect().await.unwrap().era, Era::Handshake);
    assert_eq!(link.tools().await.unwrap(), [json!({ "name": "echo" })]);
    assert_eq!(words(&link, "echo", json!({})).await, "ok");
    assert_eq!(link.oddities().garbage, 0, "what came before the address was dropped");
    let none = Map::new();
    let asked = answer(link.call(askable("elicit", &none)).await.unwrap()).structured.unwrap();
    assert_eq!(asked["answer"]["content"]["method"], "elicitation/create");
    let dropped = tokio::time::timeout(SOON, turn(&link, "hang", json!({}))).await;
    assert!(dropped.is_err());
    until("it is told", async || web.script.count("notifications/cancelled") == 1).await;
    link.close().await;
    until("the stream is closed", async || {
        let _ = web.script.stream.send(": still there?\n\n".to_owned());
        web.script.stream.receiver_count() == 0
    })
    .await;
}

#[tokio::test]
async fn a_restart_heals() {
    let web = Web::start(&Script::new(Kind::Sse));
    let address = web.address;
    let link = web.link();
    assert_eq!(words(&link, "echo", json!({})).await, "ok");
    drop(web);
    let script = Script::new(Kind::Sse);
    let _web = Web::start_at(&script, address);
    until("it heals", async || call(&link, "echo", json!({})).await.is_ok()).await;
}

#[tokio::test]
async fn a_call_under_way_may_have_run_when_another_finds_the_session_gone() {
    let web = Web::start(&Script::new(Kind::Sse));
    let link = web.link();
    let under_way = tokio::spawn({
        let link = link.clone();
        async move { call(&link, "hang", json!({})).await }
    });
    until("it is under way", async || web.script.count("tools/call") == 1).await;
    let error = call(&link, "forgotten", json!({})).await.unwrap_err();
    assert!(matches!(error, LinkError::Unavailable { may_have_run: false, .. }), "{error}");
    let error = under_way.await.unwrap().unwrap_err();
    assert!(matches!(error, LinkError::Unavailable { may_have_run: true, .. }), "{error}");
}

#[tokio::test]
async fn messages_go_to_the_same_origin_only() {
    let other = Web::start(&Script::new(Kind::Sse));
    let web = Web::start(&Script::new(Kind::Sse));
    *web.script.elsewhere.lock().unwrap() = Some(format!("http://{}/messages", other.address));
    let error = web.link().connect().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server breaks the protocol: it wants its messages sent to another origin"
    );
    assert_eq!(other.script.seen.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn an_event_over_the_limit_ends_the_stream() {
    let web = Web::start(&Script::new(Kind::Sse));
    let bounds = Bounds { max_message_bytes: 1000, ..Bounds::default() };
    let link = Link::new(Options { bounds, ..web.options() });
    let error = call(&link, "big", json!({})).await.unwrap_err();
    assert!(matches!(error, LinkError::TooLarge { limit: 1000, .. }), "{error}");
    assert_eq!(words(&link, "echo", json!({})).await, "ok");
}

//! Conversations over streamable HTTP.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::adversary::Served;
use testkit::raw::{Http, stateless};

use super::told;

async fn started(args: &[&str]) -> (Served, Http) {
    let server = Served::start(args).await;
    let client = Http::new(&server.url);
    (server, client)
}

async fn call(client: &Http, tool: &str) -> testkit::raw::Answer {
    client.request("tools/call", stateless(json!({"name": tool, "arguments": {}}))).await
}

#[tokio::test]
async fn answers_come_as_json_or_as_a_stream() {
    let (_server, mut client) = started(&[]).await;
    client.greet().await;
    let mut transcript = String::new();
    for tool in ["good", "twice", "garbage", "error", "rpc_error"] {
        for is_stateless in [false, true] {
            let answer = match is_stateless {
                true => call(&Http::new(&client.url), tool).await,
                false => client.call(tool, json!({})).await,
            };
            let era = if is_stateless { "stateless" } else { "handshake" };
            let form = if answer.streamed { "stream" } else { "json" };
            told(
                &mut transcript,
                &format!("{tool} {era}: {} {form}", answer.status),
                &answer.texts,
            );
        }
    }
    assert_snapshot!(transcript);
}

#[tokio::test]
async fn a_session_is_needed_and_expires() {
    let (_server, mut client) = started(&["--expire-sessions", "2"]).await;
    assert_eq!(client.call("good", json!({})).await.status, 400);
    client.greet().await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(client.call("good", json!({})).await.status);
    }
    assert_eq!(statuses, [200, 200, 404, 404]);
    client.session = None;
    client.greet().await;
    assert_eq!(client.call("good", json!({})).await.status, 200);
}

#[tokio::test]
async fn a_restarted_server_knows_no_session() {
    let (server, mut client) = started(&[]).await;
    client.greet().await;
    let port = server.port().to_owned();
    server.stop().await;
    let server = Served::start(&["--port", &port]).await;
    assert_eq!(server.url, client.url);
    assert_eq!(client.call("good", json!({})).await.status, 404);
}

#[tokio::test]
async fn headers_that_contradict_the_body_are_refused() {
    let (_server, client) = started(&["--era", "stateless"]).await;
    let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    message["params"] = stateless(json!({}));
    assert_eq!(client.send(&message).await.status, 200);
    let refused = client.request("initialize", testkit::raw::hello()).await;
    assert_eq!((refused.status, &refused.message()["error"]["code"]), (400, &json!(-32022)));
    let call = json!({"name": "good"});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": stateless(call)});
    let bare = reqwest::Client::new()
        .post(&client.url)
        .body(body.to_string())
        .send()
        .await
        .expect("an answer");
    assert_eq!(bare.status(), 400);
    let text = bare.text().await.expect("text");
    assert!(text.contains("-32020"), "{text}");
}

#[tokio::test]
async fn a_closed_stream_ends_the_call() {
    let (_server, client) = started(&[]).await;
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { call(&client, "slow").await }
    });
    let counts = async |wanted: fn(&Value) -> bool| {
        for _ in 0..1_000 {
            let counts =
                call(&client, "count").await.message()["result"]["structuredContent"].clone();
            if wanted(&counts) {
                return counts;
            }
        }
        panic!("the counts never became what was wanted");
    };
    counts(|counts| counts["calls"] == json!([{"tool": "slow", "count": 1}])).await;
    waiting.abort();
    let counts = counts(|counts| counts["cancelled"] != json!([])).await;
    assert_eq!(counts["cancelled"], json!([{"tool": "slow", "how": "disconnect"}]));
}

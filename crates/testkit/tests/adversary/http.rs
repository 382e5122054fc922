//! Requests over streamable HTTP.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::adversary::HttpAdversary;
use testkit::raw::{RawHttpClient, with_stateless_meta};

use super::append_exchange;

async fn start_http(args: &[&str]) -> (HttpAdversary, RawHttpClient) {
    let server = HttpAdversary::start(args).await;
    let client = RawHttpClient::new(&server.url);
    (server, client)
}

async fn call_stateless(client: &RawHttpClient, tool: &str) -> testkit::raw::RawHttpResponse {
    client
        .send_request("tools/call", with_stateless_meta(json!({"name": tool, "arguments": {}})))
        .await
}

#[tokio::test]
async fn responds_with_json_or_event_stream() {
    let (_server, mut client) = start_http(&[]).await;
    client.initialize().await;
    let mut transcript = String::new();
    for tool in ["good", "twice", "garbage", "error", "rpc_error"] {
        for is_stateless in [false, true] {
            let answer = match is_stateless {
                true => call_stateless(&RawHttpClient::new(&client.url), tool).await,
                false => client.call_tool(tool, json!({})).await,
            };
            let era = if is_stateless { "stateless" } else { "handshake" };
            let form = if answer.streamed { "stream" } else { "json" };
            append_exchange(
                &mut transcript,
                &format!("{tool} {era}: {} {form}", answer.status),
                &answer.texts,
            );
        }
    }
    assert_snapshot!(transcript);
}

#[tokio::test]
async fn requires_a_session_and_expires_it() {
    let (_server, mut client) = start_http(&["--expire-sessions", "2"]).await;
    assert_eq!(client.call_tool("good", json!({})).await.status, 400);
    client.initialize().await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(client.call_tool("good", json!({})).await.status);
    }
    assert_eq!(statuses, [200, 200, 404, 404]);
    client.session = None;
    client.initialize().await;
    assert_eq!(client.call_tool("good", json!({})).await.status, 200);
}

#[tokio::test]
async fn restarted_server_rejects_old_sessions() {
    let (server, mut client) = start_http(&[]).await;
    client.initialize().await;
    let port = server.port().to_owned();
    server.stop().await;
    let server = HttpAdversary::start(&["--port", &port]).await;
    assert_eq!(server.url, client.url);
    assert_eq!(client.call_tool("good", json!({})).await.status, 404);
}

#[tokio::test]
async fn rejects_headers_that_contradict_the_body() {
    let (_server, client) = start_http(&["--era", "stateless"]).await;
    let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    message["params"] = with_stateless_meta(json!({}));
    assert_eq!(client.send_message(&message).await.status, 200);
    let refused = client.send_request("initialize", testkit::raw::initialize_params()).await;
    assert_eq!((refused.status, &refused.last_message()["error"]["code"]), (400, &json!(-32022)));
    let call = json!({"name": "good"});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": with_stateless_meta(call)});
    let bare = reqwest::Client::new()
        .post(&client.url)
        .body(body.to_string())
        .send()
        .await
        .expect("a response");
    assert_eq!(bare.status(), 400);
    let text = bare.text().await.expect("text");
    assert!(text.contains("-32020"), "{text}");
}

#[tokio::test]
async fn closing_the_stream_cancels_the_call() {
    let (_server, client) = start_http(&[]).await;
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { call_stateless(&client, "slow").await }
    });
    let counts = async |is_expected: fn(&Value) -> bool| {
        for _ in 0..1_000 {
            let counts =
                call_stateless(&client, "count").await.last_message()["result"]["structuredContent"].clone();
            if is_expected(&counts) {
                return counts;
            }
        }
        panic!("the expected counts did not appear");
    };
    counts(|counts| counts["calls"] == json!([{"tool": "slow", "count": 1}])).await;
    waiting.abort();
    let counts = counts(|counts| counts["cancelled"] != json!([])).await;
    assert_eq!(counts["cancelled"], json!([{"tool": "slow", "how": "disconnect"}]));
}

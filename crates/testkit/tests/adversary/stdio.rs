//! Requests over stdio.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::raw::{RawStdioClient, with_stateless_meta};

use super::{append_exchange, start_initialized};

/// Calls each tool and returns a transcript of the lines up to its response, plus `after` more lines.
async fn record_calls(server: &mut RawStdioClient, calls: &[(&str, Value, usize)]) -> String {
    let mut transcript = String::new();
    for (tool, arguments, after) in calls {
        let id =
            server.start_request("tools/call", json!({"name": tool, "arguments": arguments})).await;
        let mut lines = Vec::new();
        loop {
            let line = server.read_line().await.expect("the server is still running");
            let is_answer = line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#));
            lines.push(line);
            if is_answer {
                break;
            }
        }
        for _ in 0..*after {
            lines.extend(server.read_line().await);
        }
        append_exchange(&mut transcript, &format!("{tool} {arguments}"), &lines);
    }
    transcript
}

/// Polls `count` until its result is as expected, and returns it.
async fn wait_for_counts(
    server: &mut RawStdioClient,
    is_expected: impl Fn(&Value) -> bool,
) -> Value {
    for _ in 0..1_000 {
        let counts =
            server.call_tool("count", json!({})).await["result"]["structuredContent"].clone();
        if is_expected(&counts) {
            return counts;
        }
        tokio::task::yield_now().await;
    }
    panic!("the expected counts did not appear");
}

#[tokio::test]
async fn returns_scripted_answers() {
    let mut server = start_initialized(&[]).await;
    let calls = [
        ("good", json!({"text": "hello"}), 0),
        ("good_many", json!({"count": 2}), 0),
        ("violates", json!({"how": "wrong_type"}), 0),
        ("violates", json!({"how": "missing"}), 0),
        ("violates", json!({"how": "extra"}), 0),
        ("violates", json!({"how": "null"}), 0),
        ("text_only", json!({}), 0),
        ("vacuous", json!({}), 0),
        ("error", json!({}), 0),
        ("rpc_error", json!({}), 0),
        ("instructs", json!({}), 0),
        ("numbers", json!({}), 0),
        ("numbers_beyond", json!({}), 0),
        ("unheard_of", json!({}), 0),
    ];
    assert_snapshot!(record_calls(&mut server, &calls).await);
}

#[tokio::test]
async fn sends_unexpected_lines() {
    let mut server = start_initialized(&[]).await;
    let calls = [("twice", json!({}), 1), ("foreign", json!({}), 0), ("garbage", json!({}), 0)];
    assert_snapshot!(record_calls(&mut server, &calls).await);
}

#[tokio::test]
async fn foreign_answers_a_waiting_call() {
    let mut server = start_initialized(&[]).await;
    let slow = server.start_request("tools/call", json!({"name": "slow"})).await;
    let foreign = server.start_request("tools/call", json!({"name": "foreign"})).await;
    assert_eq!(server.read_message().await["id"], slow);
    assert_eq!(server.read_message().await["id"], foreign);
}

#[tokio::test]
async fn sends_huge_and_deeply_nested_answers() {
    let mut server = start_initialized(&[]).await;
    let huge = server.call_tool("huge", json!({})).await;
    let text = huge["result"]["content"][0]["text"].as_str().expect("text");
    assert_eq!(text.len(), 20_000_000);
    for (levels, is_json) in [(100, true), (5_000, false)] {
        server
            .start_request("tools/call", json!({"name": "deep", "arguments": {"levels": levels}}))
            .await;
        let line = server.read_line().await.expect("a response");
        assert_eq!(line.matches('[').count(), levels + 1);
        assert_eq!(serde_json::from_str::<Value>(&line).is_ok(), is_json);
    }
    let flood = server.call_tool("floods", json!({})).await;
    assert_eq!(flood["result"]["structuredContent"]["bytes"], 4_000_000);
}

#[tokio::test]
async fn slow_records_how_it_was_cancelled() {
    let mut server = start_initialized(&[]).await;
    server.call_tool("good", json!({"text": "one"})).await;
    let id = server.start_request("tools/call", json!({"name": "slow"})).await;
    wait_for_counts(&mut server, |counts| {
        counts["calls"].as_array().is_some_and(|calls| calls.len() == 2)
    })
    .await;
    server
        .send_message(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
        .await;
    let mut counts = wait_for_counts(&mut server, |counts| counts["cancelled"] != json!([])).await;
    assert!(counts["pid"].take().is_u64());
    assert_snapshot!(counts);
}

#[tokio::test]
async fn dies_exits_without_a_response() {
    let mut server = start_initialized(&[]).await;
    server.start_request("tools/call", json!({"name": "dies"})).await;
    assert_eq!(server.read_line().await, None);
    assert_eq!(server.close().await.code(), Some(9));
}

#[tokio::test]
async fn reports_progress_for_a_progress_token() {
    let mut server = start_initialized(&[]).await;
    server
        .start_request("tools/call", json!({"name": "progress", "_meta": {"progressToken": "p"}}))
        .await;
    let mut lines = Vec::new();
    for _ in 0..4 {
        lines.extend(server.read_line().await);
    }
    assert_snapshot!(lines.join("\n"));
}

#[tokio::test]
async fn elicits_over_the_connection_in_the_handshake_era() {
    let mut server = start_initialized(&[]).await;
    server.start_request("tools/call", json!({"name": "elicit", "arguments": {"rounds": 2}})).await;
    let mut transcript = String::new();
    for name in ["Ada", "Grace"] {
        let question = server.read_message().await;
        append_exchange(&mut transcript, name, &[question.to_string()]);
        let answer = json!({"action": "accept", "content": {"name": name}});
        server
            .send_message(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}))
            .await;
    }
    append_exchange(&mut transcript, "answer", &[server.read_message().await.to_string()]);
    assert_snapshot!(transcript);
}

#[tokio::test]
async fn elicits_in_rounds_in_the_stateless_era() {
    let mut server = RawStdioClient::start(&super::adversary_command_line(&[]));
    let mut transcript = String::new();
    let discovered = server.send_request("server/discover", with_stateless_meta(json!({}))).await;
    append_exchange(&mut transcript, "server/discover", &[discovered.to_string()]);

    let first = json!({"name": "elicit", "arguments": {"rounds": 1}});
    let question = server.send_request("tools/call", with_stateless_meta(first.clone())).await;
    append_exchange(&mut transcript, "elicit", &[question.to_string()]);
    let mut retry = first;
    retry["inputResponses"] = json!({"name-1": {"action": "accept", "content": {"name": "Ada"}}});
    let without_state = server.send_request("tools/call", with_stateless_meta(retry.clone())).await;
    append_exchange(&mut transcript, "without the state", &[without_state.to_string()]);
    retry["requestState"] = json!("another");
    let forged = server.send_request("tools/call", with_stateless_meta(retry.clone())).await;
    append_exchange(&mut transcript, "with another state", &[forged.to_string()]);
    retry["requestState"] = question["result"]["requestState"].clone();
    let answer = server.send_request("tools/call", with_stateless_meta(retry)).await;
    append_exchange(&mut transcript, "with the state", &[answer.to_string()]);
    assert_snapshot!(transcript);
}

#[tokio::test]
async fn rejects_an_era_that_is_not_offered() {
    let mut transcript = String::new();
    let mut server = RawStdioClient::start(&super::adversary_command_line(&["--era", "handshake"]));
    let discover = server.send_request("server/discover", with_stateless_meta(json!({}))).await;
    append_exchange(
        &mut transcript,
        "server/discover to a handshake server",
        &[discover.to_string()],
    );
    let mut server = RawStdioClient::start(&super::adversary_command_line(&["--era", "stateless"]));
    let greeting = server.send_request("initialize", testkit::raw::initialize_params()).await;
    append_exchange(&mut transcript, "initialize to a stateless server", &[greeting.to_string()]);
    assert_snapshot!(transcript);
}

//! Conversations over stdio.

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::raw::{Stdio, stateless};

use super::{greeted, told};

/// Calls each tool and writes down every line until the answer, and those `after` it.
async fn check(server: &mut Stdio, calls: &[(&str, Value, usize)]) -> String {
    let mut transcript = String::new();
    for (tool, arguments, after) in calls {
        let id = server.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
        let mut lines = Vec::new();
        loop {
            let line = server.line().await.expect("the server lives");
            let is_answer = line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#));
            lines.push(line);
            if is_answer {
                break;
            }
        }
        for _ in 0..*after {
            lines.extend(server.line().await);
        }
        told(&mut transcript, &format!("{tool} {arguments}"), &lines);
    }
    transcript
}

/// What `count` says once it says what is wanted.
async fn counted(server: &mut Stdio, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..1_000 {
        let counts = server.call("count", json!({})).await["result"]["structuredContent"].clone();
        if wanted(&counts) {
            return counts;
        }
        tokio::task::yield_now().await;
    }
    panic!("the counts never became what was wanted");
}

#[tokio::test]
async fn answers_that_break_a_promise() {
    let mut server = greeted(&[]).await;
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
    assert_snapshot!(check(&mut server, &calls).await);
}

#[tokio::test]
async fn lines_that_nobody_expects() {
    let mut server = greeted(&[]).await;
    let calls = [("twice", json!({}), 1), ("foreign", json!({}), 0), ("garbage", json!({}), 0)];
    assert_snapshot!(check(&mut server, &calls).await);
}

#[tokio::test]
async fn a_foreign_answer_hits_a_call_that_waits() {
    let mut server = greeted(&[]).await;
    let slow = server.ask("tools/call", json!({"name": "slow"})).await;
    let foreign = server.ask("tools/call", json!({"name": "foreign"})).await;
    assert_eq!(server.message().await["id"], slow);
    assert_eq!(server.message().await["id"], foreign);
}

#[tokio::test]
async fn too_much_of_everything() {
    let mut server = greeted(&[]).await;
    let huge = server.call("huge", json!({})).await;
    let text = huge["result"]["content"][0]["text"].as_str().expect("text");
    assert_eq!(text.len(), 20_000_000);
    for (levels, is_json) in [(100, true), (5_000, false)] {
        server.ask("tools/call", json!({"name": "deep", "arguments": {"levels": levels}})).await;
        let line = server.line().await.expect("an answer");
        assert_eq!(line.matches('[').count(), levels + 1);
        assert_eq!(serde_json::from_str::<Value>(&line).is_ok(), is_json);
    }
    let flood = server.call("floods", json!({})).await;
    assert_eq!(flood["result"]["structuredContent"]["bytes"], 4_000_000);
}

#[tokio::test]
async fn a_call_that_never_ends_notes_how_it_was_stopped() {
    let mut server = greeted(&[]).await;
    server.call("good", json!({"text": "one"})).await;
    let id = server.ask("tools/call", json!({"name": "slow"})).await;
    counted(&mut server, |counts| counts["calls"].as_array().is_some_and(|calls| calls.len() == 2))
        .await;
    server
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
        .await;
    let mut counts = counted(&mut server, |counts| counts["cancelled"] != json!([])).await;
    assert!(counts["pid"].take().is_u64());
    assert_snapshot!(counts);
}

#[tokio::test]
async fn a_server_that_dies_says_nothing_more() {
    let mut server = greeted(&[]).await;
    server.ask("tools/call", json!({"name": "dies"})).await;
    assert_eq!(server.line().await, None);
    assert_eq!(server.close().await.code(), Some(9));
}

#[tokio::test]
async fn progress_is_told_to_who_gave_a_token() {
    let mut server = greeted(&[]).await;
    server.ask("tools/call", json!({"name": "progress", "_meta": {"progressToken": "p"}})).await;
    let mut lines = Vec::new();
    for _ in 0..4 {
        lines.extend(server.line().await);
    }
    assert_snapshot!(lines.join("\n"));
}

#[tokio::test]
async fn a_person_is_asked_over_the_open_line() {
    let mut server = greeted(&[]).await;
    server.ask("tools/call", json!({"name": "elicit", "arguments": {"rounds": 2}})).await;
    let mut transcript = String::new();
    for name in ["Ada", "Grace"] {
        let question = server.message().await;
        told(&mut transcript, name, &[question.to_string()]);
        let answer = json!({"action": "accept", "content": {"name": name}});
        server.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    }
    told(&mut transcript, "answer", &[server.message().await.to_string()]);
    assert_snapshot!(transcript);
}

#[tokio::test]
async fn a_person_is_asked_in_rounds_without_a_line() {
    let mut server = Stdio::start(&super::command(&[]));
    let mut transcript = String::new();
    let discovered = server.request("server/discover", stateless(json!({}))).await;
    told(&mut transcript, "server/discover", &[discovered.to_string()]);

    let first = json!({"name": "elicit", "arguments": {"rounds": 1}});
    let question = server.request("tools/call", stateless(first.clone())).await;
    told(&mut transcript, "elicit", &[question.to_string()]);
    let mut again = first;
    again["inputResponses"] = json!({"name-1": {"action": "accept", "content": {"name": "Ada"}}});
    let forgetful = server.request("tools/call", stateless(again.clone())).await;
    told(&mut transcript, "without the state", &[forgetful.to_string()]);
    again["requestState"] = json!("another");
    let forged = server.request("tools/call", stateless(again.clone())).await;
    told(&mut transcript, "with another state", &[forged.to_string()]);
    again["requestState"] = question["result"]["requestState"].clone();
    let answer = server.request("tools/call", stateless(again)).await;
    told(&mut transcript, "with the state", &[answer.to_string()]);
    assert_snapshot!(transcript);
}

#[tokio::test]
async fn an_era_that_is_not_offered_is_refused() {
    let mut transcript = String::new();
    let mut server = Stdio::start(&super::command(&["--era", "handshake"]));
    let discover = server.request("server/discover", stateless(json!({}))).await;
    told(&mut transcript, "server/discover to a handshake server", &[discover.to_string()]);
    let mut server = Stdio::start(&super::command(&["--era", "stateless"]));
    let greeting = server.request("initialize", testkit::raw::hello()).await;
    told(&mut transcript, "initialize to a stateless server", &[greeting.to_string()]);
    assert_snapshot!(transcript);
}

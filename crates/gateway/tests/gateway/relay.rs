//! Tests elicitation, progress, cancellation and list changes between clients and upstreams of different eras.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::client::TestClient;
use crate::harness::{GatewaySetup, KINDS, ProjectFolder, TestGateway, UpstreamKind, wait_until};

const TOOLS: &str = "good,elicit,progress,slow,mutate,restore";

/// Runs the check for a client of each era with an upstream of each kind.
async fn check_each_pair(
    mut check: impl AsyncFnMut(&str, UpstreamKind, &TestGateway, &mut TestClient),
) {
    for kind in KINDS {
        for era in ["handshake", "stateless"] {
            let site = ProjectFolder::new();
            let record = site.path("record").to_str().expect("text").to_owned();
            let args = ["--only", TOOLS, "--record", &record];
            let rig =
                GatewaySetup::in_project(&site).with_kind(kind, "up", &args).await.start().await;
            let mut client = TestClient::connect(&rig, era).await;
            check(&format!("{era} client, {kind} upstream"), kind, &rig, &mut client).await;
            drop(client);
            rig.close().await;
        }
    }
}

#[tokio::test]
async fn relays_elicitations_and_answers() {
    check_each_pair(async |pair, _, rig, client| {
        for (rounds, answer, expected) in [
            (
                1,
                json!({"action": "accept", "content": {"name": "Ada"}}),
                json!({"action": "accept", "names": ["Ada"]}),
            ),
            (
                2,
                json!({"action": "accept", "content": {"name": "Ada"}}),
                json!({"action": "accept", "names": ["Ada", "Ada"]}),
            ),
            (1, json!({"action": "decline"}), json!({"action": "decline", "names": []})),
            (1, json!({"action": "cancel"}), json!({"action": "cancel", "names": []})),
        ] {
            let (result, asked) = client.call_elicit(rounds, &answer).await;
            assert_eq!(result, expected, "{pair}: {answer}");
            let messages: Vec<&str> =
                asked.iter().filter_map(|params| params["message"].as_str()).collect();
            let wanted: Vec<String> =
                (1..=rounds).map(|round| format!("What is name {round}?")).collect();
            assert_eq!(messages, wanted, "{pair}");
            assert_eq!(
                asked[0]["requestedSchema"]["properties"]["name"]["description"], "A name.",
                "{pair}"
            );
        }
        // For a server that sends requests during its call, all rounds are one call.
        let rounds = if rig.gateway.upstreams()[0].connection().era()
            == Some(link::ProtocolEra::Stateless)
        {
            9
        } else {
            4
        };
        assert_eq!(rig.site.count_calls("up", "elicit"), rounds, "{pair}");
    })
    .await;
}

#[tokio::test]
async fn sends_progress_only_with_token() {
    check_each_pair(async |pair, _, _, client| {
        let params = json!({"name": "up__progress", "arguments": {}, "_meta": {"progressToken": "mine"}});
        let id = client.send_request("tools/call", params).await;
        let (answer, before) = client.read_response(id).await;
        assert_eq!(answer["result"]["structuredContent"], json!({"steps": 3}), "{pair}: {answer}");
        let steps: Vec<Value> = before
            .iter()
            .filter(|message| message["method"] == "notifications/progress")
            .map(|message| message["params"].clone())
            .collect();
        let step = |number: u64| {
            json!({"progressToken": "mine", "progress": number as f64, "total": 3.0, "message": format!("step {number}")})
        };
        assert_eq!(steps, [step(1), step(2), step(3)], "{pair}");
        // No progress without a token.
        let id = client.send_request("tools/call", json!({"name": "up__progress", "arguments": {}})).await;
        assert_eq!(client.read_response(id).await.1, Vec::<Value>::new(), "{pair}");
    })
    .await;
}

#[tokio::test]
async fn relays_cancellation_to_the_server() {
    check_each_pair(async |pair, kind, rig, client| {
        let id =
            client.send_request("tools/call", json!({"name": "up__slow", "arguments": {}})).await;
        wait_until("the call to arrive", || rig.site.count_calls("up", "slow") == 1).await;
        client
            .notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}))
            .await;
        wait_until("the server to receive the cancellation", || {
            rig.site.read_counts("up")["cancelled"] != json!([])
        })
        .await;
        assert_eq!(rig.site.read_counts("up")["cancelled"][0]["tool"], "slow", "{pair}");
        // Except over stateless HTTP, where closing the request suffices, a notification is sent.
        if kind != (UpstreamKind { http: true, era: "stateless" }) {
            wait_until("the notification", || {
                let record = std::fs::read_to_string(rig.site.path("record")).unwrap();
                record.contains("notifications/cancelled")
            })
            .await;
        }
        // The connection still works.
        let answer = client
            .request("tools/call", json!({"name": "up__good", "arguments": {"text": "on"}}))
            .await;
        assert_eq!(answer["result"]["structuredContent"]["text"], "on", "{pair}: {answer}");
    })
    .await;
}

#[tokio::test]
async fn unanswered_elicitation_ends_with_its_call() {
    check_each_pair(async |pair, kind, rig, client| {
        if kind.era == "stateless" {
            // The call of a stateless server ends with its request.
            return;
        }
        let id =
            client.send_request("tools/call", json!({"name": "up__elicit", "arguments": {}})).await;
        let asked = client.read_message().await;
        if asked["method"] == "elicitation/create" {
            client.notify("notifications/cancelled", json!({"requestId": id})).await;
            wait_until("the server to receive the cancellation", || {
                rig.site.read_counts("up")["cancelled"] != json!([])
            })
            .await;
        } else {
            assert_eq!(asked["result"]["resultType"], "input_required", "{pair}");
        }
        // A parked call that is never answered does not prevent closing.
    })
    .await;
}

#[tokio::test]
async fn notifies_client_of_changed_list() {
    check_each_pair(async |pair, _, _, client| {
        client.subscribe().await;
        assert!(client.list_tools().await.contains(&"up__good".to_owned()), "{pair}");
        for (tool, is_there) in [("up__mutate", false), ("up__restore", true)] {
            let id =
                client.send_request("tools/call", json!({"name": tool, "arguments": {}})).await;
            let (_, mut before) = client.read_response(id).await;
            while !before
                .iter()
                .any(|message| message["method"] == "notifications/tools/list_changed")
            {
                before.push(client.read_message().await);
            }
            assert_eq!(
                client.list_tools().await.contains(&"up__good".to_owned()),
                is_there,
                "{pair}: {tool}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn elicitation_fails_without_client_support() {
    let mut replies = String::new();
    for kind in KINDS {
        let rig = GatewaySetup::new().with_kind(kind, "up", &["--only", TOOLS]).await.start().await;
        replies += &format!("{kind}: {}\n", rig.call_to_text("up__elicit", json!({})).await);
        rig.close().await;
    }
    assert_snapshot!(replies);
}

/// The state that a client carries may outlive the gateway that parked its call, and must not resume another call.
#[tokio::test]
async fn parked_call_cannot_be_resumed_at_another_gateway() {
    let site = ProjectFolder::new();
    let call = json!({"name": "up__elicit", "arguments": {"rounds": 1}});
    let mut states = Vec::new();
    for _ in 0..2 {
        let setup = GatewaySetup::in_project(&site)
            .with_child("up", &["--only", "elicit", "--era", "handshake"]);
        let rig = setup.start().await;
        let mut client = TestClient::connect(&rig, "stateless").await;
        let asked = client.request("tools/call", call.clone()).await;
        let result = &asked["result"];
        assert_eq!(result["resultType"], "input_required", "{asked}");
        for state in &states {
            let mut params = call.clone();
            params["requestState"] = Value::clone(state);
            let answer = client.request("tools/call", params).await;
            let code = &answer["result"]["structuredContent"]["error"]["code"];
            assert_eq!(code, "UPSTREAM_UNAVAILABLE", "{answer}");
        }
        states.push(result["requestState"].clone());
        rig.close().await;
    }
}

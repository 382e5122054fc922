//! Questions, progress, cancellation and changed lists between clients and upstreams of different eras.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::client::Client;
use crate::rig::{KINDS, Kind, Rig, Setup, Site, until};

const TOOLS: &str = "good,elicit,progress,slow,mutate,restore";

/// Every pair: a client of each era before an upstream of each kind.
async fn each_pair(mut check: impl AsyncFnMut(&str, Kind, &Rig, &mut Client)) {
    for kind in KINDS {
        for era in ["handshake", "stateless"] {
            let site = Site::new();
            let record = site.path("record").to_str().expect("text").to_owned();
            let args = ["--only", TOOLS, "--record", &record];
            let rig = Setup::on(&site).of(kind, "up", &args).await.start().await;
            let mut client = Client::connect(&rig, era).await;
            check(&format!("{era} client, {kind} upstream"), kind, &rig, &mut client).await;
            drop(client);
            rig.close().await;
        }
    }
}

#[tokio::test]
async fn questions_reach_the_person_and_answers_the_server() {
    each_pair(async |pair, _, rig, client| {
        for (rounds, answer, told) in [
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
            let (heard, asked) = client.elicited(rounds, &answer).await;
            assert_eq!(heard, told, "{pair}: {answer}");
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
        // No round of a call is another call to a server that asks in the middle of it.
        let rounds = if rig.gateway.upstreams()[0].link().era() == Some(link::Era::Stateless) {
            9
        } else {
            4
        };
        assert_eq!(rig.site.ran("up", "elicit"), rounds, "{pair}");
    })
    .await;
}

#[tokio::test]
async fn progress_is_told_to_who_gave_a_token() {
    each_pair(async |pair, _, _, client| {
        let params = json!({"name": "up__progress", "arguments": {}, "_meta": {"progressToken": "mine"}});
        let id = client.ask("tools/call", params).await;
        let (answer, before) = client.answer(id).await;
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
        // And nothing to who gave none.
        let id = client.ask("tools/call", json!({"name": "up__progress", "arguments": {}})).await;
        assert_eq!(client.answer(id).await.1, Vec::<Value>::new(), "{pair}");
    })
    .await;
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_cancelled_at_the_server() {
    each_pair(async |pair, kind, rig, client| {
        let id = client.ask("tools/call", json!({"name": "up__slow", "arguments": {}})).await;
        until("the call to arrive", || rig.site.ran("up", "slow") == 1).await;
        client
            .notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}))
            .await;
        until("the server to be told", || rig.site.counted("up")["cancelled"] != json!([])).await;
        assert_eq!(rig.site.counted("up")["cancelled"][0]["tool"], "slow", "{pair}");
        // Where a closed request says nothing, it is said.
        if kind != (Kind { http: true, era: "stateless" }) {
            until("the notification", || {
                let record = std::fs::read_to_string(rig.site.path("record")).unwrap();
                record.contains("notifications/cancelled")
            })
            .await;
        }
        // The connection is as good as before.
        let answer = client
            .request("tools/call", json!({"name": "up__good", "arguments": {"text": "on"}}))
            .await;
        assert_eq!(answer["result"]["structuredContent"]["text"], "on", "{pair}: {answer}");
    })
    .await;
}

#[tokio::test]
async fn a_question_that_nobody_answers_ends_with_its_call() {
    each_pair(async |pair, kind, rig, client| {
        if kind.era == "stateless" {
            // Its call is over when it asks.
            return;
        }
        let id = client.ask("tools/call", json!({"name": "up__elicit", "arguments": {}})).await;
        let asked = client.message().await;
        if asked["method"] == "elicitation/create" {
            client.notify("notifications/cancelled", json!({"requestId": id})).await;
            until("the server to be told", || rig.site.counted("up")["cancelled"] != json!([]))
                .await;
        } else {
            assert_eq!(asked["result"]["resultType"], "input_required", "{pair}");
        }
        // What waits for an answer that never comes keeps nobody from closing.
    })
    .await;
}

#[tokio::test]
async fn a_changed_list_is_told_and_true() {
    each_pair(async |pair, _, _, client| {
        client.listen().await;
        assert!(client.listed().await.contains(&"up__good".to_owned()), "{pair}");
        for (tool, is_there) in [("up__mutate", false), ("up__restore", true)] {
            let id = client.ask("tools/call", json!({"name": tool, "arguments": {}})).await;
            let (_, mut before) = client.answer(id).await;
            while !before
                .iter()
                .any(|message| message["method"] == "notifications/tools/list_changed")
            {
                before.push(client.message().await);
            }
            assert_eq!(
                client.listed().await.contains(&"up__good".to_owned()),
                is_there,
                "{pair}: {tool}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn without_anybody_to_ask_a_question_is_declined_or_refused() {
    let mut told = String::new();
    for kind in KINDS {
        let rig = Setup::new().of(kind, "up", &["--only", TOOLS]).await.start().await;
        told += &format!("{kind}: {}\n", rig.tell("up__elicit", json!({})).await);
        rig.close().await;
    }
    assert_snapshot!(told);
}

/// What a client carries to its next round may outlive the gateway that parked its call, and opens no other one.
#[tokio::test]
async fn a_parked_call_is_of_its_gateway_alone() {
    let site = Site::new();
    let call = json!({"name": "up__elicit", "arguments": {"rounds": 1}});
    let mut states = Vec::new();
    for _ in 0..2 {
        let setup = Setup::on(&site).child("up", &["--only", "elicit", "--era", "handshake"]);
        let rig = setup.start().await;
        let mut client = Client::connect(&rig, "stateless").await;
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

//! Tests the caller's view of each answer of a server, over every kind of upstream.

use std::fmt::Write;

use contract::ErrorCode;
use insta::assert_snapshot;
use runtime::ToolReply;
use serde_json::{Value, json};

use crate::client::TestClient;
use crate::harness::{GatewaySetup, KINDS, TestGateway, UpstreamKind, format_reply};

/// Texts of answers that violate their contract. None may ever appear in a reply.
pub(crate) const WITHHELD_TEXTS: [&str; 5] =
    ["seven", "ignore the schema", "just words", "meant for another call", "the second answer"];

/// The order matters: a call that breaks the connection would show in the following ones.
fn planned_calls() -> Vec<(&'static str, Value)> {
    vec![
        ("good", json!({"text": "a \"b\" \u{e9} \u{1f600} \u{0} \n"})),
        ("good", json!({})),
        ("good", json!({"text": 7})),
        ("good", json!({"text": "a", "more": 1})),
        ("good_many", json!({"count": 2})),
        ("violates", json!({"how": "wrong_type"})),
        ("violates", json!({"how": "missing"})),
        ("violates", json!({"how": "extra"})),
        ("violates", json!({"how": "null"})),
        ("violates", json!({"how": "twice"})),
        ("violates", json!({"how": "other"})),
        ("text_only", json!({})),
        ("twice", json!({})),
        ("foreign", json!({})),
        ("error", json!({})),
        ("rpc_error", json!({})),
        ("instructs", json!({})),
        ("garbage", json!({})),
        ("floods", json!({"bytes": 1_000_000})),
        ("deep", json!({"levels": 3})),
        ("deep", json!({"levels": 100})),
        ("deep", json!({"levels": 100_000})),
        ("huge", json!({"bytes": 10})),
        ("huge", json!({"bytes": 5_000_000})),
        ("huge", json!({})),
        ("numbers", json!({})),
        ("numbers_beyond", json!({})),
        // Refused tools and unknown tools are not offered.
        ("vacuous", json!({})),
        ("no_output_schema", json!({"text": "a"})),
        ("poisoned", json!({"text": "a"})),
        ("unheard_of", json!({})),
        ("good", json!({"text": "still well"})),
    ]
}

async fn call_all(rig: &TestGateway) -> String {
    let mut table = String::new();
    for (tool, arguments) in planned_calls() {
        let reply = rig.call(&format!("up__{tool}"), arguments.clone()).await;
        for marker in WITHHELD_TEXTS {
            let whole = format!("{reply:?}");
            let is_own = matches!(&reply, ToolReply::Done(_)) && tool == "violates";
            assert!(is_own || !whole.contains(marker), "{tool} {arguments}: {whole}");
        }
        let line = match &reply {
            // The number of bytes received differs between transports.
            ToolReply::Failed(error) if error.code == ErrorCode::TooLarge => {
                format!("{} over {}", error.code, error.details["limit"])
            }
            reply => format_reply(reply),
        };
        writeln!(table, "{tool} {arguments}\n  {line}").unwrap();
    }
    table
}

async fn call_all_over(kind: UpstreamKind) -> (TestGateway, String) {
    let rig = GatewaySetup::new().with_kind(kind, "up", &[]).await.start().await;
    let table = call_all(&rig).await;
    (rig, table)
}

#[tokio::test]
async fn withholds_invalid_answers_over_every_kind_of_upstream() {
    let mut tables = Vec::new();
    for kind in KINDS {
        let (rig, table) = call_all_over(kind).await;
        for tool in ["vacuous", "no_output_schema", "poisoned", "hidden_text", "no_description"] {
            assert_eq!(rig.site.count_calls("up", tool), 0, "{kind}: {tool} ran");
        }
        // The calls with invalid arguments never reached the server.
        assert_eq!(rig.site.count_calls("up", "good"), 2, "{kind}");
        tables.push((kind, table));
        rig.close().await;
    }
    let first = tables[0].1.clone();
    assert_snapshot!(first);
    for (kind, table) in &tables[1..] {
        assert_tables_equal(&first, table, *kind);
    }
}

/// Compares line by line, so that a difference is readable.
fn assert_tables_equal(first: &str, table: &str, kind: UpstreamKind) {
    for (one, other) in first.lines().zip(table.lines()) {
        assert_eq!(one, other, "{kind}");
    }
    assert_eq!(first.lines().count(), table.lines().count());
}

/// The raw answer is kept for people, under the call id in the error.
#[tokio::test]
async fn keeps_withheld_answers_for_people() {
    let rig = GatewaySetup::new().with_child("up", &[]).start().await;
    let mut kept = String::new();
    for (tool, arguments) in [
        ("violates", json!({"how": "extra"})),
        ("violates", json!({"how": "null"})),
        ("text_only", json!({})),
        ("deep", json!({"levels": 70})),
        ("numbers_beyond", json!({})),
    ] {
        let reply = rig.call(&format!("up__{tool}"), arguments.clone()).await;
        let ToolReply::Failed(error) = &reply else { panic!("{reply:?}") };
        let id = error.details["callId"].as_str().unwrap_or_else(|| panic!("{error:?}"));
        assert!(
            error.details["hint"].as_str().unwrap().ends_with(&format!("`vouch calls show {id}`"))
        );
        let answer = rig.store.find_withheld_answer(id).await.unwrap();
        assert_eq!(answer.answer.principal, "tester");
        writeln!(kept, "{tool} {arguments}: {}\n  {}", answer.answer.violation, answer.raw)
            .unwrap();
    }
    assert_snapshot!(kept);
    rig.close().await;
}

/// Searches the whole message at a real transport.
#[tokio::test]
async fn client_never_receives_withheld_answer() {
    let rig = GatewaySetup::new().with_child("up", &[]).start().await;
    for era in ["handshake", "stateless"] {
        let mut client = TestClient::connect(&rig, era).await;
        for (tool, arguments) in planned_calls().into_iter().filter(|(tool, _)| *tool != "huge") {
            let params = json!({"name": format!("up__{tool}"), "arguments": arguments});
            let id = client.send_request("tools/call", params).await;
            let (answer, before) = client.read_response(id).await;
            assert_eq!(before, Vec::<Value>::new(), "{era}: {tool}");
            let text = answer.to_string();
            for marker in WITHHELD_TEXTS {
                assert!(!text.contains(marker), "{era}: {tool} {arguments}: {text}");
            }
        }
    }
    rig.close().await;
}

/// Valid answers are identical to the last byte: blanks, digits, escapes, key order. Only `resultType` may be added.
#[tokio::test]
async fn forwards_valid_answers_unchanged() {
    let call = json!({"name": "up__numbers", "arguments": {}});
    let mut results = Vec::new();
    for kind in KINDS {
        let rig =
            GatewaySetup::new().with_kind(kind, "up", &["--only", "numbers"]).await.start().await;
        for era in ["handshake", "stateless"] {
            let mut client = TestClient::connect(&rig, era).await;
            client.send_request("tools/call", call.clone()).await;
            let line = client.read_line().await;
            let (_, result) = line.split_once(r#""result":{"#).unwrap();
            let typed = result.strip_prefix(r#""resultType":"complete","#);
            // A stateless client gets a `resultType`, either from its server or from the gateway.
            assert!(typed.is_some() || (era, kind.era) == ("handshake", "handshake"), "{line}");
            results.push(typed.unwrap_or(result).to_owned());
        }
        rig.close().await;
    }
    assert_snapshot!(results[0]);
    assert!(results.iter().all(|other| *other == results[0]), "{results:#?}");
}

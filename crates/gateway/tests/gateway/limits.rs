//! What overlays add to a stranger's tools: schemas, limits, approval.

use contract::Code;
use gateway::{Adjust, GatewayError};
use insta::assert_snapshot;
use serde_json::{Value, json};
use store::Decision;

use crate::rig::{KINDS, Setup, Site, code, structured, until};

fn text_schema(kind: &str) -> Value {
    json!({
        "type": "object",
        "properties": {"text": {"type": kind, "description": "What was said."}},
        "required": ["text"],
        "additionalProperties": false,
    })
}

#[tokio::test]
async fn an_overlay_supplies_what_was_left_out() {
    let site = Site::new();
    site.overlay(
        "up",
        "no_output_schema",
        &json!({"outputSchema": text_schema("string"), "result": "json"}),
    );
    site.overlay("up", "text_only", &json!({"result": "text"}));
    site.overlay("up", "no_description", &json!({"description": "Says the text again."}));
    site.overlay("up", "vacuous", &json!({"outputSchema": text_schema("string")}));
    site.overlay("up", "bad_output_schema", &json!({"outputSchema": text_schema("string")}));
    site.overlay("up", "poisoned", &json!({"description": "Adds two numbers."}));
    let tools = "no_output_schema,text_only,no_description,vacuous,bad_output_schema,poisoned";
    let mut tables = Vec::new();
    for kind in KINDS {
        let rig = Setup::on(&site).of(kind, "up", &["--only", tools]).await.start().await;
        let mut told = Vec::new();
        for name in tools.split(',') {
            let arguments = if name == "text_only" { json!({}) } else { json!({"text": "a"}) };
            let reply = rig.tell(&format!("up__{name}"), arguments).await;
            told.push(format!("{name}: {}\n  {reply}", rig.state("up", name)));
        }
        tables.push(told.join("\n"));
        rig.close().await;
    }
    assert_snapshot!(tables[0]);
    assert!(tables.iter().all(|table| *table == tables[0]), "{tables:#?}");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_the_overlay_is_withheld() {
    let site = Site::new();
    site.overlay(
        "up",
        "no_output_schema",
        &json!({"outputSchema": text_schema("integer"), "result": "json"}),
    );
    site.overlay(
        "up",
        "text_only",
        &json!({"outputSchema": text_schema("string"), "result": "json"}),
    );
    let rig = Setup::on(&site).child("up", &["--only", "no_output_schema,text_only"]).start().await;
    let mut told = Vec::new();
    for (name, arguments) in [("no_output_schema", json!({"text": "a"})), ("text_only", json!({}))]
    {
        let reply = rig.call(&format!("up__{name}"), arguments).await;
        for marker in ["unchecked", "just words"] {
            assert!(!format!("{reply:?}").contains(marker), "{reply:?}");
        }
        told.push(crate::rig::show(&reply));
    }
    assert_snapshot!(told.join("\n"));
    let kept = rig.store.kept_answers(10).await.unwrap();
    assert_eq!(kept.len(), 2);
    for answer in kept {
        let raw = rig.store.kept_answer(&answer.id).await.unwrap().raw;
        assert!(raw.contains("unchecked") || raw.contains("just words"), "{raw}");
    }
    rig.close().await;
}

/// A server that never answers: the caller is told in time, and the server that nobody waits any more.
#[tokio::test]
async fn a_call_ends_with_its_time_limit_and_the_server_is_told() {
    for kind in KINDS {
        let site = Site::new();
        site.overlay("up", "slow", &json!({"constraints": {"timeoutMs": 100}}));
        let rig = Setup::on(&site).of(kind, "up", &["--only", "slow,good"]).await.start().await;
        let reply = rig.tell("up__slow", json!({})).await;
        assert_eq!(
            reply,
            "EXECUTION_TIMEOUT `up__slow` took longer than its limit of 100 ms {\"limitMs\":100}"
        );
        until("the server to be told", || site.counted("up")["cancelled"] != json!([])).await;
        let reply = rig.call("up__good", json!({"text": "on"})).await;
        assert_eq!(structured(&reply)["text"], "on", "{kind}");
        rig.close().await;
    }
}

#[tokio::test]
async fn rates_and_sizes_are_those_of_the_overlay() {
    let site = Site::new();
    site.overlay("up", "good", &json!({"constraints": {"ratePerMinute": 2}}));
    site.overlay(
        "up",
        "good_many",
        &json!({"constraints": {"maxOutputBytes": 200, "maxInputBytes": 20}}),
    );
    let rig = Setup::on(&site).child("up", &["--only", "good,good_many"]).start().await;
    for _ in 0..2 {
        assert_eq!(code(&rig.call("up__good", json!({"text": "a"})).await), None);
    }
    assert_eq!(code(&rig.call("up__good", json!({"text": "a"})).await), Some(Code::RateLimited));
    // Everybody has a share of one's own.
    assert_eq!(code(&rig.call_as("other", "up__good", json!({"text": "a"})).await), None);
    assert_eq!(site.ran("up", "good"), 3);
    let told = [
        rig.tell("up__good_many", json!({"count": 1})).await,
        rig.tell("up__good_many", json!({"count": 100})).await,
        rig.tell("up__good_many", json!({"count": 1, "and": "much more than that"})).await,
    ];
    assert_snapshot!(told.join("\n"));
    rig.close().await;
}

#[tokio::test]
async fn an_overlay_wants_a_person_to_agree() {
    let site = Site::new();
    site.overlay("up", "good", &json!({"constraints": {"approval": true}}));
    let rig = Setup::on(&site).child("up", &["--only", "good"]).start().await;
    for (decision, wanted) in
        [(Decision::Deny, Some(Code::ApprovalDenied)), (Decision::Approve, None)]
    {
        let arguments = json!({"text": format!("{decision:?}")});
        let reply = rig.call("up__good", arguments.clone()).await;
        assert_eq!(code(&reply), Some(Code::ApprovalRequired));
        let waiting = rig.store.approvals(Some(store::State::Pending)).await.unwrap();
        rig.store.decide(&waiting[0].id, decision, "tester").await.unwrap();
        assert_eq!(code(&rig.call("up__good", arguments).await), wanted);
    }
    assert_eq!(site.ran("up", "good"), 1);
    rig.close().await;
}

#[tokio::test]
async fn the_operators_last_word() {
    let mut setup = Setup::new().child("up", &["--only", "good,good_many"]);
    setup.adjust = Some(Adjust::new(|tool, constraints| {
        constraints.rate_per_minute = 1;
        tool != "up__good_many"
    }));
    let rig = setup.start().await;
    assert_eq!(rig.names(), ["up__good"]);
    assert_eq!(code(&rig.call("up__good", json!({"text": "a"})).await), None);
    assert_eq!(code(&rig.call("up__good", json!({"text": "a"})).await), Some(Code::RateLimited));
    rig.close().await;
}

/// What is wrong on disk is told before anything is served.
#[test]
fn a_broken_folder_is_an_error_at_once() {
    let told = |spoil: &dyn Fn(&Site)| {
        let site = Site::new();
        spoil(&site);
        let setup = Setup::on(&site).at("up", "http://127.0.0.1:9/mcp");
        match crate::rig::gateway(setup) {
            Ok(_) => "fine".to_owned(),
            Err(error) => full(&error),
        }
    };
    let lock = |text: &'static str| {
        move |site: &Site| std::fs::write(site.path("vouch.lock"), text).unwrap()
    };
    let table = [
        told(&|_| {}),
        told(&lock("")),
        told(&lock("{\"version\": 2, \"upstreams\": {}}")),
        told(&lock("<<<<<<< HEAD\n")),
        told(&|site| site.overlay("up", "good", &json!({"outputschema": {}}))),
        told(&|site| site.overlay("up", "good", &json!({"outputSchema": {"type": "int"}}))),
        told(&|site| site.overlay("up", "good", &json!([]))),
        told(&|site| site.overlay("up", "good", &json!({"constraints": {"timeoutMs": 0}}))),
        told(&|site| site.overlay("other", "good", &json!([]))),
    ];
    assert_snapshot!(table.join("\n"));
    let twice = Setup::new().at("up", "http://127.0.0.1:9/mcp").at("up", "http://127.0.0.1:9/mcp");
    assert!(matches!(crate::rig::gateway(twice), Err(GatewayError::DuplicateUpstream(_))));
}

fn full(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", full(source)),
        None => error.to_string(),
    }
}

//! Tests overlays on upstream tools: schemas, limits and approval.

use contract::ErrorCode;
use gateway::{ConstraintAdjuster, GatewayError};
use insta::assert_snapshot;
use serde_json::{Value, json};
use store::ApprovalDecision;

use crate::harness::{
    GatewaySetup, KINDS, ProjectFolder, decider, reply_code, structured_content, wait_until,
};

fn text_schema(kind: &str) -> Value {
    json!({
        "type": "object",
        "properties": {"text": {"type": kind, "description": "What was said."}},
        "required": ["text"],
        "additionalProperties": false,
    })
}

#[tokio::test]
async fn overlay_supplies_missing_parts() {
    let site = ProjectFolder::new();
    site.write_overlay(
        "up",
        "no_output_schema",
        &json!({"outputSchema": text_schema("string"), "result": "json"}),
    );
    site.write_overlay("up", "text_only", &json!({"result": "text"}));
    site.write_overlay("up", "no_description", &json!({"description": "Says the text again."}));
    site.write_overlay("up", "vacuous", &json!({"outputSchema": text_schema("string")}));
    site.write_overlay("up", "bad_output_schema", &json!({"outputSchema": text_schema("string")}));
    site.write_overlay("up", "poisoned", &json!({"description": "Adds two numbers."}));
    let tools = "no_output_schema,text_only,no_description,vacuous,bad_output_schema,poisoned";
    let mut tables = Vec::new();
    for kind in KINDS {
        let rig = GatewaySetup::in_project(&site)
            .with_kind(kind, "up", &["--only", tools])
            .await
            .start()
            .await;
        let mut replies = Vec::new();
        for name in tools.split(',') {
            let arguments = if name == "text_only" { json!({}) } else { json!({"text": "a"}) };
            let reply = rig.call_to_text(&format!("up__{name}"), arguments).await;
            replies.push(format!("{name}: {}\n  {reply}", rig.tool_status("up", name)));
        }
        tables.push(replies.join("\n"));
        rig.close().await;
    }
    assert_snapshot!(tables[0]);
    assert!(tables.iter().all(|table| *table == tables[0]), "{tables:#?}");
}

#[tokio::test]
async fn withholds_answer_that_violates_overlay() {
    let site = ProjectFolder::new();
    site.write_overlay(
        "up",
        "no_output_schema",
        &json!({"outputSchema": text_schema("integer"), "result": "json"}),
    );
    site.write_overlay(
        "up",
        "text_only",
        &json!({"outputSchema": text_schema("string"), "result": "json"}),
    );
    let rig = GatewaySetup::in_project(&site)
        .with_child("up", &["--only", "no_output_schema,text_only"])
        .start()
        .await;
    let mut replies = Vec::new();
    for (name, arguments) in [("no_output_schema", json!({"text": "a"})), ("text_only", json!({}))]
    {
        let reply = rig.call(&format!("up__{name}"), arguments).await;
        for marker in ["unchecked", "just words"] {
            assert!(!format!("{reply:?}").contains(marker), "{reply:?}");
        }
        replies.push(crate::harness::format_reply(&reply));
    }
    assert_snapshot!(replies.join("\n"));
    let kept = rig.store.list_withheld_answers(10).await.unwrap();
    assert_eq!(kept.len(), 2);
    for answer in kept {
        let raw = rig.store.find_withheld_answer(&answer.id).await.unwrap().raw;
        assert!(raw.contains("unchecked") || raw.contains("just words"), "{raw}");
    }
    rig.close().await;
}

/// The server never answers: the caller gets an error in time, and the server a cancellation.
#[tokio::test]
async fn timeout_ends_call_and_cancels_it_at_the_server() {
    for kind in KINDS {
        let site = ProjectFolder::new();
        site.write_overlay("up", "slow", &json!({"constraints": {"timeoutMs": 100}}));
        let rig = GatewaySetup::in_project(&site)
            .with_kind(kind, "up", &["--only", "slow,good"])
            .await
            .start()
            .await;
        let reply = rig.call_to_text("up__slow", json!({})).await;
        assert_eq!(
            reply,
            "EXECUTION_TIMEOUT `up__slow` exceeded its time limit of 100 ms {\"limitMs\":100}"
        );
        wait_until("the server to receive the cancellation", || {
            site.read_counts("up")["cancelled"] != json!([])
        })
        .await;
        let reply = rig.call("up__good", json!({"text": "on"})).await;
        assert_eq!(structured_content(&reply)["text"], "on", "{kind}");
        rig.close().await;
    }
}

#[tokio::test]
async fn enforces_rate_and_size_limits_of_overlay() {
    let site = ProjectFolder::new();
    site.write_overlay("up", "good", &json!({"constraints": {"ratePerMinute": 2}}));
    site.write_overlay(
        "up",
        "good_many",
        &json!({"constraints": {"maxOutputBytes": 200, "maxInputBytes": 20}}),
    );
    let rig = GatewaySetup::in_project(&site)
        .with_child("up", &["--only", "good,good_many"])
        .start()
        .await;
    for _ in 0..2 {
        assert_eq!(reply_code(&rig.call("up__good", json!({"text": "a"})).await), None);
    }
    assert_eq!(
        reply_code(&rig.call("up__good", json!({"text": "a"})).await),
        Some(ErrorCode::RateLimited)
    );
    // Each principal has its own rate limit.
    assert_eq!(reply_code(&rig.call_as("other", "up__good", json!({"text": "a"})).await), None);
    assert_eq!(site.count_calls("up", "good"), 3);
    let replies = [
        rig.call_to_text("up__good_many", json!({"count": 1})).await,
        rig.call_to_text("up__good_many", json!({"count": 100})).await,
        rig.call_to_text("up__good_many", json!({"count": 1, "and": "much more than that"})).await,
    ];
    assert_snapshot!(replies.join("\n"));
    rig.close().await;
}

#[tokio::test]
async fn overlay_requires_approval() {
    let site = ProjectFolder::new();
    site.write_overlay("up", "good", &json!({"constraints": {"approval": true}}));
    let rig = GatewaySetup::in_project(&site).with_child("up", &["--only", "good"]).start().await;
    for (decision, wanted) in [
        (ApprovalDecision::Deny, Some(ErrorCode::ApprovalDenied)),
        (ApprovalDecision::Approve, None),
    ] {
        let arguments = json!({"text": format!("{decision:?}")});
        let reply = rig.call("up__good", arguments.clone()).await;
        assert_eq!(reply_code(&reply), Some(ErrorCode::ApprovalRequired));
        let waiting = rig.store.list_approvals(Some(store::ApprovalState::Pending)).await.unwrap();
        rig.store.decide_approval(&waiting[0].id, decision, &decider()).await.unwrap();
        assert_eq!(reply_code(&rig.call("up__good", arguments).await), wanted);
    }
    assert_eq!(site.count_calls("up", "good"), 1);
    rig.close().await;
}

#[tokio::test]
async fn adjuster_changes_constraints_and_excludes_tools() {
    let mut setup = GatewaySetup::new().with_child("up", &["--only", "good,good_many"]);
    setup.adjust = Some(ConstraintAdjuster::new(|tool, constraints| {
        constraints.rate_per_minute = 1;
        tool != "up__good_many"
    }));
    let rig = setup.start().await;
    assert_eq!(rig.tool_names(), ["up__good"]);
    assert_eq!(reply_code(&rig.call("up__good", json!({"text": "a"})).await), None);
    assert_eq!(
        reply_code(&rig.call("up__good", json!({"text": "a"})).await),
        Some(ErrorCode::RateLimited)
    );
    rig.close().await;
}

/// Errors on disk are reported before anything is served.
#[test]
fn rejects_invalid_overlays_and_lock_files_at_startup() {
    let message = |spoil: &dyn Fn(&ProjectFolder)| {
        let site = ProjectFolder::new();
        spoil(&site);
        let setup = GatewaySetup::in_project(&site).with_url("up", "http://127.0.0.1:9/mcp");
        match crate::harness::create_gateway(setup) {
            Ok(_) => "fine".to_owned(),
            Err(error) => format_error_chain(&error),
        }
    };
    let lock = |text: &'static str| {
        move |site: &ProjectFolder| std::fs::write(site.path("vouch.lock"), text).unwrap()
    };
    let table = [
        message(&|_| {}),
        message(&lock("")),
        message(&lock("{\"version\": 2, \"upstreams\": {}}")),
        message(&lock("<<<<<<< HEAD\n")),
        message(&|site| site.write_overlay("up", "good", &json!({"outputschema": {}}))),
        message(&|site| {
            site.write_overlay("up", "good", &json!({"outputSchema": {"type": "int"}}))
        }),
        message(&|site| site.write_overlay("up", "good", &json!([]))),
        message(&|site| {
            site.write_overlay("up", "good", &json!({"constraints": {"timeoutMs": 0}}))
        }),
        message(&|site| site.write_overlay("other", "good", &json!([]))),
    ];
    assert_snapshot!(table.join("\n"));
    let twice = GatewaySetup::new()
        .with_url("up", "http://127.0.0.1:9/mcp")
        .with_url("up", "http://127.0.0.1:9/mcp");
    assert!(matches!(
        crate::harness::create_gateway(twice),
        Err(GatewayError::DuplicateUpstream(_))
    ));
}

fn format_error_chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", format_error_chain(source)),
        None => error.to_string(),
    }
}

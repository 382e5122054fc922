//! Tests the operator's CEL rules and client allowlists.

use std::sync::Arc;

use contract::ErrorCode;
use insta::assert_snapshot;
use rules::{RuleDefinition, RuleEffect, RuleSubject, Rules};
use serde_json::json;
use store::ApprovalDecision;

use crate::client::TestClient;
use crate::harness::{
    GatewaySetup, TestGateway, client_filters, decider, reply_code, structured_content,
};

fn policy_rule(
    name: &str,
    effect: RuleEffect,
    on: RuleSubject,
    tools: &[&str],
    when: &str,
) -> RuleDefinition {
    let tools = tools.iter().map(|glob| (*glob).to_owned()).collect();
    RuleDefinition { name: name.into(), effect, on, tools, when: when.into() }
}

async fn start_with_rules(rules: Vec<RuleDefinition>) -> TestGateway {
    let policy = Rules::compile(rules).unwrap();
    let setup =
        GatewaySetup::new().with_child("up", &["--only", "good,good_many,write_path,violates"]);
    setup.tune_pipeline(|options| options.policy = Some(Arc::new(policy))).start().await
}

#[tokio::test]
async fn enforces_rules_on_arguments_and_results() {
    let rig = start_with_rules(vec![
        policy_rule(
            "no-etc",
            RuleEffect::Deny,
            RuleSubject::Call,
            &["up__write*"],
            r#"arguments.path.startsWith("/etc")"#,
        ),
        policy_rule(
            "ask",
            RuleEffect::Approve,
            RuleSubject::Call,
            &[],
            "annotations.destructiveHint",
        ),
        policy_rule(
            "no-secret",
            RuleEffect::Deny,
            RuleSubject::Result,
            &["up__good"],
            r#"result.text.contains("hunter2")"#,
        ),
        policy_rule(
            "few",
            RuleEffect::Approve,
            RuleSubject::Result,
            &["up__good_many"],
            "size(result.items) > 2",
        ),
    ])
    .await;
    let inside = rig.site.path("written");
    let table = [
        ("up__good", json!({"text": "hello"})),
        ("up__good", json!({"text": "the word is hunter2"})),
        ("up__good_many", json!({"count": 2})),
        ("up__good_many", json!({"count": 3})),
        ("up__write_path", json!({"path": "/etc/passwd"})),
        ("up__write_path", json!({"path": "./written"})),
        // An invalid answer is not a result, so result rules do not apply.
        ("up__violates", json!({"how": "extra"})),
    ];
    let mut replies = Vec::new();
    for (tool, arguments) in table {
        let reply = rig.call(tool, arguments.clone()).await;
        assert_eq!(reply_code(&reply).is_some(), !matches!(reply, runtime::ToolReply::Done(_)));
        let is_denied = reply_code(&reply) == Some(ErrorCode::AccessDenied);
        assert!(!(is_denied && format!("{reply:?}").contains("the word is")), "{reply:?}");
        replies.push(format!("{tool} {arguments}\n  {}", crate::harness::format_reply(&reply)));
    }
    assert_snapshot!(replies.join("\n"));
    assert_eq!(rig.site.count_calls("up", "write_path"), 0, "neither of them ran");
    assert!(!inside.exists());

    // An approval allows exactly this call, once.
    let [approval] = &rig.store.list_approvals(None).await.unwrap()[..] else {
        panic!("expected one pending approval")
    };
    rig.store.decide_approval(&approval.id, ApprovalDecision::Approve, &decider()).await.unwrap();
    let reply = rig.call("up__write_path", json!({"path": "./written"})).await;
    assert_eq!(structured_content(&reply)["done"], true);
    assert!(inside.exists());
    let reply = rig.call("up__write_path", json!({"path": "./written"})).await;
    assert_eq!(reply_code(&reply), Some(ErrorCode::ApprovalRequired));
    assert_eq!(rig.site.count_calls("up", "write_path"), 1);
    rig.close().await;
}

#[tokio::test]
async fn keeps_answer_withheld_by_rule() {
    let denied =
        policy_rule("none", RuleEffect::Deny, RuleSubject::Result, &[], r#"tool == "up__good""#);
    let rig = start_with_rules(vec![denied]).await;
    let reply = rig.call("up__good", json!({"text": "a marker 4711"})).await;
    assert_eq!(reply_code(&reply), Some(ErrorCode::AccessDenied));
    assert!(!format!("{reply:?}").contains("4711"), "{reply:?}");
    let kept = rig.store.list_withheld_answers(10).await.unwrap();
    let raw = rig.store.find_withheld_answer(&kept[0].id).await.unwrap().raw;
    assert!(raw.contains("a marker 4711"), "{raw}");
    rig.close().await;
}

#[tokio::test]
async fn client_sees_and_calls_only_allowed_tools() {
    let setup = GatewaySetup::new().with_child("up", &["--only", "good,good_many"]);
    let setup = setup.tune_pipeline(|options| {
        options.clients =
            client_filters(&[("token:ci", &["up__good"]), ("stdio", &["up__good_many"])]);
    });
    let rig = setup.start().await;
    let many = rig.call_as("token:ci", "up__good_many", json!({"count": 1})).await;
    assert_eq!(reply_code(&many), Some(ErrorCode::ToolNotFound));
    let good = rig.call_as("token:ci", "up__good", json!({"text": "a"})).await;
    assert_eq!(structured_content(&good)["text"], "a");
    let others = rig.call_as("cli", "up__good_many", json!({"count": 1})).await;
    assert_eq!(reply_code(&others), None);
    for era in ["handshake", "stateless"] {
        let mut client = TestClient::connect(&rig, era).await;
        assert_eq!(client.list_tools().await, ["up__good_many"]);
        let refused = client
            .request("tools/call", json!({"name": "up__good", "arguments": {"text": "a"}}))
            .await;
        assert_eq!(refused["error"]["message"], "Unknown tool: up__good", "{refused}");
    }
    assert_eq!(
        (rig.site.count_calls("up", "good"), rig.site.count_calls("up", "good_many")),
        (1, 1)
    );
    rig.close().await;
}

//! The operator's rules in CEL, and which client may call what.

use std::sync::Arc;

use contract::Code;
use insta::assert_snapshot;
use rules::{Effect, On, Rule, Rules};
use serde_json::json;
use store::Decision;

use crate::client::Client;
use crate::rig::{Rig, Setup, clients, code, structured};

fn rule(name: &str, effect: Effect, on: On, tools: &[&str], when: &str) -> Rule {
    let tools = tools.iter().map(|glob| (*glob).to_owned()).collect();
    Rule { name: name.into(), effect, on, tools, when: when.into() }
}

async fn ruled(rules: Vec<Rule>) -> Rig {
    let policy = Rules::compile(rules).unwrap();
    let setup = Setup::new().child("up", &["--only", "good,good_many,write_path,violates"]);
    setup.options(|options| options.policy = Some(Arc::new(policy))).start().await
}

#[tokio::test]
async fn rules_on_arguments_and_on_results() {
    let rig = ruled(vec![
        rule(
            "no-etc",
            Effect::Deny,
            On::Call,
            &["up__write*"],
            r#"arguments.path.startsWith("/etc")"#,
        ),
        rule("ask", Effect::Approve, On::Call, &[], "annotations.destructiveHint"),
        rule(
            "no-secret",
            Effect::Deny,
            On::Result,
            &["up__good"],
            r#"result.text.contains("hunter2")"#,
        ),
        rule("few", Effect::Approve, On::Result, &["up__good_many"], "size(result.items) > 2"),
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
        // A broken answer is no result: nothing is said about it but that.
        ("up__violates", json!({"how": "extra"})),
    ];
    let mut told = Vec::new();
    for (tool, arguments) in table {
        let reply = rig.call(tool, arguments.clone()).await;
        assert_eq!(code(&reply).is_some(), !matches!(reply, runtime::Reply::Done(_)));
        let is_denied = code(&reply) == Some(Code::AccessDenied);
        assert!(!(is_denied && format!("{reply:?}").contains("the word is")), "{reply:?}");
        told.push(format!("{tool} {arguments}\n  {}", crate::rig::show(&reply)));
    }
    assert_snapshot!(told.join("\n"));
    assert_eq!(rig.site.ran("up", "write_path"), 0, "neither of them ran");
    assert!(!inside.exists());

    // A person agrees to this very call, once.
    let [approval] = &rig.store.approvals(None).await.unwrap()[..] else { panic!("one waits") };
    rig.store.decide(&approval.id, Decision::Approve, "tester").await.unwrap();
    let reply = rig.call("up__write_path", json!({"path": "./written"})).await;
    assert_eq!(structured(&reply)["done"], true);
    assert!(inside.exists());
    let reply = rig.call("up__write_path", json!({"path": "./written"})).await;
    assert_eq!(code(&reply), Some(Code::ApprovalRequired));
    assert_eq!(rig.site.ran("up", "write_path"), 1);
    rig.close().await;
}

#[tokio::test]
async fn an_answer_that_a_rule_withholds_is_kept_for_people() {
    let denied = rule("none", Effect::Deny, On::Result, &[], r#"tool == "up__good""#);
    let rig = ruled(vec![denied]).await;
    let reply = rig.call("up__good", json!({"text": "a marker 4711"})).await;
    assert_eq!(code(&reply), Some(Code::AccessDenied));
    assert!(!format!("{reply:?}").contains("4711"), "{reply:?}");
    let kept = rig.store.kept_answers(10).await.unwrap();
    let raw = rig.store.kept_answer(&kept[0].id).await.unwrap().raw;
    assert!(raw.contains("a marker 4711"), "{raw}");
    rig.close().await;
}

#[tokio::test]
async fn a_client_sees_and_calls_only_its_tools() {
    let setup = Setup::new().child("up", &["--only", "good,good_many"]);
    let setup = setup.options(|options| {
        options.clients = clients(&[("token:ci", &["up__good"]), ("stdio", &["up__good_many"])]);
    });
    let rig = setup.start().await;
    let many = rig.call_as("token:ci", "up__good_many", json!({"count": 1})).await;
    assert_eq!(code(&many), Some(Code::ToolNotFound));
    let good = rig.call_as("token:ci", "up__good", json!({"text": "a"})).await;
    assert_eq!(structured(&good)["text"], "a");
    let others = rig.call_as("cli", "up__good_many", json!({"count": 1})).await;
    assert_eq!(code(&others), None);
    for era in ["handshake", "stateless"] {
        let mut client = Client::connect(&rig, era).await;
        assert_eq!(client.listed().await, ["up__good_many"]);
        let refused = client
            .request("tools/call", json!({"name": "up__good", "arguments": {"text": "a"}}))
            .await;
        assert_eq!(refused["error"]["message"], "Unknown tool: up__good", "{refused}");
    }
    assert_eq!((rig.site.ran("up", "good"), rig.site.ran("up", "good_many")), (1, 1));
    rig.close().await;
}

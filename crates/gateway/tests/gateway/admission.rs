//! Tests which tools of a server are offered, and that the others never run.

use std::fmt::Write;

use admit::{AdmissionMode, AdmissionPolicy, ToolAllowlist};
use contract::ErrorCode;
use insta::assert_snapshot;
use runtime::Catalog;
use serde_json::json;

use crate::harness::{GatewaySetup, KINDS, TestGateway, describe_status, reply_code};

fn status_table(rig: &TestGateway) -> String {
    let view = rig.gateway.upstreams()[0].snapshot();
    let admission = view.admission.clone().expect("the upstream was refreshed");
    let mut table = String::new();
    for tool in &admission.tools {
        writeln!(table, "{}: {}", contract::text::one_line(&tool.name), describe_status(tool))
            .unwrap();
        for reason in tool.reasons.iter().filter(|_| !tool.can_run()) {
            assert!(!reason.remedy.is_empty(), "{}: {reason:?}", tool.name);
        }
        assert_eq!(rig.is_offered(&format!("up__{}", tool.name)), tool.can_run(), "{}", tool.name);
    }
    table
}

/// One good tool, followed by tools with a defect.
const DEFECTIVE_TOOLS: &str = "good,vacuous,no_output_schema,no_description,no_input_schema,poisoned,hidden_text,bad_schema,\
    bad_output_schema,remote_schema,twin,bad name!";

async fn start_in_mode(mode: AdmissionMode) -> TestGateway {
    let setup =
        GatewaySetup::new().with_child("up", &["--only", DEFECTIVE_TOOLS, "--page-size", "5"]);
    setup.tune_upstream(|upstream| upstream.policy = AdmissionPolicy::new(mode)).start().await
}

#[tokio::test]
async fn refuses_defective_tools_and_admits_the_rest() {
    let rig = start_in_mode(AdmissionMode::Default).await;
    assert_snapshot!(status_table(&rig));
    assert_eq!(rig.tool_names(), ["up__good"]);
    for name in DEFECTIVE_TOOLS.split(',').skip(1) {
        let reply = rig.call(&format!("up__{name}"), json!({"text": "a"})).await;
        assert_eq!(reply_code(&reply), Some(ErrorCode::ToolNotFound), "{name}");
        assert_eq!(rig.site.count_calls("up", name), 0, "{name} ran");
    }
    rig.close().await;
}

#[tokio::test]
async fn strict_mode_refuses_at_least_as_much() {
    let rig = start_in_mode(AdmissionMode::Strict).await;
    assert_snapshot!(status_table(&rig));
    rig.close().await;
}

#[tokio::test]
async fn observe_mode_runs_and_marks_defective_tools() {
    let rig = start_in_mode(AdmissionMode::Observe).await;
    assert_snapshot!(status_table(&rig));
    let mut replies = String::new();
    for name in rig.tool_names() {
        let entry = rig.pipeline.catalog().get(&name).cloned().expect("the tool is offered");
        let rules = &entry.contract.constraints.rules;
        let tool = name.trim_start_matches("up__").to_owned();
        let reply = rig.call_to_text(&name, json!({"text": "a"})).await;
        writeln!(replies, "{tool} {rules:?}\n  {reply}").unwrap();
    }
    assert_snapshot!(replies);
    rig.close().await;
}

#[tokio::test]
async fn list_is_equal_over_every_kind_of_upstream() {
    let mut tables = Vec::new();
    for kind in KINDS {
        let rig = GatewaySetup::new().with_kind(kind, "up", &["--tools", "50"]).await.start().await;
        tables.push(status_table(&rig));
        rig.close().await;
    }
    assert!(tables.iter().all(|table| *table == tables[0]), "{tables:#?}");
}

#[tokio::test]
async fn offers_only_allowed_tools() {
    let allowed = ToolAllowlist::from_globs(&["good*", "vacuous"]).unwrap();
    let setup = GatewaySetup::new().with_child("up", &["--only", "good,good_many,count,vacuous"]);
    let rig = setup.tune_upstream(|upstream| upstream.policy.allowed = allowed).start().await;
    assert_snapshot!(status_table(&rig));
    let reply = rig.call("up__count", json!({})).await;
    assert_eq!(reply_code(&reply), Some(ErrorCode::ToolNotFound));
    rig.close().await;
}

#[tokio::test]
async fn reports_name_claimed_by_two_tools() {
    // The configuration would reject these names; they give `x_rpc_error` twice.
    let mut setup = GatewaySetup::new()
        .with_child("x", &["--only", "rpc_error,good"])
        .with_child("x_rpc", &["--only", "error,good"]);
    setup.separator = "_";
    let rig = setup.start().await;
    assert_eq!(rig.tool_names(), ["x_good", "x_rpc_good"]);
    let (_, clashes) = rig.gateway.build_catalog().unwrap();
    let messages: Vec<String> = clashes.iter().map(ToString::to_string).collect();
    assert_snapshot!(messages.join("\n"));
    rig.close().await;
}

#[tokio::test]
async fn reports_name_of_pack_tool_and_overlong_name() {
    let source = GatewaySetup::new().with_child("up", &["--only", "good"]).start().await;
    let entry = source.pipeline.catalog().get("up__good").cloned().expect("the tool is offered");
    let mut setup = GatewaySetup::new().with_child("up", &["--only", "good,count"]);
    setup.base = Box::new(move || {
        let mut base = Catalog::default();
        base.add_entry(entry.clone())?;
        Ok(base)
    });
    let rig = setup.start().await;
    assert_eq!(rig.tool_names(), ["up__count", "up__good"]);
    let (_, clashes) = rig.gateway.build_catalog().unwrap();
    let mut messages: Vec<String> = clashes.iter().map(ToString::to_string).collect();
    rig.close().await;

    let mut setup = GatewaySetup::new().with_child("up", &["--only", "good,good_many"]);
    setup.separator = Box::leak("_".repeat(121).into_boxed_str());
    let rig = setup.start().await;
    assert_eq!(rig.tool_names().len(), 1);
    let (_, clashes) = rig.gateway.build_catalog().unwrap();
    messages.extend(clashes.iter().map(ToString::to_string));
    rig.close().await;
    source.close().await;
    assert_snapshot!(messages.join("\n"));
}

#[tokio::test]
async fn offers_tools_of_several_upstreams() {
    let rig = GatewaySetup::new()
        .with_child("one", &["--only", "good"])
        .with_child("two", &["--only", "good"])
        .start()
        .await;
    assert_eq!(rig.tool_names(), ["one__good", "two__good"]);
    rig.call("two__good", json!({"text": "a"})).await;
    assert_eq!((rig.site.count_calls("one", "good"), rig.site.count_calls("two", "good")), (0, 1));
    rig.close().await;
}

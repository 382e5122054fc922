//! Which tools of a server are offered, and that the others do not run.

use std::fmt::Write;

use admit::{Allowlist, Mode, Policy};
use contract::Code;
use insta::assert_snapshot;
use runtime::Catalog;
use serde_json::json;

use crate::rig::{KINDS, Rig, Setup, code, judgement};

fn table(rig: &Rig) -> String {
    let view = rig.gateway.upstreams()[0].view();
    let admission = view.admission.clone().expect("it was looked at");
    let mut table = String::new();
    for tool in &admission.tools {
        writeln!(table, "{}: {}", contract::text::one_line(&tool.name), judgement(tool)).unwrap();
        for reason in tool.reasons.iter().filter(|_| !tool.runs()) {
            assert!(!reason.remedy.is_empty(), "{}: {reason:?}", tool.name);
        }
        assert_eq!(rig.offers(&format!("up__{}", tool.name)), tool.runs(), "{}", tool.name);
    }
    table
}

/// The tools of which something is wrong, and one of which nothing is.
const ILL: &str = "good,vacuous,no_output_schema,no_description,no_input_schema,poisoned,hidden_text,bad_schema,\
    bad_output_schema,remote_schema,twin,bad name!";

async fn under(mode: Mode) -> Rig {
    let setup = Setup::new().child("up", &["--only", ILL, "--page-size", "5"]);
    setup.tune(|upstream| upstream.policy = Policy::new(mode)).start().await
}

#[tokio::test]
async fn what_is_wrong_is_refused_and_the_rest_stays() {
    let rig = under(Mode::Default).await;
    assert_snapshot!(table(&rig));
    assert_eq!(rig.names(), ["up__good"]);
    for name in ILL.split(',').skip(1) {
        let reply = rig.call(&format!("up__{name}"), json!({"text": "a"})).await;
        assert_eq!(code(&reply), Some(Code::ToolNotFound), "{name}");
        assert_eq!(rig.site.ran("up", name), 0, "{name} ran");
    }
    rig.close().await;
}

#[tokio::test]
async fn strict_refuses_at_least_as_much() {
    let rig = under(Mode::Strict).await;
    assert_snapshot!(table(&rig));
    rig.close().await;
}

#[tokio::test]
async fn observe_lets_run_what_can_and_says_so() {
    let rig = under(Mode::Observe).await;
    assert_snapshot!(table(&rig));
    let mut told = String::new();
    for name in rig.names() {
        let entry = rig.pipeline.catalog().get(&name).cloned().expect("it is offered");
        let rules = &entry.contract.constraints.rules;
        let tool = name.trim_start_matches("up__").to_owned();
        let reply = rig.tell(&name, json!({"text": "a"})).await;
        writeln!(told, "{tool} {rules:?}\n  {reply}").unwrap();
    }
    assert_snapshot!(told);
    rig.close().await;
}

#[tokio::test]
async fn the_list_is_the_same_over_every_kind_of_upstream() {
    let mut tables = Vec::new();
    for kind in KINDS {
        let rig = Setup::new().of(kind, "up", &["--tools", "50"]).await.start().await;
        tables.push(table(&rig));
        rig.close().await;
    }
    assert!(tables.iter().all(|table| *table == tables[0]), "{tables:#?}");
}

#[tokio::test]
async fn only_what_the_operator_allows() {
    let allowed = Allowlist::globs(&["good*", "vacuous"]).unwrap();
    let setup = Setup::new().child("up", &["--only", "good,good_many,count,vacuous"]);
    let rig = setup.tune(|upstream| upstream.policy.allowed = allowed).start().await;
    assert_snapshot!(table(&rig));
    let reply = rig.call("up__count", json!({})).await;
    assert_eq!(code(&reply), Some(Code::ToolNotFound));
    rig.close().await;
}

#[tokio::test]
async fn a_name_that_two_want_is_given_to_none_and_both_are_named() {
    // No configuration would let this name pass; it makes `x_rpc_error` twice.
    let mut setup = Setup::new()
        .child("x", &["--only", "rpc_error,good"])
        .child("x_rpc", &["--only", "error,good"]);
    setup.separator = "_";
    let rig = setup.start().await;
    assert_eq!(rig.names(), ["x_good", "x_rpc_good"]);
    let (_, clashes) = rig.gateway.catalog().unwrap();
    let told: Vec<String> = clashes.iter().map(ToString::to_string).collect();
    assert_snapshot!(told.join("\n"));
    rig.close().await;
}

#[tokio::test]
async fn a_name_of_our_own_or_one_too_long_is_not_given() {
    let source = Setup::new().child("up", &["--only", "good"]).start().await;
    let entry = source.pipeline.catalog().get("up__good").cloned().expect("it is offered");
    let mut setup = Setup::new().child("up", &["--only", "good,count"]);
    setup.base = Box::new(move || {
        let mut base = Catalog::default();
        base.adopt(entry.clone())?;
        Ok(base)
    });
    let rig = setup.start().await;
    assert_eq!(rig.names(), ["up__count", "up__good"]);
    let (_, clashes) = rig.gateway.catalog().unwrap();
    let mut told: Vec<String> = clashes.iter().map(ToString::to_string).collect();
    rig.close().await;

    let mut setup = Setup::new().child("up", &["--only", "good,good_many"]);
    setup.separator = Box::leak("_".repeat(121).into_boxed_str());
    let rig = setup.start().await;
    assert_eq!(rig.names().len(), 1);
    let (_, clashes) = rig.gateway.catalog().unwrap();
    told.extend(clashes.iter().map(ToString::to_string));
    rig.close().await;
    source.close().await;
    assert_snapshot!(told.join("\n"));
}

#[tokio::test]
async fn tools_of_several_upstreams_stand_side_by_side() {
    let rig = Setup::new()
        .child("one", &["--only", "good"])
        .child("two", &["--only", "good"])
        .start()
        .await;
    assert_eq!(rig.names(), ["one__good", "two__good"]);
    rig.call("two__good", json!({"text": "a"})).await;
    assert_eq!((rig.site.ran("one", "good"), rig.site.ran("two", "good")), (0, 1));
    rig.close().await;
}

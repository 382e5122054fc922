//! Definitions that change after they were admitted.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use admit::ChangeClass;
use contract::Code;
use insta::assert_snapshot;
use jiff::Timestamp;
use serde_json::json;

use crate::rig::{KINDS, Rig, Setup, Site, code, until};

const TOOLS: &str = "good,mutate,restore";

async fn started(site: &Arc<Site>) -> Rig {
    Setup::on(site).child("up", &["--only", TOOLS]).start().await
}

/// The digest of what is pinned of `good`.
fn baseline(site: &Site) -> String {
    let pins = site.lock().read().unwrap();
    pins.pin("up", "good").and_then(|pin| pin.baseline.clone()).expect("it is pinned").digest
}

fn accept(site: &Site, tool: &str) {
    let accepted = site.lock().change(|pins| {
        let mut pins = pins.clone();
        let accepted = pins.accept("up", Some(tool), Timestamp::now());
        (Some(pins), accepted)
    });
    assert_eq!(accepted.unwrap().len(), 1);
}

async fn mutate(rig: &Rig, how: &str) {
    let reply = rig.call("up__mutate", json!({"how": how})).await;
    assert_eq!(code(&reply), None, "{reply:?}");
}

async fn restore(rig: &Rig) {
    assert_eq!(code(&rig.call("up__restore", json!({})).await), None);
}

#[tokio::test]
async fn every_change_is_quarantined_until_it_is_taken_back() {
    for kind in KINDS {
        let rig = Setup::new().of(kind, "up", &["--only", TOOLS]).await.start().await;
        let first = baseline(&rig.site);
        let mut table = String::new();
        for how in ["description", "instruction", "additive", "breaking", "annotation", "removal"] {
            mutate(&rig, how).await;
            rig.until_offered("up__good", false).await;
            let reply = rig.call("up__good", json!({"text": "a"})).await;
            assert_eq!(code(&reply), Some(Code::ToolNotFound), "{kind}: {how}");
            writeln!(table, "{how}: {}", rig.state("up", "good")).unwrap();
            assert_eq!(baseline(&rig.site), first, "{kind}: {how}");
            restore(&rig).await;
            rig.until_offered("up__good", true).await;
            assert_eq!(rig.state("up", "good"), "ready");
        }
        assert_eq!(rig.site.ran("up", "good"), 0, "{kind}");
        assert_eq!(
            rig.tell("up__good", json!({"text": "a"})).await.split(' ').next(),
            Some("data")
        );
        rig.close().await;
        assert_snapshot!("changes", table);
    }
}

#[tokio::test]
async fn a_blocked_change_is_never_the_baseline_also_after_a_restart() {
    let site = Site::new();
    let rig = started(&site).await;
    let first = baseline(&site);
    mutate(&rig, "description").await;
    rig.until_offered("up__good", false).await;
    rig.close().await;

    for _ in 0..2 {
        let rig = started(&site).await;
        assert!(!rig.offers("up__good"));
        assert_eq!(rig.state("up", "good"), "quarantined: A005 [Descriptive]");
        assert_eq!(baseline(&site), first);
        rig.close().await;
    }
    let rig = started(&site).await;
    restore(&rig).await;
    rig.until_offered("up__good", true).await;
    assert_eq!(rig.state("up", "good"), "ready");
    assert!(site.lock().read().unwrap().pending().next().is_none(), "nothing waits any more");
    rig.close().await;
}

#[tokio::test]
async fn an_accepted_change_is_the_new_baseline() {
    let site = Site::new();
    let rig = started(&site).await;
    let first = baseline(&site);
    mutate(&rig, "description").await;
    rig.until_offered("up__good", false).await;
    accept(&site, "good");
    // The running gateway sees it.
    rig.until_offered("up__good", true).await;
    let entry = rig.pipeline.catalog().get("up__good").cloned().expect("it is offered");
    assert_eq!(entry.contract.description, "Repeats the text that it is given.");
    let second = baseline(&site);
    assert_ne!(first, second);
    // What was there before is now the change.
    restore(&rig).await;
    rig.until_offered("up__good", false).await;
    assert_eq!(baseline(&site), second);
    rig.close().await;
}

/// Under another name, at once or later: what is nearly the same as something that is gone or quarantined is no new tool.
#[tokio::test]
async fn a_renamed_copy_of_what_changed_is_recognised() {
    let renaming = ["--only", TOOLS, "--rename-on-mutate"];
    for (how, state) in [
        ("additive", "quarantined"),
        ("breaking", "quarantined"),
        ("annotation", "quarantined"),
        // Nobody needs to know what it is a copy of.
        ("instruction", "refused"),
    ] {
        let site = Site::new();
        for life in ["first", "second"] {
            let rig = Setup::on(&site).child("up", &renaming).start().await;
            if life == "first" {
                mutate(&rig, how).await;
                rig.until_offered("up__good", false).await;
            }
            let judged = rig.state("up", "good_again");
            assert!(judged.starts_with(state), "{how}, {life} life: {judged}");
            let reply = rig.call("up__good_again", json!({"text": "a"})).await;
            assert_eq!(code(&reply), Some(Code::ToolNotFound), "{how}, {life} life");
            rig.close().await;
        }
        assert_eq!(site.ran("up", "good_again"), 0);
    }
}

#[tokio::test]
async fn what_is_quarantined_does_not_come_back_under_another_name() {
    let site = Site::new();
    let rig = started(&site).await;
    // Another text altogether, so that only what waits tells what it is a copy of.
    mutate(&rig, "description").await;
    rig.until_offered("up__good", false).await;
    rig.close().await;
    let args = ["--only", TOOLS, "--rename-on-mutate"];
    let rig = Setup::on(&site).child("up", &args).start().await;
    assert_eq!(rig.names(), ["up__mutate", "up__restore"]);
    assert!(
        rig.state("up", "good_again").starts_with("quarantined"),
        "{}",
        rig.state("up", "good_again")
    );
    rig.close().await;
}

#[tokio::test]
async fn changes_that_the_operator_allows_pass() {
    let site = Site::new();
    let rig = Setup::on(&site)
        .child("up", &["--only", TOOLS])
        .tune(|upstream| {
            let allowed =
                [ChangeClass::Descriptive, ChangeClass::Additive, ChangeClass::Instruction];
            upstream.policy.allow_changes = allowed.into();
        })
        .start()
        .await;
    let first = baseline(&site);
    mutate(&rig, "description").await;
    until("the change to be pinned", || baseline(&site) != first).await;
    assert!(rig.offers("up__good"));
    let second = baseline(&site);
    // Nobody can allow orders to the model in advance.
    mutate(&rig, "instruction").await;
    rig.until_offered("up__good", false).await;
    assert_eq!(baseline(&site), second);
    rig.close().await;
}

#[tokio::test]
async fn a_description_that_changes_with_each_list_does_not_get_through() {
    let site = Site::new();
    let setup = Setup::on(&site).child("up", &["--only", "good", "--mutate-description"]);
    let rig =
        setup.tune(|upstream| upstream.relist_after = Duration::from_millis(20)).start().await;
    let first = baseline(&site);
    rig.until_offered("up__good", false).await;
    let lists = site.counted("up")["lists"].as_u64().unwrap();
    until("more lists", || site.counted("up")["lists"].as_u64().unwrap() > lists + 3).await;
    assert!(!rig.offers("up__good"));
    assert_eq!(baseline(&site), first);
    assert_eq!(site.ran("up", "good"), 0);
    rig.close().await;
}

#[tokio::test]
async fn under_strict_what_came_later_waits() {
    let site = Site::new();
    let strict = |tools: &'static str| {
        let setup = Setup::on(&site).child("up", &["--only", tools]);
        setup.tune(|upstream| upstream.policy.mode = admit::Mode::Strict)
    };
    let rig = strict("good").start().await;
    assert!(rig.offers("up__good"));
    rig.close().await;
    let rig = strict("good,good_many").start().await;
    assert_eq!(rig.names(), ["up__good"]);
    accept(&site, "good_many");
    rig.until_offered("up__good_many", true).await;
    rig.close().await;
}

#[tokio::test]
async fn under_observe_a_change_runs_marked_until_it_is_accepted() {
    let site = Site::new();
    let setup = Setup::on(&site).child("up", &["--only", TOOLS]);
    let rig = setup.tune(|upstream| upstream.policy.mode = admit::Mode::Observe).start().await;
    let first = baseline(&site);
    let marks = || {
        let entry = rig.pipeline.catalog().get("up__good").cloned().expect("it is offered");
        entry.contract.constraints.rules.clone()
    };
    assert_eq!(marks(), Vec::<String>::new());
    mutate(&rig, "description").await;
    until("the mark", || marks() == ["observed: would be quarantined (A005)"]).await;
    assert_eq!(baseline(&site), first);
    accept(&site, "good");
    until("the mark to go", || marks().is_empty()).await;
    rig.close().await;
}

/// The time after which a list counts no more is a minute; nobody waits for that here.
#[tokio::test]
async fn an_overlay_that_is_written_while_we_run_is_heard() {
    let rig = Setup::new().child("up", &["--only", "good,no_description"]).start().await;
    assert_eq!(rig.names(), ["up__good"]);
    rig.site.overlay("up", "no_description", &json!({"description": "Says the text again."}));
    rig.until_offered("up__no_description", true).await;
    assert_eq!(rig.state("up", "no_description"), "overlaid");
    // One that is broken changes nothing, and is told.
    rig.site.overlay("up", "no_description", &json!({"description": ""}));
    let view = || rig.gateway.upstreams()[0].view();
    until("the failure", || view().failure.is_some()).await;
    assert_eq!(
        view().failure.as_deref(),
        Some(
            "contracts/up/no_description.json is not an overlay: `description` is empty: leave it out, or say something"
        )
    );
    assert_eq!(rig.names(), ["up__good", "up__no_description"]);
    rig.close().await;
}

/// A tool that runs unpinned could become another one unseen.
#[tokio::test]
async fn what_cannot_be_pinned_waits_if_it_is_new() {
    let site = Site::new();
    started(&site).await.close().await;
    // Where the guard is a folder, nobody can write the pins: as in a checkout that is read only.
    let guard = site.path(".lock-guard");
    std::fs::remove_file(&guard).unwrap();
    std::fs::create_dir(&guard).unwrap();
    let rig = Setup::on(&site).child("up", &["--only", &format!("{TOOLS},twice")]).start().await;
    assert_eq!(rig.state("up", "good"), "ready");
    assert_eq!(rig.state("up", "twice"), "quarantined: A006");
    assert!(rig.offers("up__good") && !rig.offers("up__twice"));
    rig.close().await;
}

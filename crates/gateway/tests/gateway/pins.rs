//! Tests definitions that change after they were admitted.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use admit::ChangeClass;
use contract::ErrorCode;
use insta::assert_snapshot;
use jiff::Timestamp;
use serde_json::json;

use crate::harness::{GatewaySetup, KINDS, ProjectFolder, TestGateway, reply_code, wait_until};

const TOOLS: &str = "good,mutate,restore";

async fn start_gateway(site: &Arc<ProjectFolder>) -> TestGateway {
    GatewaySetup::in_project(site).with_child("up", &["--only", TOOLS]).start().await
}

/// Returns the digest of the baseline of `good`.
fn baseline_digest(site: &ProjectFolder) -> String {
    let pins = site.lock_file().read().unwrap();
    let pin = pins.pin("up", "good").and_then(|pin| pin.baseline.clone());
    pin.expect("the tool is pinned").digest
}

fn accept_tool(site: &ProjectFolder, tool: &str) {
    let accepted = site.lock_file().change_pins(|pins| {
        let mut pins = pins.clone();
        let accepted = pins.accept_pending("up", Some(tool), Timestamp::now());
        (Some(pins), accepted)
    });
    assert_eq!(accepted.unwrap().len(), 1);
}

async fn mutate_definition(rig: &TestGateway, how: &str) {
    let reply = rig.call("up__mutate", json!({"how": how})).await;
    assert_eq!(reply_code(&reply), None, "{reply:?}");
}

async fn restore_definition(rig: &TestGateway) {
    assert_eq!(reply_code(&rig.call("up__restore", json!({})).await), None);
}

#[tokio::test]
async fn quarantines_every_change_until_it_is_reverted() {
    for kind in KINDS {
        let rig = GatewaySetup::new().with_kind(kind, "up", &["--only", TOOLS]).await.start().await;
        let first = baseline_digest(&rig.site);
        let mut table = String::new();
        for how in ["description", "instruction", "additive", "breaking", "annotation", "removal"] {
            mutate_definition(&rig, how).await;
            rig.wait_until_offered("up__good", false).await;
            let reply = rig.call("up__good", json!({"text": "a"})).await;
            assert_eq!(reply_code(&reply), Some(ErrorCode::ToolNotFound), "{kind}: {how}");
            writeln!(table, "{how}: {}", rig.tool_status("up", "good")).unwrap();
            assert_eq!(baseline_digest(&rig.site), first, "{kind}: {how}");
            restore_definition(&rig).await;
            rig.wait_until_offered("up__good", true).await;
            assert_eq!(rig.tool_status("up", "good"), "ready");
        }
        assert_eq!(rig.site.count_calls("up", "good"), 0, "{kind}");
        assert_eq!(
            rig.call_to_text("up__good", json!({"text": "a"})).await.split(' ').next(),
            Some("data")
        );
        rig.close().await;
        assert_snapshot!("changes", table);
    }
}

#[tokio::test]
async fn blocked_change_never_becomes_baseline_even_after_restart() {
    let site = ProjectFolder::new();
    let rig = start_gateway(&site).await;
    let first = baseline_digest(&site);
    mutate_definition(&rig, "description").await;
    rig.wait_until_offered("up__good", false).await;
    rig.close().await;

    for _ in 0..2 {
        let rig = start_gateway(&site).await;
        assert!(!rig.is_offered("up__good"));
        assert_eq!(rig.tool_status("up", "good"), "quarantined: A005 [Descriptive]");
        assert_eq!(baseline_digest(&site), first);
        rig.close().await;
    }
    let rig = start_gateway(&site).await;
    restore_definition(&rig).await;
    rig.wait_until_offered("up__good", true).await;
    assert_eq!(rig.tool_status("up", "good"), "ready");
    assert!(site.lock_file().read().unwrap().iter_pending().next().is_none(), "nothing is pending");
    rig.close().await;
}

#[tokio::test]
async fn accepted_change_becomes_baseline() {
    let site = ProjectFolder::new();
    let rig = start_gateway(&site).await;
    let first = baseline_digest(&site);
    mutate_definition(&rig, "description").await;
    rig.wait_until_offered("up__good", false).await;
    accept_tool(&site, "good");
    // The running gateway notices the acceptance.
    rig.wait_until_offered("up__good", true).await;
    let entry = rig.pipeline.catalog().get("up__good").cloned().expect("the tool is offered");
    assert_eq!(entry.contract.description, "Repeats the text that it is given.");
    let second = baseline_digest(&site);
    assert_ne!(first, second);
    // Restoring the original definition is now a change itself.
    restore_definition(&rig).await;
    rig.wait_until_offered("up__good", false).await;
    assert_eq!(baseline_digest(&site), second);
    rig.close().await;
}

/// A near copy of a removed or quarantined tool under another name is detected, immediately and after a restart.
#[tokio::test]
async fn detects_renamed_copy_of_changed_tool() {
    let renaming = ["--only", TOOLS, "--rename-on-mutate"];
    for (how, state) in [
        ("additive", "quarantined"),
        ("breaking", "quarantined"),
        ("annotation", "quarantined"),
        // A rule violation refuses the copy regardless of its original.
        ("instruction", "refused"),
    ] {
        let site = ProjectFolder::new();
        for life in ["first", "second"] {
            let rig = GatewaySetup::in_project(&site).with_child("up", &renaming).start().await;
            if life == "first" {
                mutate_definition(&rig, how).await;
                rig.wait_until_offered("up__good", false).await;
            }
            let status = rig.tool_status("up", "good_again");
            assert!(status.starts_with(state), "{how}, {life} run: {status}");
            let reply = rig.call("up__good_again", json!({"text": "a"})).await;
            assert_eq!(reply_code(&reply), Some(ErrorCode::ToolNotFound), "{how}, {life} run");
            rig.close().await;
        }
        assert_eq!(site.count_calls("up", "good_again"), 0);
    }
}

#[tokio::test]
async fn detects_renamed_copy_of_pending_definition() {
    let site = ProjectFolder::new();
    let rig = start_gateway(&site).await;
    // The new description shares nothing with the baseline, so only the pending definition reveals the copy.
    mutate_definition(&rig, "description").await;
    rig.wait_until_offered("up__good", false).await;
    rig.close().await;
    let args = ["--only", TOOLS, "--rename-on-mutate"];
    let rig = GatewaySetup::in_project(&site).with_child("up", &args).start().await;
    assert_eq!(rig.tool_names(), ["up__mutate", "up__restore"]);
    assert!(
        rig.tool_status("up", "good_again").starts_with("quarantined"),
        "{}",
        rig.tool_status("up", "good_again")
    );
    rig.close().await;
}

#[tokio::test]
async fn allowed_changes_become_baseline() {
    let site = ProjectFolder::new();
    let rig = GatewaySetup::in_project(&site)
        .with_child("up", &["--only", TOOLS])
        .tune_upstream(|upstream| {
            let allowed =
                [ChangeClass::Descriptive, ChangeClass::Additive, ChangeClass::Instruction];
            upstream.policy.allow_changes = allowed.into();
        })
        .start()
        .await;
    let first = baseline_digest(&site);
    mutate_definition(&rig, "description").await;
    wait_until("the change to be pinned", || baseline_digest(&site) != first).await;
    assert!(rig.is_offered("up__good"));
    let second = baseline_digest(&site);
    // Instructions to the model cannot be allowed in advance.
    mutate_definition(&rig, "instruction").await;
    rig.wait_until_offered("up__good", false).await;
    assert_eq!(baseline_digest(&site), second);
    rig.close().await;
}

#[tokio::test]
async fn quarantines_description_that_changes_with_each_listing() {
    let site = ProjectFolder::new();
    let setup = GatewaySetup::in_project(&site)
        .with_child("up", &["--only", "good", "--mutate-description"]);
    let rig = setup
        .tune_upstream(|upstream| upstream.relist_after = Duration::from_millis(20))
        .start()
        .await;
    let first = baseline_digest(&site);
    rig.wait_until_offered("up__good", false).await;
    let lists = site.read_counts("up")["lists"].as_u64().unwrap();
    wait_until("more lists", || site.read_counts("up")["lists"].as_u64().unwrap() > lists + 3)
        .await;
    assert!(!rig.is_offered("up__good"));
    assert_eq!(baseline_digest(&site), first);
    assert_eq!(site.count_calls("up", "good"), 0);
    rig.close().await;
}

#[tokio::test]
async fn strict_mode_quarantines_later_tools() {
    let site = ProjectFolder::new();
    let strict = |tools: &'static str| {
        let setup = GatewaySetup::in_project(&site).with_child("up", &["--only", tools]);
        setup.tune_upstream(|upstream| upstream.policy.mode = admit::AdmissionMode::Strict)
    };
    let rig = strict("good").start().await;
    assert!(rig.is_offered("up__good"));
    rig.close().await;
    let rig = strict("good,good_many").start().await;
    assert_eq!(rig.tool_names(), ["up__good"]);
    accept_tool(&site, "good_many");
    rig.wait_until_offered("up__good_many", true).await;
    rig.close().await;
}

#[tokio::test]
async fn observe_mode_marks_changed_tool_until_accepted() {
    let site = ProjectFolder::new();
    let setup = GatewaySetup::in_project(&site).with_child("up", &["--only", TOOLS]);
    let rig = setup
        .tune_upstream(|upstream| upstream.policy.mode = admit::AdmissionMode::Observe)
        .start()
        .await;
    let first = baseline_digest(&site);
    let marks = || {
        let entry = rig.pipeline.catalog().get("up__good").cloned().expect("the tool is offered");
        entry.contract.constraints.rules.clone()
    };
    assert_eq!(marks(), Vec::<String>::new());
    mutate_definition(&rig, "description").await;
    wait_until("the mark", || marks() == ["observed: would be quarantined (A005)"]).await;
    assert_eq!(baseline_digest(&site), first);
    accept_tool(&site, "good");
    wait_until("the mark to go", || marks().is_empty()).await;
    rig.close().await;
}

/// The relisting interval is a minute, so the overlay change itself must trigger the refresh.
#[tokio::test]
async fn applies_overlay_written_at_runtime() {
    let rig =
        GatewaySetup::new().with_child("up", &["--only", "good,no_description"]).start().await;
    assert_eq!(rig.tool_names(), ["up__good"]);
    rig.site.write_overlay("up", "no_description", &json!({"description": "Says the text again."}));
    rig.wait_until_offered("up__no_description", true).await;
    assert_eq!(rig.tool_status("up", "no_description"), "overlaid");
    // An invalid overlay changes nothing and is reported.
    rig.site.write_overlay("up", "no_description", &json!({"description": ""}));
    let view = || rig.gateway.upstreams()[0].snapshot();
    wait_until("the failure", || view().failure.is_some()).await;
    assert_eq!(
        view().failure.as_deref(),
        Some(
            "invalid overlay contracts/up/no_description.json: `description` is empty; set a value or omit it"
        )
    );
    assert_eq!(rig.tool_names(), ["up__good", "up__no_description"]);
    rig.close().await;
}

/// An unpinned tool that runs could change unnoticed.
#[tokio::test]
async fn quarantines_new_tools_when_pins_cannot_be_written() {
    let site = ProjectFolder::new();
    start_gateway(&site).await.close().await;
    // A folder in place of the guard file makes the pins unwritable, as in a read-only checkout.
    let guard = site.path(".lock-guard");
    std::fs::remove_file(&guard).unwrap();
    std::fs::create_dir(&guard).unwrap();
    let rig = GatewaySetup::in_project(&site)
        .with_child("up", &["--only", &format!("{TOOLS},twice")])
        .start()
        .await;
    assert_eq!(rig.tool_status("up", "good"), "ready");
    assert_eq!(rig.tool_status("up", "twice"), "quarantined: A006");
    assert!(rig.is_offered("up__good") && !rig.is_offered("up__twice"));
    rig.close().await;
}

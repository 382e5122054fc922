//! Tests that no change happens without its audit record.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::{Constraints, ErrorCode, SideEffects, Tool};
use runtime::{ApprovalMode, PipelineOptions};
use serde_json::json;
use store::{ApprovalDecision, ApprovalState};

use crate::rig::{Rig, ann, answer, code, reply_to_json, scripted_tool};

/// Returns a rig with a tool `change` that counts its runs, and a tool `look` without side effects.
async fn counting_rig() -> (Rig, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let writing = Constraints { side_effects: SideEffects::Append, ..Constraints::default() };
    let tools: Vec<Arc<dyn Tool>> = vec![
        scripted_tool("change", writing, move |_, _| {
            counter.fetch_add(1, Ordering::SeqCst);
            answer("done")
        }),
        scripted_tool("look", Constraints::default(), |_, _| answer("seen")),
    ];
    (Rig::with_tools(tools, PipelineOptions::default()).await, runs)
}

#[tokio::test]
async fn nothing_changes_while_the_audit_log_cannot_be_written() {
    let (rig, runs) = counting_rig().await;
    let log = rig.folder.path().join(".vouch/audit.jsonl");
    let moved = rig.folder.path().join("moved");
    assert_eq!(rig.call("look", json!({"text": ""})).await.code(), None);
    rig.pipeline.drain().await;
    fs::rename(&log, &moved).unwrap();
    fs::create_dir(&log).unwrap();
    assert_eq!(rig.call("look", json!({"text": ""})).await.code(), None);
    // The failure of the record is known once it was tried.
    rig.pipeline.drain().await;

    let reply = reply_to_json(&rig.call("change", json!({"text": ""})).await);
    assert_eq!(reply["code"], "STORAGE_UNAVAILABLE", "{reply}");
    let message = "the audit log cannot be written, so calls with side effects are refused";
    assert_eq!(reply["message"], message);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    assert_eq!(rig.call("look", json!({"text": ""})).await.code(), None);

    fs::remove_dir(&log).unwrap();
    fs::rename(&moved, &log).unwrap();
    rig.pipeline.drain().await;
    assert_eq!(rig.call("change", json!({"text": ""})).await.code(), None);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

/// The call is refused before its approval is claimed or asked for: a person must not decide about it again.
#[tokio::test]
async fn approval_is_kept_while_the_audit_log_cannot_be_written() {
    let (rig, runs) = counting_rig().await;
    let approve = [("change".to_owned(), ApprovalMode::Queue)].into();
    rig.pipeline.replace_options(PipelineOptions { approve, ..PipelineOptions::default() });
    let change = json!({"text": "decided"});
    assert_eq!(code(&rig.call("change", change.clone()).await), ErrorCode::ApprovalRequired);
    let id = rig.store.list_approvals(None).await.unwrap()[0].id.clone();
    rig.store.decide_approval(&id, ApprovalDecision::Approve, &ann()).await.unwrap();
    rig.pipeline.drain().await;
    let log = rig.folder.path().join(".vouch/audit.jsonl");
    let moved = rig.folder.path().join("moved");
    fs::rename(&log, &moved).unwrap();
    fs::create_dir(&log).unwrap();
    assert_eq!(rig.call("look", json!({"text": ""})).await.code(), None);
    rig.pipeline.drain().await;

    for text in ["decided", "undecided"] {
        let reply = rig.call("change", json!({"text": text})).await;
        assert_eq!(code(&reply), ErrorCode::StorageUnavailable, "{text}");
    }
    let approvals = rig.store.list_approvals(None).await.unwrap();
    assert_eq!(approvals.len(), 1, "{approvals:?}");
    assert_eq!(approvals[0].state, ApprovalState::Approved);

    fs::remove_dir(&log).unwrap();
    fs::rename(&moved, &log).unwrap();
    rig.pipeline.drain().await;
    assert_eq!(rig.call("change", change).await.code(), None);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(rig.store.find_approval(&id).await.unwrap().state, ApprovalState::Used);
}

/// A record that is only queued is written milliseconds later, and lost if the process ends before.
#[tokio::test]
async fn change_is_on_record_before_its_reply() {
    let (rig, runs) = counting_rig().await;
    let log = rig.folder.path().join(".vouch/audit.jsonl");
    for count in 1..=20 {
        assert_eq!(rig.call("change", json!({"text": ""})).await.code(), None);
        let text = fs::read_to_string(&log).unwrap();
        let is_answered = |line: &&str| line.contains("change") && line.contains("\"ok\"");
        assert_eq!(text.lines().filter(is_answered).count(), count);
        assert_eq!(runs.load(Ordering::SeqCst), count);
    }
}

/// The records of reading calls are gathered before they are written.
#[tokio::test]
async fn reading_calls_are_on_record_once_the_server_is_drained() {
    let (rig, _) = counting_rig().await;
    let log = rig.folder.path().join(".vouch/audit.jsonl");
    for count in 1..=20 {
        assert_eq!(rig.call("look", json!({"text": ""})).await.code(), None);
        rig.pipeline.drain().await;
        let text = fs::read_to_string(&log).unwrap();
        assert_eq!(text.lines().filter(|line| line.contains("\"look\"")).count(), count);
    }
}

//! Each stage refuses what it should, and the last stage records it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use contract::Code;
use runtime::{Approve, PipelineOptions};
use serde_json::json;

use crate::rig::{BEGUN, Rig, STOPPED, call, code, show};

#[tokio::test]
async fn every_stage_answers_for_itself() {
    let rig = Rig::new().await;
    let mut log = Vec::new();
    for (tool, arguments) in [
        ("echo", json!({"text": "hi"})),
        ("echo", json!({"text": "hi", "times": 2})),
        ("nothing\u{202e}", json!({})),
        ("echo", json!({})),
        ("echo", json!({"text": 1})),
        ("echo", json!({"text": "x".repeat(2001)})),
        ("echo", json!({"text": "x", "other": true})),
        ("small_input", json!({"text": "x".repeat(40)})),
        ("huge", json!({"text": ""})),
        ("liar", json!({"text": ""})),
        ("silent", json!({"text": ""})),
        ("panics", json!({"text": ""})),
        ("write", json!({"text": "a\u{1b}[2J"})),
    ] {
        let reply = show(&rig.call(tool, arguments.clone()).await);
        let mut reply = reply;
        if let Some(details) = reply.get_mut("details").and_then(|value| value.as_object_mut()) {
            for key in ["approvalId", "expiresAt"] {
                if details.contains_key(key) {
                    details.insert(key.into(), "…".into());
                }
            }
        }
        if reply["code"] == "APPROVAL_REQUIRED" {
            reply["message"] = "…".into();
        }
        log.push(json!({"call": tool, "reply": reply}));
    }
    insta::assert_json_snapshot!("stages", log);
    insta::assert_json_snapshot!("audit", rig.audit().await);
}

#[tokio::test]
async fn over_the_rate_the_caller_learns_when_to_come_back() {
    let rig = Rig::new().await;
    assert!(rig.call("rare", json!({"text": ""})).await.code().is_none());
    let reply = show(&rig.call("rare", json!({"text": ""})).await);
    assert_eq!(reply["code"], "RATE_LIMITED");
    let wait = reply["details"]["retryAfterMs"].as_u64().unwrap();
    assert!((1..=60_001).contains(&wait), "{wait}");
    // Another caller, and another tool, are not concerned.
    let mut other = call("rare", json!({"text": ""}));
    other.caller = contract::Caller::new("somebody else");
    assert!(rig.pipeline.call(other).await.code().is_none());
    assert!(rig.call("echo", json!({"text": ""})).await.code().is_none());
}

#[tokio::test]
async fn over_its_time_the_wait_ends_and_the_work_is_told() {
    let rig = Rig::new().await;
    assert_eq!(code(&rig.call("slow", json!({"text": ""})).await), Code::ExecutionTimeout);
    while !STOPPED.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_change_that_was_made_is_never_called_a_failure() {
    let rig = Rig::new().await;
    let reply = loop {
        let reply = rig.call("slow_write", json!({"text": "in the pipeline"})).await;
        if BEGUN.lock().unwrap().contains("in the pipeline") {
            break reply;
        }
    };
    assert_eq!(show(&reply), json!({"structured": {"text": "written"}}));
    // Where nobody waits for the end, the record says that nobody knows.
    let call = call("slow_write", json!({"text": ""}));
    let cancel = call.cancel.clone();
    let (reply, ()) = tokio::join!(rig.pipeline.call(call), async { cancel.cancel() });
    assert_eq!(code(&reply), Code::Cancelled);
    let outcomes: Vec<_> = rig.audit().await.iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes[outcomes.len() - 2..], ["ok", "unknown"]);
}

#[tokio::test]
async fn a_cancelled_call_ends() {
    let rig = Rig::new().await;
    let call = call("patient", json!({"text": ""}));
    let cancel = call.cancel.clone();
    let (reply, ()) = tokio::join!(rig.pipeline.call(call), async { cancel.cancel() });
    assert_eq!(code(&reply), Code::Cancelled);
    assert_eq!(rig.audit().await[0]["code"], "CANCELLED");
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_a_line() {
    let rig = Rig::new().await;
    {
        let running = rig.call("patient", json!({"text": ""}));
        // Polled a few times, then dropped, as a server does when the connection closes.
        let polled = tokio::time::timeout(std::time::Duration::from_millis(20), running).await;
        assert!(polled.is_err());
    }
    let lines = rig.audit().await;
    assert_eq!(lines[0]["tool"], "patient");
    assert_eq!(lines[0]["code"], "CANCELLED");
}

#[tokio::test]
async fn whenever_the_caller_goes_away_there_is_one_line() {
    let policy = [("write".to_owned(), Approve::Always)].into();
    let rig = Rig::with(PipelineOptions { approve: policy, ..PipelineOptions::default() }).await;
    let calls = 60;
    for patience in 0..calls {
        let mut running = std::pin::pin!(rig.call("write", json!({"text": "x"})));
        // Dropped after so many polls: somewhere between the first stage and the line being on disk.
        for _ in 0..=patience {
            if futures::poll!(&mut running).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(rig.audit().await.len(), calls);
}

#[tokio::test]
async fn a_limit_without_end_is_a_limit() {
    let rig = Rig::new().await;
    assert!(rig.call("endless", json!({"text": ""})).await.code().is_none());
}

#[tokio::test]
async fn progress_reaches_the_caller() {
    let rig = Rig::new().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut call = call("steps", json!({"text": ""}));
    let sink = Arc::clone(&seen);
    call.progress = Some(Arc::new(move |progress| sink.lock().unwrap().push(progress.done)));
    assert!(rig.pipeline.call(call).await.code().is_none());
    assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0]);
}

#[tokio::test]
async fn policy_decides_before_anybody_is_asked() {
    let policy = |approve| PipelineOptions {
        approve: [("write".to_owned(), approve), ("echo".to_owned(), approve)].into(),
        ..PipelineOptions::default()
    };
    let text = json!({"text": "x"});
    let rig = Rig::with(policy(Approve::Always)).await;
    assert!(rig.call("write", text.clone()).await.code().is_none());
    let rig = Rig::with(policy(Approve::Never)).await;
    assert_eq!(code(&rig.call("write", text.clone()).await), Code::ApprovalDenied);
    // A tool that needs no approval by contract can be put under one.
    let rig = Rig::with(policy(Approve::Ask)).await;
    assert_eq!(code(&rig.call("echo", text).await), Code::ApprovalRequired);
}

#[tokio::test]
async fn metrics_count_what_happened() {
    let rig = Rig::new().await;
    for _ in 0..2 {
        rig.call("rare", json!({"text": ""})).await;
    }
    rig.call("no such tool", json!({})).await;
    let text = rig.pipeline.metrics().render().unwrap();
    let counters: Vec<_> = text
        .lines()
        .filter(|line| {
            line.contains("_total{") || line.contains("_count{") || line.contains("in_flight ")
        })
        .collect();
    let mut counters = counters;
    counters.sort_unstable();
    insta::assert_snapshot!(counters.join("\n"));
}

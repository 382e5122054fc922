//! Tests of the pipeline's stages, including audit records and metrics.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use contract::ErrorCode;
use runtime::{ApprovalMode, PipelineOptions};
use serde_json::json;

use crate::rig::{Rig, SLOW_CANCELLED, STARTED_WRITES, call, code, reply_to_json};

#[tokio::test]
async fn each_stage_rejects_invalid_calls() {
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
        let reply = reply_to_json(&rig.call(tool, arguments.clone()).await);
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
    insta::assert_json_snapshot!("audit", rig.audit_records().await);
}

#[tokio::test]
async fn rate_limited_reply_contains_retry_delay() {
    let rig = Rig::new().await;
    assert!(rig.call("rare", json!({"text": ""})).await.code().is_none());
    let reply = reply_to_json(&rig.call("rare", json!({"text": ""})).await);
    assert_eq!(reply["code"], "RATE_LIMITED");
    let wait = reply["details"]["retryAfterMs"].as_u64().unwrap();
    assert!((1..=60_001).contains(&wait), "{wait}");
    // Other callers and other tools are not affected.
    let mut other = call("rare", json!({"text": ""}));
    other.caller = contract::Caller::new("other");
    assert!(rig.pipeline.call(other).await.code().is_none());
    assert!(rig.call("echo", json!({"text": ""})).await.code().is_none());
}

#[tokio::test]
async fn timeout_ends_call_and_cancels_work() {
    let rig = Rig::new().await;
    assert_eq!(code(&rig.call("slow", json!({"text": ""})).await), ErrorCode::ExecutionTimeout);
    while !SLOW_CANCELLED.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn completed_side_effect_is_not_reported_as_failure() {
    let rig = Rig::new().await;
    let reply = loop {
        let reply = rig.call("slow_write", json!({"text": "in the pipeline"})).await;
        if STARTED_WRITES.lock().unwrap().contains("in the pipeline") {
            break reply;
        }
    };
    assert_eq!(reply_to_json(&reply), json!({"structured": {"text": "written"}}));
    // An abandoned call with side effects is recorded as unknown.
    let call = call("slow_write", json!({"text": "abandoned"}));
    let cancel = call.cancel.clone();
    let started = async {
        while !STARTED_WRITES.lock().unwrap().contains("abandoned") {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (reply, ()) = tokio::join!(rig.pipeline.call(call), started);
    assert_eq!(code(&reply), ErrorCode::Cancelled);
    let outcomes: Vec<_> =
        rig.audit_records().await.iter().map(|line| line["outcome"].clone()).collect();
    assert_eq!(outcomes[outcomes.len() - 2..], ["ok", "unknown"]);
}

#[tokio::test]
async fn cancelled_call_ends() {
    let rig = Rig::new().await;
    let call = call("patient", json!({"text": ""}));
    let cancel = call.cancel.clone();
    let (reply, ()) = tokio::join!(rig.pipeline.call(call), async { cancel.cancel() });
    assert_eq!(code(&reply), ErrorCode::Cancelled);
    assert_eq!(rig.audit_records().await[0]["code"], "CANCELLED");
}

#[tokio::test]
async fn disconnected_caller_leaves_audit_record() {
    let rig = Rig::new().await;
    {
        let running = rig.call("patient", json!({"text": ""}));
        // Polled a few times, then dropped, as a server does when the connection closes.
        let polled = tokio::time::timeout(std::time::Duration::from_millis(20), running).await;
        assert!(polled.is_err());
    }
    let lines = rig.audit_records().await;
    assert_eq!(lines[0]["tool"], "patient");
    assert_eq!(lines[0]["code"], "CANCELLED");
}

#[tokio::test]
async fn disconnect_at_any_stage_leaves_one_audit_record() {
    let policy = [("write".to_owned(), ApprovalMode::Always)].into();
    let rig =
        Rig::with_options(PipelineOptions { approve: policy, ..PipelineOptions::default() }).await;
    let calls = 60;
    for polls in 0..calls {
        let mut running = std::pin::pin!(rig.call("write", json!({"text": "x"})));
        // Dropped after this many polls, anywhere between the first stage and the flushed audit record.
        for _ in 0..=polls {
            if futures::poll!(&mut running).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(rig.audit_records().await.len(), calls);
}

#[tokio::test]
async fn accepts_unbounded_time_limit() {
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
async fn approval_mode_is_applied_before_elicitation() {
    let policy = |approve| PipelineOptions {
        approve: [("write".to_owned(), approve), ("echo".to_owned(), approve)].into(),
        ..PipelineOptions::default()
    };
    let text = json!({"text": "x"});
    let rig = Rig::with_options(policy(ApprovalMode::Always)).await;
    assert!(rig.call("write", text.clone()).await.code().is_none());
    let rig = Rig::with_options(policy(ApprovalMode::Never)).await;
    let reply = reply_to_json(&rig.call("write", text.clone()).await);
    assert_eq!(
        (&reply["code"], &reply["details"]),
        (&json!("APPROVAL_DENIED"), &json!({"retry": false}))
    );
    // A tool without approval in its contract can require one.
    let rig = Rig::with_options(policy(ApprovalMode::Ask)).await;
    assert_eq!(code(&rig.call("echo", text).await), ErrorCode::ApprovalRequired);
}

#[tokio::test]
async fn metrics_count_calls_and_failures() {
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

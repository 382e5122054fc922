//! Tests of approvals: by queue, in rounds, and over the connection. Each approves one call of one caller, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use contract::{Caller, ErrorCode};
use runtime::{
    CallOrigin, ClientCapabilities, ElicitationChannel, ElicitationHandler, ElicitationKind,
    ElicitationRequest, PipelineOptions, ProtocolRefusal, RoundInput, ToolCall, ToolReply,
};
use serde_json::{Value, json};
use store::{ApprovalDecision, ApprovalState};

use crate::rig::{Rig, ann, call, code};

fn write_call(text: &str) -> ToolCall {
    call("write", json!({"text": text}))
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

fn multi_round(mut call: ToolCall, answer: Option<Value>, state: Option<String>) -> ToolCall {
    call.origin = CallOrigin::Local;
    call.channel = ElicitationChannel::MultiRound(RoundInput {
        capabilities: ClientCapabilities { elicitation: true, ..ClientCapabilities::default() },
        answers: answer.map(|answer| ("approval".to_owned(), answer)).into_iter().collect(),
        state,
    });
    call
}

async fn first_round(rig: &Rig, text: &str) -> String {
    match rig.pipeline.call(multi_round(write_call(text), None, None)).await {
        ToolReply::InputRequired { state, elicitations: requests } => {
            assert_eq!(requests.len(), 1);
            state
        }
        other => panic!("{other:?}"),
    }
}

fn refusal_reason(reply: &ToolReply) -> &str {
    match reply {
        ToolReply::Refused(ProtocolRefusal::InvalidState(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn queued_approval_is_used_once() {
    let rig = Rig::new().await;
    let ToolReply::Failed(error) = rig.pipeline.call(write_call("one")).await else { panic!() };
    assert_eq!(error.code, ErrorCode::ApprovalRequired);
    let id = error.details["approvalId"].as_str().unwrap();
    // A repeated call does not create a second approval.
    let ToolReply::Failed(again) = rig.pipeline.call(write_call("one")).await else { panic!() };
    assert_eq!(again.details["approvalId"], id);

    rig.store.decide_approval(id, ApprovalDecision::Approve, &ann()).await.unwrap();
    assert_eq!(
        code(&rig.pipeline.call(write_call("other arguments")).await),
        ErrorCode::ApprovalRequired
    );
    let mut foreign = write_call("one");
    foreign.caller = Caller::new("other");
    assert_eq!(code(&rig.pipeline.call(foreign).await), ErrorCode::ApprovalRequired);
    assert!(rig.pipeline.call(write_call("one")).await.code().is_none());
    assert_eq!(code(&rig.pipeline.call(write_call("one")).await), ErrorCode::ApprovalRequired);
    assert_eq!(rig.store.find_approval(id).await.unwrap().state, ApprovalState::Used);
}

#[tokio::test]
async fn queued_approval_can_be_denied() {
    let rig = Rig::new().await;
    let ToolReply::Failed(error) = rig.pipeline.call(write_call("one")).await else { panic!() };
    let id = error.details["approvalId"].as_str().unwrap();
    rig.store.decide_approval(id, ApprovalDecision::Deny, &ann()).await.unwrap();
    let ToolReply::Failed(denied) = rig.pipeline.call(write_call("one")).await else { panic!() };
    assert_eq!(denied.code, ErrorCode::ApprovalDenied);
    assert_eq!(denied.details["retry"], false);
    assert_eq!(denied.details["approvalId"], id);
}

#[tokio::test]
async fn summary_shows_all_arguments_and_escapes_invisible_characters() {
    let rig = Rig::new().await;
    let text = format!("line one\nline \u{202e}two\u{1b}[31m\n{}", "long ".repeat(100));
    rig.pipeline.call(write_call(&text)).await;
    let approvals = rig.store.list_approvals(None).await.unwrap();
    insta::assert_snapshot!(approvals[0].summary);
}

#[tokio::test]
async fn summary_marks_long_and_multi_line_arguments() {
    for (text, expected) in [
        ("short".to_owned(), "text: short\ntimes: 1\n".to_owned()),
        ("x".repeat(80), format!("text: {}\ntimes: 1\n", "x".repeat(80))),
        ("x".repeat(81), format!("text:\n  │ {}\ntimes: 1\n", "x".repeat(81))),
        ("a\nb".to_owned(), "text:\n  │ a\n  │ b\ntimes: 1\n".to_owned()),
    ] {
        let rig = Rig::new().await;
        rig.pipeline.call(write_call(&text)).await;
        let approvals = rig.store.list_approvals(None).await.unwrap();
        let (_, arguments) = approvals[0].summary.split_once("\n\n").unwrap();
        assert_eq!(arguments, expected);
    }
}

#[tokio::test]
async fn request_state_opens_once_and_only_for_its_call() {
    let rig = Rig::new().await;
    let state = first_round(&rig, "one").await;

    // Altered arguments, another caller, an altered state.
    let reply =
        rig.pipeline.call(multi_round(write_call("two"), Some(yes()), Some(state.clone()))).await;
    assert!(refusal_reason(&reply).contains("belongs to another call"));
    let mut foreign = multi_round(write_call("one"), Some(yes()), Some(state.clone()));
    foreign.caller = Caller::new("other");
    assert!(refusal_reason(&rig.pipeline.call(foreign).await).contains("belongs to another call"));
    let altered = format!("{state}x");
    let reply = rig.pipeline.call(multi_round(write_call("one"), Some(yes()), Some(altered))).await;
    assert!(refusal_reason(&reply).contains("altered"));

    // The real second round, then a replay of it.
    let second = || multi_round(write_call("one"), Some(yes()), Some(state.clone()));
    assert!(rig.pipeline.call(second()).await.code().is_none());
    assert!(refusal_reason(&rig.pipeline.call(second()).await).contains("used before"));
}

#[tokio::test]
async fn unrequested_answer_is_not_an_approval() {
    let rig = Rig::new().await;
    let reply = rig.pipeline.call(multi_round(write_call("one"), Some(yes()), None)).await;
    assert!(matches!(reply, ToolReply::InputRequired { .. }), "{reply:?}");
}

#[tokio::test]
async fn any_answer_except_yes_denies_the_call() {
    let rig = Rig::new().await;
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {"approve": false}}),
        json!({"action": "accept", "content": {"approve": "true"}}),
        json!({"action": "decline", "content": {"approve": true}}),
    ] {
        let state = first_round(&rig, "one").await;
        let reply = rig
            .pipeline
            .call(multi_round(write_call("one"), Some(answer.clone()), Some(state)))
            .await;
        let ToolReply::Failed(error) = reply else { panic!("{reply:?}") };
        assert_eq!(error.code, ErrorCode::ApprovalDenied, "{answer}");
        assert_eq!(error.details["retry"], false);
    }
    // A malformed answer is requested again.
    let state = first_round(&rig, "one").await;
    let reply =
        rig.pipeline.call(multi_round(write_call("one"), Some(json!(7)), Some(state))).await;
    assert!(matches!(reply, ToolReply::InputRequired { .. }), "{reply:?}");
}

#[tokio::test]
async fn rejects_expired_request_state() {
    let options = PipelineOptions {
        approval_lifetime: Duration::from_millis(1),
        ..PipelineOptions::default()
    };
    let rig = Rig::with_options(options).await;
    let state = first_round(&rig, "one").await;
    let late = std::time::Instant::now() + Duration::from_millis(5);
    while std::time::Instant::now() < late {
        tokio::task::yield_now().await;
    }
    let reply = rig.pipeline.call(multi_round(write_call("one"), Some(yes()), Some(state))).await;
    assert!(refusal_reason(&reply).contains("expired"));
}

struct ScriptedHandler {
    answer: Result<Value, String>,
    asked: AtomicUsize,
}

#[async_trait]
impl ElicitationHandler for ScriptedHandler {
    async fn elicit(&self, request: &ElicitationRequest) -> Result<Value, String> {
        let ElicitationKind::Form { message, .. } = &request.kind else { panic!("{request:?}") };
        assert!(message.contains("write"), "{message}");
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.answer.clone()
    }
}

async fn call_connected(rig: &Rig, answer: Result<Value, String>) -> ToolReply {
    let handler = Arc::new(ScriptedHandler { answer, asked: AtomicUsize::new(0) });
    let mut call = write_call("one");
    call.origin = CallOrigin::Local;
    call.channel = ElicitationChannel::Connected {
        capabilities: ClientCapabilities { elicitation: true, ..ClientCapabilities::default() },
        handler: Arc::clone(&handler) as Arc<dyn ElicitationHandler>,
    };
    let reply = rig.pipeline.call(call).await;
    assert_eq!(handler.asked.load(Ordering::SeqCst), 1);
    reply
}

#[tokio::test]
async fn approval_over_the_connection() {
    let rig = Rig::new().await;
    assert!(call_connected(&rig, Ok(yes())).await.code().is_none());
    assert_eq!(
        code(&call_connected(&rig, Ok(json!({"action": "decline"}))).await),
        ErrorCode::ApprovalDenied
    );
    assert_eq!(code(&call_connected(&rig, Err("gone".into())).await), ErrorCode::ApprovalRequired);
}

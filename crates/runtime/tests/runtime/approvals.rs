//! A person agrees to one call of one caller, once, in each of the three ways.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use contract::{Caller, Code};
use runtime::{
    Abilities, Ask, Call, Person, PipelineOptions, Question, QuestionKind, Refusal, Reply, Rounds,
};
use serde_json::{Value, json};
use store::{Decision, State};

use crate::rig::{Rig, call, code};

fn write(text: &str) -> Call {
    call("write", json!({"text": text}))
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

fn in_rounds(mut call: Call, answer: Option<Value>, state: Option<String>) -> Call {
    call.person = Person::Rounds(Rounds {
        abilities: Abilities { elicitation: true, ..Abilities::default() },
        answers: answer.map(|answer| ("approval".to_owned(), answer)).into_iter().collect(),
        state,
    });
    call
}

async fn first_round(rig: &Rig, text: &str) -> String {
    match rig.pipeline.call(in_rounds(write(text), None, None)).await {
        Reply::InputRequired { state, questions } => {
            assert_eq!(questions.len(), 1);
            state
        }
        other => panic!("{other:?}"),
    }
}

fn refused(reply: &Reply) -> &str {
    match reply {
        Reply::Refused(Refusal::BadState(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn queued_approved_and_used_once() {
    let rig = Rig::new().await;
    let Reply::Failed(error) = rig.pipeline.call(write("one")).await else { panic!() };
    assert_eq!(error.code, Code::ApprovalRequired);
    let id = error.details["approvalId"].as_str().unwrap();
    // Asking again does not make a second one.
    let Reply::Failed(again) = rig.pipeline.call(write("one")).await else { panic!() };
    assert_eq!(again.details["approvalId"], id);

    rig.store.decide(id, Decision::Approve, "ann").await.unwrap();
    assert_eq!(code(&rig.pipeline.call(write("other arguments")).await), Code::ApprovalRequired);
    let mut foreign = write("one");
    foreign.caller = Caller::new("somebody else");
    assert_eq!(code(&rig.pipeline.call(foreign).await), Code::ApprovalRequired);
    assert!(rig.pipeline.call(write("one")).await.code().is_none());
    assert_eq!(code(&rig.pipeline.call(write("one")).await), Code::ApprovalRequired);
    assert_eq!(rig.store.approval(id).await.unwrap().state, State::Used);
}

#[tokio::test]
async fn queued_and_denied() {
    let rig = Rig::new().await;
    let Reply::Failed(error) = rig.pipeline.call(write("one")).await else { panic!() };
    let id = error.details["approvalId"].as_str().unwrap();
    rig.store.decide(id, Decision::Deny, "ann").await.unwrap();
    assert_eq!(code(&rig.pipeline.call(write("one")).await), Code::ApprovalDenied);
}

#[tokio::test]
async fn the_person_sees_the_whole_entry_and_nothing_hidden() {
    let rig = Rig::new().await;
    let text = format!("line one\nline \u{202e}two\u{1b}[31m\n{}", "long ".repeat(100));
    rig.pipeline.call(write(&text)).await;
    let approvals = rig.store.approvals(None).await.unwrap();
    insta::assert_snapshot!(approvals[0].summary);
}

#[tokio::test]
async fn in_rounds_the_state_opens_once_for_this_call_only() {
    let rig = Rig::new().await;
    let state = first_round(&rig, "one").await;

    // Altered arguments, another caller, an altered state.
    let reply = rig.pipeline.call(in_rounds(write("two"), Some(yes()), Some(state.clone()))).await;
    assert!(refused(&reply).contains("belongs to another call"));
    let mut foreign = in_rounds(write("one"), Some(yes()), Some(state.clone()));
    foreign.caller = Caller::new("somebody else");
    assert!(refused(&rig.pipeline.call(foreign).await).contains("belongs to another call"));
    let altered = format!("{state}x");
    let reply = rig.pipeline.call(in_rounds(write("one"), Some(yes()), Some(altered))).await;
    assert!(refused(&reply).contains("altered"));

    // The true second round, then a replay of it.
    let second = || in_rounds(write("one"), Some(yes()), Some(state.clone()));
    assert!(rig.pipeline.call(second()).await.code().is_none());
    assert!(refused(&rig.pipeline.call(second()).await).contains("used before"));
}

#[tokio::test]
async fn in_rounds_an_answer_that_nobody_asked_for_is_no_approval() {
    let rig = Rig::new().await;
    let reply = rig.pipeline.call(in_rounds(write("one"), Some(yes()), None)).await;
    assert!(matches!(reply, Reply::InputRequired { .. }), "{reply:?}");
}

#[tokio::test]
async fn in_rounds_anything_but_yes_is_no() {
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
        let reply =
            rig.pipeline.call(in_rounds(write("one"), Some(answer.clone()), Some(state))).await;
        assert_eq!(code(&reply), Code::ApprovalDenied, "{answer}");
    }
    // What is no answer at all is asked for again.
    let state = first_round(&rig, "one").await;
    let reply = rig.pipeline.call(in_rounds(write("one"), Some(json!(7)), Some(state))).await;
    assert!(matches!(reply, Reply::InputRequired { .. }), "{reply:?}");
}

#[tokio::test]
async fn in_rounds_a_state_expires() {
    let options = PipelineOptions {
        approval_lifetime: Duration::from_millis(1),
        ..PipelineOptions::default()
    };
    let rig = Rig::with(options).await;
    let state = first_round(&rig, "one").await;
    let late = std::time::Instant::now() + Duration::from_millis(5);
    while std::time::Instant::now() < late {
        tokio::task::yield_now().await;
    }
    let reply = rig.pipeline.call(in_rounds(write("one"), Some(yes()), Some(state))).await;
    assert!(refused(&reply).contains("expired"));
}

struct Scripted {
    answer: Result<Value, String>,
    asked: AtomicUsize,
}

#[async_trait]
impl Ask for Scripted {
    async fn ask(&self, question: &Question) -> Result<Value, String> {
        let QuestionKind::Form { message, .. } = &question.kind else { panic!("{question:?}") };
        assert!(message.contains("write"), "{message}");
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.answer.clone()
    }
}

async fn connected(rig: &Rig, answer: Result<Value, String>) -> Reply {
    let ask = Arc::new(Scripted { answer, asked: AtomicUsize::new(0) });
    let mut call = write("one");
    call.person = Person::Connected {
        abilities: Abilities { elicitation: true, ..Abilities::default() },
        ask: Arc::clone(&ask) as Arc<dyn Ask>,
    };
    let reply = rig.pipeline.call(call).await;
    assert_eq!(ask.asked.load(Ordering::SeqCst), 1);
    reply
}

#[tokio::test]
async fn over_the_connection() {
    let rig = Rig::new().await;
    assert!(connected(&rig, Ok(yes())).await.code().is_none());
    assert_eq!(
        code(&connected(&rig, Ok(json!({"action": "decline"}))).await),
        Code::ApprovalDenied
    );
    assert_eq!(code(&connected(&rig, Err("gone".into())).await), Code::ApprovalRequired);
}

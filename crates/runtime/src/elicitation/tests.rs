//! Tests of what one round of a call passes to the next, and of the limits of elicitations.

use async_trait::async_trait;

use super::*;
use crate::call::RoundInput;

fn request(key: &str) -> ElicitationRequest {
    ElicitationRequest::new_form(key, "?", json!({"type": "object"}))
}

fn rounds(past: RoundState, answers: &[&str]) -> ElicitationBroker {
    let answers = answers.iter().map(|key| ((*key).to_owned(), json!({"action": key}))).collect();
    let capabilities = ClientCapabilities { elicitation: true, ..ClientCapabilities::default() };
    let input = RoundInput { capabilities, answers, state: None };
    ElicitationBroker::new(ElicitationChannel::MultiRound(input), past, Duration::from_secs(60))
}

fn asked(keys: &[&str]) -> RoundState {
    RoundState {
        asked: keys.iter().map(|key| (*key).to_owned()).collect(),
        ..RoundState::default()
    }
}

#[test]
fn next_round_keeps_what_was_asked_and_answered() {
    let past = RoundState {
        answers: [("old".to_owned(), json!({}))].into_iter().collect(),
        ..asked(&["old", "ours", "upstream/theirs"])
    };
    let broker = rounds(past, &["ours", "next", "upstream/theirs", "upstream/next", "unasked"]);
    let requests = [request("next"), request("again"), request("ours"), request("upstream/next")];
    let next = broker.build_next_round(&requests, Some(json!(1)));
    assert_eq!(next.asked, ["again", "next", "old", "ours", "upstream/next"]);
    // Neither answers of an upstream server nor answers that were not asked for are kept.
    let mut answered: Vec<_> = next.answers.keys().map(String::as_str).collect();
    answered.sort_unstable();
    assert_eq!(answered, ["next", "old", "ours"]);
    assert_eq!(next.carried, Some(json!(1)));
}

#[test]
fn upstream_receives_only_answers_to_its_own_questions() {
    let broker =
        rounds(asked(&["ours", "upstream/theirs"]), &["ours", "upstream/theirs", "upstream/x"]);
    let answers = broker.upstream_answers();
    assert_eq!(answers.keys().collect::<Vec<_>>(), ["theirs"]);
}

#[test]
fn limits_are_inclusive() {
    assert!(check_size("state", 10, 10).is_ok());
    let error = check_size("state", 11, 10).unwrap_err();
    assert_eq!((error.code, &error.details["size"]), (ErrorCode::TooLarge, &json!(11)));
}

#[tokio::test]
async fn carried_state_and_questions_are_limited() {
    let elicit = async |question: usize, carried: usize| {
        let broker = rounds(RoundState::default(), &[]);
        let requests = vec![ElicitationRequest::new_form("q", "x".repeat(question), json!({}))];
        // The quotes of the text count too.
        let carried = json!("x".repeat(carried - 2));
        match broker.elicit_with_state(requests, carried).await {
            Err(CallInterruption::Elicit { .. }) => None,
            Err(CallInterruption::Fail(error)) => Some(error.code),
            _ => panic!("neither asked nor failed"),
        }
    };
    assert_eq!(elicit(10, MAX_CARRIED_BYTES).await, None);
    assert_eq!(elicit(10, MAX_CARRIED_BYTES + 1).await, Some(ErrorCode::TooLarge));
    assert_eq!(elicit(MAX_QUESTIONS_BYTES - 1000, 10).await, None);
    assert_eq!(elicit(MAX_QUESTIONS_BYTES + 1, 10).await, Some(ErrorCode::TooLarge));
}

/// Answers after a time.
struct SlowUser(Duration);

#[async_trait]
impl ElicitationHandler for SlowUser {
    async fn elicit(&self, _: &ElicitationRequest) -> Result<Value, String> {
        let start = std::time::Instant::now();
        while start.elapsed() < self.0 {
            tokio::task::yield_now().await;
        }
        Ok(json!({"action": "accept"}))
    }
}

fn connected(user: SlowUser, timeout: Duration) -> ElicitationBroker {
    let capabilities = ClientCapabilities { elicitation: true, ..ClientCapabilities::default() };
    let channel = ElicitationChannel::Connected { capabilities, handler: Arc::new(user) };
    ElicitationBroker::new(channel, RoundState::default(), timeout)
}

#[tokio::test]
async fn time_of_the_user_is_measured() {
    let time = Duration::from_millis(5);
    let broker = connected(SlowUser(time), Duration::from_secs(60));
    assert_eq!(broker.total_wait(), Duration::ZERO);
    assert!(broker.elicit(vec![request("q")]).await.is_ok());
    assert!(broker.total_wait() >= time);
}

#[tokio::test]
async fn user_who_does_not_answer_ends_the_elicitation() {
    let broker = connected(SlowUser(Duration::from_secs(20)), Duration::from_millis(1));
    match broker.elicit(vec![request("q")]).await {
        Err(CallInterruption::Fail(error)) => assert_eq!(
            error.message,
            "the elicitation got no answer: timed out waiting for an answer"
        ),
        _ => panic!("the elicitation did not time out"),
    }
}

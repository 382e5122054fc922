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
    // The key `q` and the schema `{}` count too.
    assert_eq!(elicit(MAX_QUESTIONS_BYTES - 3, 10).await, None);
    assert_eq!(elicit(MAX_QUESTIONS_BYTES - 2, 10).await, Some(ErrorCode::TooLarge));
}

#[test]
fn size_of_a_question_includes_its_key() {
    let size = |kind| ElicitationRequest { key: "key".into(), kind }.byte_size();
    let form = ElicitationKind::Form { message: "four".into(), schema: json!({"a": 1}) };
    assert_eq!(size(form), 3 + 4 + 7);
    assert_eq!(size(ElicitationKind::RawElicitation(json!({"a": 1}))), 3 + 7);
    assert_eq!(size(ElicitationKind::Sampling(json!([]))), 3 + 2);
    assert_eq!(size(ElicitationKind::Roots), 3);
}

#[tokio::test]
async fn relayed_request_is_limited() {
    let broker = connected(SlowUser(Duration::ZERO), Duration::from_secs(60));
    let relay = async |size: usize| {
        // The quotes of the text count too.
        broker.relay_request("elicitation/create", json!("x".repeat(size - 2))).await
    };
    assert_eq!(relay(MAX_QUESTIONS_BYTES).await, Ok(json!({"action": "accept"})));
    let error = relay(MAX_QUESTIONS_BYTES + 1).await.unwrap_err();
    assert!(error.contains("exceeded the limit"), "{error}");
}

#[tokio::test]
async fn number_of_questions_over_a_connection_is_limited() {
    let broker = connected(SlowUser(Duration::ZERO), Duration::from_secs(60));
    for _ in 0..MAX_ELICITATIONS {
        broker.relay_request("elicitation/create", json!({})).await.unwrap();
    }
    let error = broker.relay_request("elicitation/create", json!({})).await.unwrap_err();
    assert_eq!(error, "a call may send at most 64 elicitations");
}

#[tokio::test]
async fn request_that_the_client_cannot_answer_is_declined_or_fails() {
    let silent = || {
        let unavailable = ElicitationChannel::Unavailable;
        ElicitationBroker::new(unavailable, RoundState::default(), Duration::from_secs(60))
    };
    let declined = Ok(json!({"action": "decline"}));
    let form_only = || connected(SlowUser(Duration::ZERO), Duration::from_secs(60));
    for broker in [silent(), rounds(RoundState::default(), &[])] {
        assert_eq!(broker.relay_request("elicitation/create", json!({})).await, declined);
    }
    let url = json!({"mode": "url"});
    assert_eq!(form_only().relay_request("elicitation/create", url).await, declined);
    for (method, name) in [("sampling/createMessage", "sampling"), ("roots/list", "roots")] {
        for broker in [silent(), form_only(), rounds(RoundState::default(), &[])] {
            let error = broker.relay_request(method, json!({})).await.unwrap_err();
            assert_eq!(error, format!("the client does not support {name}"));
        }
    }
    let error = form_only().relay_request("tools/call", json!({})).await.unwrap_err();
    assert_eq!(error, "this request cannot be forwarded to the client");
}

#[tokio::test]
async fn question_after_the_end_of_a_call_gets_no_answer() {
    let broker = connected(SlowUser(Duration::ZERO), Duration::from_secs(60));
    drop(broker.end_guard());
    let error = broker.relay_request("elicitation/create", json!({})).await.unwrap_err();
    assert_eq!(error, "the call has ended");
}

#[test]
fn malformed_answer_does_not_reach_an_upstream() {
    let past = asked(&["upstream/a", "upstream/b"]);
    let answers = [("upstream/a", json!(7)), ("upstream/b", json!({"action": "accept"}))];
    let answers = answers.map(|(key, answer)| (key.to_owned(), answer)).into();
    let capabilities = ClientCapabilities { elicitation: true, ..ClientCapabilities::default() };
    let input = RoundInput { capabilities, answers, state: None };
    let channel = ElicitationChannel::MultiRound(input);
    let broker = ElicitationBroker::new(channel, past, Duration::from_secs(60));
    assert_eq!(broker.upstream_answers().keys().collect::<Vec<_>>(), ["b"]);
    // Over a connection, answers are not collected.
    let broker = connected(SlowUser(Duration::ZERO), Duration::from_secs(60));
    assert!(broker.upstream_answers().is_empty() && !broker.is_multi_round());
}

#[test]
fn overlapping_waits_count_once_and_end_with_the_last() {
    let limit = std::time::Instant::now() + Duration::from_secs(30);
    let grows = |clock: &WaitClock, from: Duration| {
        while clock.total_wait() <= from {
            assert!(std::time::Instant::now() < limit, "the clock stands still");
        }
    };
    let start = std::time::Instant::now();
    let clock = WaitClock::default();
    let first = clock.start_wait();
    let second = clock.start_wait();
    grows(&clock, Duration::from_millis(2));
    drop(first);
    grows(&clock, clock.total_wait());
    assert!(clock.total_wait() <= start.elapsed());
    drop(second);
    let total = clock.total_wait();
    assert!(total >= Duration::from_millis(2) && total <= start.elapsed());
    while start.elapsed() < total * 2 {}
    assert_eq!(clock.total_wait(), total, "the clock runs without a question");
    // A later wait is added to the earlier ones.
    let third = clock.start_wait();
    grows(&clock, total);
    drop(third);
    assert!(clock.total_wait() > total && clock.total_wait() <= start.elapsed());
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

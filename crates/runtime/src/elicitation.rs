//! Elicitation: requests input from the user behind a call, in the way the protocol revision supports.
//!
//! In the handshake revisions an elicitation is sent over the open connection while the call waits. Since 2026-07-28 a
//! call that needs input ends, and the next round brings the answers. There are two ways to continue:
//!
//! - [`ElicitationBroker::elicit`]: the call runs again from the start, sends the same elicitations and finds them
//!   answered. Used by local tools.
//! - [`ElicitationBroker::elicit_with_state`]: the next round receives the carried state
//!   ([`ElicitationBroker::carried_state`]) and continues from there. Used for an upstream server that has its own state
//!   and may send different elicitations in each round.
//!
//! An upstream server of the handshake revisions sends an elicitation in the middle of its call
//! ([`ElicitationBroker::relay_request`]). Its call cannot be suspended, so only users behind an open connection are
//! reached. In all other cases the elicitation is declined.

#[cfg(test)]
mod tests;
mod wait_clock;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use contract::{ErrorCode, ToolError};
use serde_json::{Value, json};
use store::{ApprovalChannel, Approver};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::call::{
    CallInterruption, ClientCapabilities, ElicitationAnswers, ElicitationChannel,
    ElicitationHandler, ElicitationKind, ElicitationRequest, ProtocolRefusal,
};
use crate::pipeline::json_size;
use crate::seal::RoundState;
use wait_clock::WaitClock;

/// Maximum size of the state carried from one round to the next. The client has to send it back.
pub const MAX_CARRIED_BYTES: usize = 64 * 1024;
/// Maximum size of the elicitations that an upstream server sends at once.
pub(crate) const MAX_QUESTIONS_BYTES: usize = 256 * 1024;
/// Maximum elicitations per call over an open connection.
const MAX_ELICITATIONS: usize = 64;
/// Prefix of elicitation keys chosen by an upstream server, so that none can imitate a local key.
const UPSTREAM_PREFIX: &str = "upstream/";

/// Handles the elicitations of one call. Clones share their state, so that another task can elicit while the call runs.
#[derive(Clone)]
pub struct ElicitationBroker {
    inner: Arc<BrokerState>,
}

struct BrokerState {
    channel: ElicitationChannel,
    /// The state sealed by earlier rounds.
    past: RoundState,
    /// Id of the approval that was obtained in this round.
    approval: OnceLock<String>,
    /// Time spent waiting for the user, which does not count against the tool's time limit.
    waiting: WaitClock,
    timeout: Duration,
    sent_count: AtomicUsize,
    /// Cancelled when the call has ended and answers are no longer needed.
    over: CancellationToken,
}

impl ElicitationBroker {
    pub(crate) fn new(channel: ElicitationChannel, past: RoundState, timeout: Duration) -> Self {
        let inner = BrokerState {
            channel,
            past,
            approval: OnceLock::new(),
            waiting: WaitClock::default(),
            timeout,
            sent_count: AtomicUsize::new(0),
            over: CancellationToken::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the kinds of elicitation that the client can answer.
    pub fn capabilities(&self) -> ClientCapabilities {
        self.inner.channel.capabilities()
    }

    /// Returns true if an elicitation ends the call and the answer comes with the next round.
    pub fn is_multi_round(&self) -> bool {
        matches!(self.inner.channel, ElicitationChannel::MultiRound(_))
    }

    /// Returns the state carried from an earlier round, or `None` in the first round of a call.
    pub fn carried_state(&self) -> Option<&Value> {
        self.inner.past.carried.as_ref()
    }

    /// Returns this round's answers to elicitations of an upstream server, by the keys that the server chose. Answers
    /// may be missing, because a client need not answer.
    pub fn upstream_answers(&self) -> ElicitationAnswers {
        let ElicitationChannel::MultiRound(rounds) = &self.inner.channel else {
            return ElicitationAnswers::new();
        };
        let asked = |key: &&String| self.inner.past.asked.contains(key);
        rounds
            .answers
            .iter()
            .filter(|(key, answer)| asked(key) && answer.is_object())
            .filter_map(|(key, answer)| {
                Some((key.strip_prefix(UPSTREAM_PREFIX)?.to_owned(), answer.clone()))
            })
            .collect()
    }

    /// Returns the answers to all elicitations, or interrupts the call to obtain them.
    pub async fn elicit(
        &self,
        requests: Vec<ElicitationRequest>,
    ) -> Result<ElicitationAnswers, CallInterruption> {
        self.check_capabilities(&requests)?;
        match &self.inner.channel {
            // Without capabilities the check above accepts only an empty list.
            ElicitationChannel::Unavailable => Ok(ElicitationAnswers::new()),
            ElicitationChannel::MultiRound(rounds) => {
                self.collect_round_answers(&rounds.answers, requests)
            }
            ElicitationChannel::Connected { handler: ask, .. } => {
                let mut answers = ElicitationAnswers::new();
                for request in requests {
                    let answer = self.send_request(&**ask, &request).await;
                    let answer = answer.map_err(|reason| unanswered_error(&reason))?;
                    answers.insert(request.key, answer);
                }
                Ok(answers)
            }
        }
    }

    /// Returns the answers of a connected user. Otherwise the call is interrupted, and the next round continues with
    /// the carried state. The state is sealed: it returns unmodified, once, to the same call of the same caller.
    pub async fn elicit_with_state(
        &self,
        requests: Vec<ElicitationRequest>,
        carry: Value,
    ) -> Result<ElicitationAnswers, CallInterruption> {
        check_size("state", json_size(&carry), MAX_CARRIED_BYTES)?;
        let size = requests.iter().map(ElicitationRequest::byte_size).sum();
        check_size("elicitations", size, MAX_QUESTIONS_BYTES)?;
        if !matches!(self.inner.channel, ElicitationChannel::MultiRound(_)) {
            return self.elicit(requests).await;
        }
        self.check_capabilities(&requests)?;
        let name = |request: ElicitationRequest| ElicitationRequest {
            key: format!("{UPSTREAM_PREFIX}{}", request.key),
            ..request
        };
        let requests = requests.into_iter().map(name).collect();
        Err(CallInterruption::Elicit { elicitations: requests, carry: Some(carry) })
    }

    /// Forwards a request of an upstream server to a connected client and returns the client's result. Supported
    /// methods are `elicitation/create`, `sampling/createMessage` and `roots/list`. If the client cannot answer, an
    /// elicitation is declined, and the other methods fail with a reason for the upstream server.
    pub async fn relay_request(&self, method: &str, params: Value) -> Result<Value, String> {
        check_size("elicitation", json_size(&params), MAX_QUESTIONS_BYTES)
            .map_err(|error| error.message)?;
        let kind = match method {
            "elicitation/create" => ElicitationKind::RawElicitation(params),
            "sampling/createMessage" => ElicitationKind::Sampling(params),
            "roots/list" => ElicitationKind::Roots,
            _ => return Err("this request cannot be forwarded to the client".to_owned()),
        };
        let request = ElicitationRequest { key: "relayed".to_owned(), kind };
        match &self.inner.channel {
            ElicitationChannel::Connected { capabilities: abilities, handler: ask }
                if abilities.can_answer(&request) =>
            {
                self.send_request(&**ask, &request).await
            }
            _ if matches!(request.kind, ElicitationKind::RawElicitation(_)) => {
                Ok(json!({"action": "decline"}))
            }
            _ => Err(format!("the client does not support {}", request.capability_name())),
        }
    }

    /// Like [`Self::elicit`], but accepts an answer only if an earlier round of the same call sent the elicitation.
    /// Otherwise a client could send an answer, such as an approval, unasked.
    pub(crate) async fn elicit_sealed(
        &self,
        request: ElicitationRequest,
    ) -> Result<ElicitationAnswers, CallInterruption> {
        let past = &self.inner.past;
        match &self.inner.channel {
            ElicitationChannel::MultiRound(_) if !past.asked.contains(&request.key) => {
                Err(CallInterruption::Elicit {
                    elicitations: vec![request],
                    carry: past.carried.clone(),
                })
            }
            _ => self.elicit(vec![request]).await,
        }
    }

    /// Returns the id of the approval that an earlier round obtained.
    pub(crate) fn past_approval(&self) -> Option<&str> {
        self.inner.past.approval.as_deref()
    }

    /// Keeps the approval for later rounds of this call. A call has one approval at most.
    pub(crate) fn keep_approval(&self, id: &str) {
        let _ = self.inner.approval.set(id.to_owned());
    }

    /// Returns the one who answers elicitations: whom the handler names, otherwise the caller through its client.
    pub(crate) fn approver(&self, principal: &str) -> Approver {
        let named = match &self.inner.channel {
            ElicitationChannel::Connected { handler, .. } => handler.approver(),
            ElicitationChannel::MultiRound(_) | ElicitationChannel::Unavailable => None,
        };
        named.unwrap_or_else(|| Approver::new(principal, ApprovalChannel::Client))
    }

    /// Returns the state for the next round: all elicitations sent and answers received so far. Those of an upstream
    /// server last for one round only, because their outcome is part of the carried state.
    pub(crate) fn build_next_round(
        &self,
        requests: &[ElicitationRequest],
        carry: Option<Value>,
    ) -> RoundState {
        let past = &self.inner.past;
        let is_ours = |key: &&String| !key.starts_with(UPSTREAM_PREFIX);
        let mut asked: Vec<_> = past.asked.iter().filter(is_ours).cloned().collect();
        asked.extend(requests.iter().map(|request| request.key.clone()));
        asked.sort();
        asked.dedup();
        let mut answers = past.answers.clone();
        if let ElicitationChannel::MultiRound(rounds) = &self.inner.channel {
            // Only answers that were requested, so that a client cannot add other data to the state.
            let wanted = |key: &&String| is_ours(key) && asked.contains(key);
            let new = rounds.answers.iter().filter(|(key, _)| wanted(key));
            answers.extend(new.map(|(key, answer)| (key.clone(), answer.clone())));
        }
        let approval = past.approval.clone().or_else(|| self.inner.approval.get().cloned());
        RoundState { asked, answers, carried: carry, approval }
    }

    /// Returns the time spent waiting for the user so far.
    pub(crate) fn total_wait(&self) -> Duration {
        self.inner.waiting.total_wait()
    }

    /// Returns a guard that ends the broker and all its clones when dropped.
    pub(crate) fn end_guard(&self) -> DropGuard {
        self.inner.over.clone().drop_guard()
    }

    async fn send_request(
        &self,
        ask: &dyn ElicitationHandler,
        request: &ElicitationRequest,
    ) -> Result<Value, String> {
        if self.inner.sent_count.fetch_add(1, Ordering::Relaxed) >= MAX_ELICITATIONS {
            return Err(format!("a call may send at most {MAX_ELICITATIONS} elicitations"));
        }
        let _waiting = self.inner.waiting.start_wait();
        tokio::select! {
            biased;
            () = self.inner.over.cancelled() => Err("the call has ended".to_owned()),
            answer = tokio::time::timeout(self.inner.timeout, ask.elicit(request)) => {
                answer.unwrap_or_else(|_| Err("timed out waiting for an answer".to_owned()))
            }
        }
    }

    fn check_capabilities(&self, requests: &[ElicitationRequest]) -> Result<(), CallInterruption> {
        let abilities = self.capabilities();
        match requests.iter().find(|request| !abilities.can_answer(request)) {
            Some(request) => Err(CallInterruption::Refuse(ProtocolRefusal::MissingCapability(
                request.capability_name(),
            ))),
            None => Ok(()),
        }
    }

    fn collect_round_answers(
        &self,
        new: &ElicitationAnswers,
        requests: Vec<ElicitationRequest>,
    ) -> Result<ElicitationAnswers, CallInterruption> {
        // An answer that is not an object cannot be a client result. It counts as missing and is requested again.
        let past = &self.inner.past.answers;
        let find = |key: &String| new.get_key_value(key).or(past.get_key_value(key));
        let answered: ElicitationAnswers = requests
            .iter()
            .filter_map(|request| find(&request.key))
            .filter(|(_, answer)| answer.is_object())
            .map(|(key, answer)| (key.clone(), answer.clone()))
            .collect();
        if answered.len() == requests.len() {
            Ok(answered)
        } else {
            Err(CallInterruption::Elicit { elicitations: requests, carry: None })
        }
    }
}

fn check_size(what: &str, size: usize, limit: usize) -> Result<(), ToolError> {
    if size <= limit {
        return Ok(());
    }
    let message = format!(
        "the tool requested input, but its {what} exceeded the limit: {size} bytes, limit {limit}"
    );
    Err(ToolError::new(ErrorCode::TooLarge, message)
        .with_detail("limit", limit)
        .with_detail("size", size))
}

fn unanswered_error(reason: &str) -> ToolError {
    ToolError::new(ErrorCode::ApprovalRequired, format!("the elicitation got no answer: {reason}"))
}

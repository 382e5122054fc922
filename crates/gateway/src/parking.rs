//! Parks calls between two rounds.
//!
//! A server of a handshake revision sends requests during its call, while a stateless client answers them in another
//! request. The server's call therefore runs in its own task. When it sends a request, the task is parked under a
//! ticket, which the client carries, sealed, to its next round. That round delivers the answer and waits on. A parked
//! call belongs to this process: after a restart, or at another instance, the client gets an error that asks it to call
//! again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::{ErrorCode, ToolError};
use link::{CallFailure, CallOutcome, ElicitationResponder};
use parking_lot::Mutex;
use runtime::{CallInterruption, ElicitationBroker};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::relay;

/// Time after which a parked call ends. The state that the client carries has expired too.
const PARKING_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// Maximum parked calls of one tool. Each is an open call at its server.
const MAX_PARKED: usize = 1000;
/// Key of the ticket in the carried value.
const TICKET_KEY: &str = "parked";
/// Key of the only question of a round.
const QUESTION_KEY: &str = "question";

type AnswerSender = oneshot::Sender<Result<Value, String>>;

/// The parked calls of one tool.
#[derive(Default)]
pub(crate) struct ParkedCalls {
    state: Mutex<ParkedCallMap>,
}

type ParkedCallMap = HashMap<ParkingTicket, ParkedCall>;

struct ParkedCall {
    running: RunningCall,
    /// Method of the request that the call waits for.
    method: String,
    answer: AnswerSender,
}

/// Random id of a parked call. It is random because the state that a client carries may outlive the process, and must
/// not resume the call of another one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ParkingTicket(String);

impl ParkingTicket {
    fn new() -> Result<Self, String> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| "failed to generate a ticket".to_owned())?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }
}

/// A call in its own task. Dropping it ends the call.
pub(crate) struct RunningCall {
    task: JoinHandle<Result<CallOutcome, CallFailure>>,
    questions: mpsc::Receiver<RelayedRequest>,
}

struct RelayedRequest {
    method: String,
    params: Value,
    answer: AnswerSender,
}

/// Returns the answer to a request that the client did not answer. An elicitation counts as declined.
fn default_answer(method: &str) -> Result<Value, String> {
    match method {
        "elicitation/create" => Ok(json!({"action": "decline"})),
        _ => Err("the client gave no answer".to_owned()),
    }
}

/// Passes the server's requests to the round that waits for the call.
pub(crate) struct RequestQueue(mpsc::Sender<RelayedRequest>);

#[async_trait]
impl ElicitationResponder for RequestQueue {
    async fn respond(&self, method: &str, params: Value) -> Result<Value, String> {
        let gone = |_| "the call is no longer awaited".to_owned();
        let (answer, answered) = oneshot::channel();
        let asked = RelayedRequest { method: method.to_owned(), params, answer };
        self.0.send(asked).await.map_err(|_| gone(()))?;
        answered.await.map_err(|_| gone(()))?
    }
}

impl RunningCall {
    /// Starts a call that sends its requests through the given queue.
    pub(crate) fn start<F>(call: impl FnOnce(Arc<RequestQueue>) -> F) -> Self
    where
        F: Future<Output = Result<CallOutcome, CallFailure>> + Send + 'static,
    {
        let (sender, questions) = mpsc::channel(1);
        Self { task: tokio::spawn(call(Arc::new(RequestQueue(sender)))), questions }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ParkedCalls {
    /// Returns the parked call that this round continues, after delivering the client's answer; `None` in a first
    /// round.
    ///
    /// Returns an error if the call has ended.
    pub(crate) fn resume_call(
        &self,
        broker: &ElicitationBroker,
    ) -> Result<Option<RunningCall>, ToolError> {
        let Some(ticket) = broker.carried_state().and_then(|carried| carried.get(TICKET_KEY))
        else {
            return Ok(None);
        };
        let ticket = ticket.as_str().map(|ticket| ParkingTicket(ticket.to_owned()));
        let parked = ticket.and_then(|ticket| self.state.lock().remove(&ticket));
        let Some(ParkedCall { running, method, answer }) = parked else {
            return Err(ToolError::new(
                ErrorCode::UpstreamUnavailable,
                "the parked call has ended; call again without requestState",
            ));
        };
        let given = broker.upstream_answers().remove(QUESTION_KEY);
        let _ = answer.send(given.map_or_else(|| default_answer(&method), Ok));
        Ok(Some(running))
    }

    /// Waits for the call to end, or parks it at its next request.
    pub(crate) async fn wait_or_park(
        self: &Arc<Self>,
        mut running: RunningCall,
        broker: &ElicitationBroker,
    ) -> Result<Result<CallOutcome, CallFailure>, CallInterruption> {
        loop {
            let asked = tokio::select! {
                biased;
                Some(asked) = running.questions.recv() => asked,
                ended = &mut running.task => {
                    return ended.map_err(|_| {
                        ToolError::new(ErrorCode::InternalError, "the call ended unexpectedly").into()
                    });
                }
            };
            let RelayedRequest { method, params, answer } = asked;
            match self.relay_request(broker, &method, params).await {
                Ok((ticket, stop)) => {
                    self.park_call(ticket, ParkedCall { running, method, answer });
                    return Err(stop);
                }
                Err(reason) => drop(answer.send(Err(reason))),
            }
        }
    }

    /// Returns the question for the client with its ticket, or an error message for the server.
    async fn relay_request(
        &self,
        broker: &ElicitationBroker,
        method: &str,
        params: Value,
    ) -> Result<(ParkingTicket, CallInterruption), String> {
        if self.state.lock().len() >= MAX_PARKED {
            return Err("too many parked calls".to_owned());
        }
        let ticket = ParkingTicket::new()?;
        let question = relay::build_question(QUESTION_KEY.to_owned(), method, params)
            .map_err(|error| error.message)?;
        match broker.elicit_with_state(vec![question], json!({TICKET_KEY: ticket.0})).await {
            Err(stop @ CallInterruption::Elicit { .. }) => Ok((ticket, stop)),
            Err(CallInterruption::Fail(error)) => Err(error.message),
            _ => Err("the request cannot be relayed to the client".to_owned()),
        }
    }

    fn park_call(self: &Arc<Self>, ticket: ParkingTicket, parked: ParkedCall) {
        self.state.lock().insert(ticket.clone(), parked);
        let lot = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(PARKING_TIMEOUT).await;
            if let Some(lot) = lot.upgrade() {
                lot.state.lock().remove(&ticket);
            }
        });
    }
}

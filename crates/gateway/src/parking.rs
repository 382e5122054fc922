//! Calls that wait between two rounds: a server of the handshake revisions asks in the middle of its call, and the client
//! answers with another request.
//!
//! The server's call goes on in a task of its own. When it asks, the task is parked here under a ticket that the client
//! carries, sealed, to its next round, which hands the answer in and waits on. A parked call is of this process: after a
//! restart, or at another instance, the client is told to call again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::{Code, ToolError};
use link::{Asker, Failed, Turn};
use parking_lot::Mutex;
use runtime::{Inquiry, Stop};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::relay;

/// A person who has not answered by then will not; what the client carries has expired, too.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// Each is an open call at a server.
const MAX_PARKED: usize = 1000;
/// Where the ticket is in what is carried.
const PARKED: &str = "parked";
/// The key of the one question of a round.
const KEY: &str = "question";

type AnswerTo = oneshot::Sender<Result<Value, String>>;

/// The parked calls of one tool.
#[derive(Default)]
pub(crate) struct Lot {
    state: Mutex<State>,
}

type State = HashMap<Ticket, Parked>;

struct Parked {
    running: Running,
    /// What was asked for, and who waits for it.
    method: String,
    answer: AnswerTo,
}

/// Made of chance: what a client carries may outlive the process, and must not open the call of another one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Ticket(String);

impl Ticket {
    fn new() -> Result<Self, String> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|_| "there is no randomness for a ticket".to_owned())?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }
}

/// A call in a task of its own. Dropping it ends the call.
pub(crate) struct Running {
    task: JoinHandle<Result<Turn, Failed>>,
    questions: mpsc::Receiver<Asked>,
}

struct Asked {
    method: String,
    params: Value,
    answer: AnswerTo,
}

/// What the server hears if the client brings no answer: of a person, that they declined.
fn unanswered(method: &str) -> Result<Value, String> {
    match method {
        "elicitation/create" => Ok(json!({"action": "decline"})),
        _ => Err("the client gave no answer".to_owned()),
    }
}

/// Takes the server's questions to whoever waits for the call.
pub(crate) struct Queue(mpsc::Sender<Asked>);

#[async_trait]
impl Asker for Queue {
    async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        let gone = |_| "nobody waits for this call any more".to_owned();
        let (answer, answered) = oneshot::channel();
        let asked = Asked { method: method.to_owned(), params, answer };
        self.0.send(asked).await.map_err(|_| gone(()))?;
        answered.await.map_err(|_| gone(()))?
    }
}

impl Running {
    /// Starts a call that asks through the queue it is given.
    pub(crate) fn start<F>(call: impl FnOnce(Arc<Queue>) -> F) -> Self
    where
        F: Future<Output = Result<Turn, Failed>> + Send + 'static,
    {
        let (sender, questions) = mpsc::channel(1);
        Self { task: tokio::spawn(call(Arc::new(Queue(sender)))), questions }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Lot {
    /// The call that this round goes on with; None if it is the first one.
    pub(crate) fn resume(&self, inquiry: &Inquiry) -> Result<Option<Running>, ToolError> {
        let Some(ticket) = inquiry.carried().and_then(|carried| carried.get(PARKED)) else {
            return Ok(None);
        };
        let ticket = ticket.as_str().map(|ticket| Ticket(ticket.to_owned()));
        let parked = ticket.and_then(|ticket| self.state.lock().remove(&ticket));
        let Some(Parked { running, method, answer }) = parked else {
            return Err(ToolError::new(
                Code::UpstreamUnavailable,
                "the call that asked has ended meanwhile; call again without requestState",
            ));
        };
        let given = inquiry.answers().remove(KEY);
        let _ = answer.send(given.map_or_else(|| unanswered(&method), Ok));
        Ok(Some(running))
    }

    /// Waits for the call's end, or parks it at its next question.
    pub(crate) async fn wait(
        self: &Arc<Self>,
        mut running: Running,
        inquiry: &Inquiry,
    ) -> Result<Result<Turn, Failed>, Stop> {
        loop {
            let asked = tokio::select! {
                biased;
                Some(asked) = running.questions.recv() => asked,
                ended = &mut running.task => {
                    return ended.map_err(|_| {
                        ToolError::new(Code::InternalError, "the call ended unexpectedly").into()
                    });
                }
            };
            let Asked { method, params, answer } = asked;
            match self.put(inquiry, &method, params).await {
                Ok((ticket, stop)) => {
                    self.park(ticket, Parked { running, method, answer });
                    return Err(stop);
                }
                Err(reason) => drop(answer.send(Err(reason))),
            }
        }
    }

    /// The question as the client gets it, or why it cannot be put.
    async fn put(
        &self,
        inquiry: &Inquiry,
        method: &str,
        params: Value,
    ) -> Result<(Ticket, Stop), String> {
        if self.state.lock().len() >= MAX_PARKED {
            return Err("too many calls wait for an answer".to_owned());
        }
        let ticket = Ticket::new()?;
        let question =
            relay::question(KEY.to_owned(), method, params).map_err(|error| error.message)?;
        match inquiry.ask_carrying(vec![question], json!({PARKED: ticket.0})).await {
            Err(stop @ Stop::Ask { .. }) => Ok((ticket, stop)),
            Err(Stop::Fail(error)) => Err(error.message),
            _ => Err("the client cannot be asked that".to_owned()),
        }
    }

    fn park(self: &Arc<Self>, ticket: Ticket, parked: Parked) {
        self.state.lock().insert(ticket.clone(), parked);
        let lot = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            if let Some(lot) = lot.upgrade() {
                lot.state.lock().remove(&ticket);
            }
        });
    }
}

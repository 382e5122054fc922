//! Questions of a server on their way to the person behind the call, and the answers back.
//!
//! | the server is | a connected person | a person who comes in rounds |
//! |---|---|---|
//! | of the handshake revisions: it asks in the middle of its call | asked over the connection ([`Connected`]) | the call is parked until the next round ([`crate::parking`]) |
//! | stateless: it ends its call with questions and a state | asked, then the call goes on with the state ([`ask`]) | the state is sealed and comes back with the next round ([`resumed`]) |

use async_trait::async_trait;
use contract::{Code, ToolError};
use link::{Abilities, Asker, Resume};
use runtime::{Inquiry, Question, QuestionKind, Stop};
use serde_json::{Map, Value, json};

/// Where the server's own state is in what is carried.
const STATE: &str = "state";

pub(crate) fn abilities(inquiry: &Inquiry) -> Abilities {
    let runtime::Abilities { elicitation, sampling, roots, .. } = inquiry.abilities();
    Abilities { elicitation, sampling, roots }
}

/// Asks a person who is connected while the call runs.
pub(crate) struct Connected(pub(crate) Inquiry);

#[async_trait]
impl Asker for Connected {
    async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        self.0.relay(method, params).await
    }
}

/// What this round brings to a stateless server that asked in the round before.
pub(crate) fn resumed(inquiry: &Inquiry) -> Option<Resume> {
    let carried = inquiry.carried()?.get(STATE)?;
    let answers = inquiry.answers().into_iter().collect();
    Some(Resume { state: carried.as_str().map(str::to_owned), answers })
}

/// Puts the questions with which a stateless server ended its call.
pub(crate) async fn ask(
    inquiry: &Inquiry,
    requests: Map<String, Value>,
    state: Option<String>,
) -> Result<Resume, Stop> {
    let questions = requests
        .into_iter()
        .map(|(key, mut request)| {
            let method = request["method"].as_str().unwrap_or_default().to_owned();
            question(key, &method, request["params"].take())
        })
        .collect::<Result<Vec<_>, _>>()?;
    let answers = inquiry.ask_carrying(questions, json!({STATE: state})).await?;
    Ok(Resume { state, answers: answers.into_iter().collect() })
}

pub(crate) fn question(key: String, method: &str, params: Value) -> Result<Question, ToolError> {
    let kind = match method {
        "elicitation/create" => QuestionKind::Elicitation(params),
        "sampling/createMessage" => QuestionKind::Sampling(params),
        "roots/list" => QuestionKind::Roots,
        _ => {
            return Err(ToolError::new(
                Code::UpstreamUnavailable,
                "the server asks what cannot be passed on to a client",
            ));
        }
    };
    Ok(Question { key, kind })
}

//! Relays a server's elicitation requests to the client that made the call, and returns the answers.
//!
//! | server | client of a handshake revision | client of the stateless revision |
//! |---|---|---|
//! | handshake: sends requests during its call | asked over the connection ([`ConnectedRelay`]) | the call is parked until the next round ([`crate::parking`]) |
//! | stateless: ends its call with requests and a state | asked, then the call continues with the state ([`ask_client`]) | the state is sealed and returns with the next round ([`read_continuation`]) |

use async_trait::async_trait;
use contract::{ErrorCode, ToolError};
use link::{CallContinuation, CallerCapabilities, ElicitationResponder};
use runtime::{CallInterruption, ElicitationBroker, ElicitationKind, ElicitationRequest};
use serde_json::{Map, Value, json};

/// Key of the server's state in the carried value.
const STATE_KEY: &str = "state";

pub(crate) fn client_capabilities(broker: &ElicitationBroker) -> CallerCapabilities {
    let runtime::ClientCapabilities { elicitation, sampling, roots, .. } = broker.capabilities();
    CallerCapabilities { elicitation, sampling, roots }
}

/// Relays requests to a client that is connected while the call runs.
pub(crate) struct ConnectedRelay(pub(crate) ElicitationBroker);

#[async_trait]
impl ElicitationResponder for ConnectedRelay {
    async fn respond(&self, method: &str, params: Value) -> Result<Value, String> {
        self.0.relay_request(method, params).await
    }
}

/// Returns the answers and the state for a stateless server that sent requests in the previous round.
pub(crate) fn read_continuation(broker: &ElicitationBroker) -> Option<CallContinuation> {
    let carried = broker.carried_state()?.get(STATE_KEY)?;
    let answers = broker.upstream_answers().into_iter().collect();
    Some(CallContinuation { state: carried.as_str().map(str::to_owned), answers })
}

/// Relays the requests with which a stateless server ended its call. Returns its continuation.
pub(crate) async fn ask_client(
    broker: &ElicitationBroker,
    requests: Map<String, Value>,
    state: Option<String>,
) -> Result<CallContinuation, CallInterruption> {
    let questions = requests
        .into_iter()
        .map(|(key, mut request)| {
            let method = request["method"].as_str().unwrap_or_default().to_owned();
            build_question(key, &method, request["params"].take())
        })
        .collect::<Result<Vec<_>, _>>()?;
    let answers = broker.elicit_with_state(questions, json!({STATE_KEY: state})).await?;
    Ok(CallContinuation { state, answers: answers.into_iter().collect() })
}

/// Builds the question for the client from a server's request. Errors for a method that cannot be relayed.
pub(crate) fn build_question(
    key: String,
    method: &str,
    params: Value,
) -> Result<ElicitationRequest, ToolError> {
    let kind = match method {
        "elicitation/create" => ElicitationKind::RawElicitation(params),
        "sampling/createMessage" => ElicitationKind::Sampling(params),
        "roots/list" => ElicitationKind::Roots,
        _ => {
            return Err(ToolError::new(
                ErrorCode::UpstreamUnavailable,
                "the server sent a request that cannot be relayed to a client",
            ));
        }
    };
    Ok(ElicitationRequest { key, kind })
}

//! Questions to the client: over the connection in the handshake revisions, as input requests since 2026-07-28.

use async_trait::async_trait;
use rmcp::RoleServer;
use rmcp::model::{
    ConstString, CreateMessageRequestMethod, CustomRequest, ElicitationCreateRequestMethod,
    InputRequest, InputRequests, JsonObject, ListRootsRequestMethod, RequestId, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, PeerRequestOptions, RequestHandle};
use serde_json::{Value, json};

use super::view;
use crate::call::{Ask, Question, QuestionKind};

pub(super) struct PeerAsk {
    peer: Peer<RoleServer>,
    /// The request whose call asks. Its own stream takes the question: a client need not have any other open.
    of: RequestId,
}

impl PeerAsk {
    pub(super) fn new(peer: Peer<RoleServer>, of: RequestId) -> Self {
        Self { peer, of }
    }
}

/// A question that is with the client. If nobody waits for the answer any more, the client is told.
struct Open {
    handle: Option<RequestHandle<RoleServer>>,
}

impl Open {
    async fn answer(mut self) -> Result<Value, String> {
        let Some(handle) = &mut self.handle else { return Err("it was withdrawn".to_owned()) };
        let answer = (&mut handle.rx).await;
        self.handle = None;
        let answer = answer.map_err(|_| "the connection has ended".to_owned())?;
        let result = answer.map_err(|error| error.to_string())?;
        serde_json::to_value(result).map_err(|error| error.to_string())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let reason = "nobody waits for the answer any more".to_owned();
            tokio::spawn(async move { handle.cancel(Some(reason)).await });
        }
    }
}

#[async_trait]
impl Ask for PeerAsk {
    async fn ask(&self, question: &Question) -> Result<Value, String> {
        // Not in the SDK's types, which would leave out what they do not know of somebody else's question.
        let (method, params) = wire(question);
        let mut request = CustomRequest::new(method, params);
        request.extensions.insert(OriginatingRequestId(self.of.clone()));
        let request = ServerRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let handle = Some(sent.map_err(|error| error.to_string())?);
        Open { handle }.answer().await
    }
}

/// The questions in the SDK's types; None if these do not hold them as they are.
pub(super) fn requests(questions: &[Question]) -> Option<InputRequests> {
    questions
        .iter()
        .map(|question| {
            let request = input_request(question);
            let typed: InputRequest = serde_json::from_value(request.clone()).ok()?;
            let is_ours = matches!(question.kind, QuestionKind::Form { .. } | QuestionKind::Roots);
            (is_ours || view::is_same(&typed, &request)).then(|| (question.key.clone(), typed))
        })
        .collect()
}

/// The result that puts them to the client, as it goes over the wire.
pub(super) fn result(questions: &[Question], state: String) -> String {
    let requests: JsonObject =
        questions.iter().map(|question| (question.key.clone(), input_request(question))).collect();
    let result = json!({
        "resultType": "input_required",
        "inputRequests": requests,
        "requestState": state,
    });
    result.to_string()
}

/// The question as a request of the protocol.
fn wire(question: &Question) -> (&'static str, Option<Value>) {
    match &question.kind {
        QuestionKind::Form { message, schema } => {
            let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
            (ElicitationCreateRequestMethod::VALUE, Some(params))
        }
        QuestionKind::Elicitation(params) => {
            (ElicitationCreateRequestMethod::VALUE, Some(params.clone()))
        }
        QuestionKind::Sampling(params) => (CreateMessageRequestMethod::VALUE, Some(params.clone())),
        QuestionKind::Roots => (ListRootsRequestMethod::VALUE, None),
    }
}

fn input_request(question: &Question) -> Value {
    let (method, params) = wire(question);
    let mut request = json!({"method": method});
    if let Some(params) = params {
        request["params"] = params;
    }
    request
}

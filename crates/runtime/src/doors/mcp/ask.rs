//! Questions to the client: over the connection in the handshake revisions, as input requests since 2026-07-28.

use async_trait::async_trait;
use rmcp::RoleServer;
use rmcp::model::{
    ConstString, CreateMessageRequestMethod, CustomRequest, ElicitationCreateRequestMethod,
    InputRequest, InputRequests, JsonObject, ListRootsRequestMethod, ServerRequest,
};
use rmcp::service::Peer;
use serde_json::{Value, json};

use super::view;
use crate::call::{Ask, Question, QuestionKind};

pub(super) struct PeerAsk {
    peer: Peer<RoleServer>,
}

impl PeerAsk {
    pub(super) fn new(peer: Peer<RoleServer>) -> Self {
        Self { peer }
    }
}

#[async_trait]
impl Ask for PeerAsk {
    async fn ask(&self, question: &Question) -> Result<Value, String> {
        // Not in the SDK's types, which would leave out what they do not know of somebody else's question.
        let (method, params) = wire(question);
        let request = ServerRequest::CustomRequest(CustomRequest::new(method, params));
        let result = self.peer.send_request(request).await.map_err(|error| error.to_string())?;
        serde_json::to_value(result).map_err(|error| error.to_string())
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

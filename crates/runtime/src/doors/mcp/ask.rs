//! Questions to the client: over the connection in the handshake revisions, as input requests since 2026-07-28.

#![expect(
    deprecated,
    reason = "sampling and roots are on their way out, but a relayed question may still be one"
)]

use async_trait::async_trait;
use rmcp::RoleServer;
use rmcp::model::{
    CreateMessageRequest, ElicitRequest, ErrorData, InputRequest, InputRequests, ListRootsRequest,
    ServerRequest,
};
use rmcp::service::Peer;
use serde_json::{Value, json};

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
        let request = match input_request(question).map_err(|error| error.message.to_string())? {
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            _ => return Err("the client cannot be asked that".into()),
        };
        let result = self.peer.send_request(request).await.map_err(|error| error.to_string())?;
        serde_json::to_value(result).map_err(|error| error.to_string())
    }
}

pub(super) fn requests(questions: &[Question]) -> Result<InputRequests, ErrorData> {
    questions.iter().map(|question| Ok((question.key.clone(), input_request(question)?))).collect()
}

fn input_request(question: &Question) -> Result<InputRequest, ErrorData> {
    let unfit = |error: serde_json::Error| {
        tracing::error!(%error, question = question.key, "a question does not fit the protocol");
        ErrorData::internal_error("a question could not be put to the client", None)
    };
    Ok(match &question.kind {
        QuestionKind::Form { message, schema } => {
            let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
            let params = serde_json::from_value(params).map_err(unfit)?;
            InputRequest::Elicitation(ElicitRequest::new(params))
        }
        QuestionKind::Sampling(params) => {
            let params = serde_json::from_value(params.clone()).map_err(unfit)?;
            InputRequest::CreateMessage(CreateMessageRequest::new(params))
        }
        QuestionKind::Roots => InputRequest::ListRoots(ListRootsRequest::default()),
    })
}

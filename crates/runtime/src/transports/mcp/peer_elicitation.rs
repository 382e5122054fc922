//! Sends elicitations to the client: over the connection in the handshake revisions, as input requests since
//! 2026-07-28.

use async_trait::async_trait;
use rmcp::RoleServer;
use rmcp::model::{
    ConstString, CreateMessageRequestMethod, CustomRequest, ElicitationCreateRequestMethod,
    InputRequest, InputRequests, JsonObject, ListRootsRequestMethod, RequestId, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, PeerRequestOptions, RequestHandle};
use serde_json::{Value, json};

use super::convert;
use crate::call::{ElicitationHandler, ElicitationKind, ElicitationRequest};

/// Sends elicitations to the connected client of one call.
pub(super) struct PeerElicitationHandler {
    peer: Peer<RoleServer>,
    /// The request that started the call. The elicitation is sent on its stream, because the client may have no other
    /// open.
    origin: RequestId,
}

impl PeerElicitationHandler {
    pub(super) fn new(peer: Peer<RoleServer>, origin: RequestId) -> Self {
        Self { peer, origin }
    }
}

/// An elicitation sent to the client. Dropping it before the answer arrives sends a cancellation to the client.
struct OpenElicitation {
    handle: Option<RequestHandle<RoleServer>>,
}

impl OpenElicitation {
    /// Waits for the answer and returns the client's result object.
    async fn wait_for_answer(mut self) -> Result<Value, String> {
        let Some(handle) = &mut self.handle else { return Err("elicitation withdrawn".to_owned()) };
        let answer = (&mut handle.rx).await;
        self.handle = None;
        let answer = answer.map_err(|_| "connection closed".to_owned())?;
        let result = answer.map_err(|error| error.to_string())?;
        serde_json::to_value(result).map_err(|error| error.to_string())
    }
}

impl Drop for OpenElicitation {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            let reason = "the answer is no longer needed".to_owned();
            tokio::spawn(async move { handle.cancel(Some(reason)).await });
        }
    }
}

#[async_trait]
impl ElicitationHandler for PeerElicitationHandler {
    async fn elicit(&self, elicitation: &ElicitationRequest) -> Result<Value, String> {
        // Not the SDK's types: they would drop unknown fields of an upstream server's elicitation.
        let (method, params) = to_method_and_params(elicitation);
        let mut request = CustomRequest::new(method, params);
        request.extensions.insert(OriginatingRequestId(self.origin.clone()));
        let request = ServerRequest::CustomRequest(request);
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let handle = Some(sent.map_err(|error| error.to_string())?);
        OpenElicitation { handle }.wait_for_answer().await
    }
}

/// Returns the elicitations in the SDK's types, or `None` if these cannot represent them without loss.
pub(super) fn to_input_requests(elicitations: &[ElicitationRequest]) -> Option<InputRequests> {
    elicitations
        .iter()
        .map(|elicitation| {
            let request = to_input_request_json(elicitation);
            let typed: InputRequest = serde_json::from_value(request.clone()).ok()?;
            let is_ours =
                matches!(elicitation.kind, ElicitationKind::Form { .. } | ElicitationKind::Roots);
            (is_ours || convert::has_same_json(&typed, &request))
                .then(|| (elicitation.key.clone(), typed))
        })
        .collect()
}

/// Returns the JSON text of the result that sends the elicitations to the client.
pub(super) fn input_required_json(elicitations: &[ElicitationRequest], state: String) -> String {
    let requests: JsonObject = elicitations
        .iter()
        .map(|elicitation| (elicitation.key.clone(), to_input_request_json(elicitation)))
        .collect();
    let result = json!({
        "resultType": "input_required",
        "inputRequests": requests,
        "requestState": state,
    });
    result.to_string()
}

/// Returns the elicitation as method and parameters of the protocol.
fn to_method_and_params(elicitation: &ElicitationRequest) -> (&'static str, Option<Value>) {
    match &elicitation.kind {
        ElicitationKind::Form { message, schema } => {
            let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
            (ElicitationCreateRequestMethod::VALUE, Some(params))
        }
        ElicitationKind::RawElicitation(params) => {
            (ElicitationCreateRequestMethod::VALUE, Some(params.clone()))
        }
        ElicitationKind::Sampling(params) => {
            (CreateMessageRequestMethod::VALUE, Some(params.clone()))
        }
        ElicitationKind::Roots => (ListRootsRequestMethod::VALUE, None),
    }
}

fn to_input_request_json(elicitation: &ElicitationRequest) -> Value {
    let (method, params) = to_method_and_params(elicitation);
    let mut request = json!({"method": method});
    if let Some(params) = params {
        request["params"] = params;
    }
    request
}

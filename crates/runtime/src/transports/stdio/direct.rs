//! Runs plain tool calls without the SDK, see [`DirectCall`].
//!
//! [`DirectCalls`] sees every message before the SDK. It learns from the handshake who the client is, and from notifications
//! which calls are cancelled.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::RxJsonRpcMessage;
use tokio_util::sync::CancellationToken;

use super::super::mcp::{DirectAnswer, DirectCall, DirectClient, DirectRun, McpService};

/// The calls of a connection that the SDK does not see. Dropping it cancels them.
pub(super) struct DirectCalls {
    service: McpService,
    handshake: Handshake,
    open: OpenCalls,
}

type OpenCalls = Arc<Mutex<HashMap<RequestId, CancellationToken>>>;

/// What is known about the client.
enum Handshake {
    /// Every request names the client itself (2026-07-28), or the handshake is still to come.
    None,
    Started(Option<DirectClient>),
    Done(DirectClient),
    /// Only the SDK can answer the calls of this client.
    Unusual,
}

/// A call that is ready to run.
pub(super) struct OpenCall {
    id: RequestId,
    run: DirectRun,
    open: OpenCalls,
}

impl DirectCalls {
    pub(super) fn new(service: McpService) -> Self {
        Self { service, handshake: Handshake::None, open: OpenCalls::default() }
    }

    /// Returns the call in a line, or `None` if the SDK is to read the line. The session must have begun.
    pub(super) fn prepare(&self, line: &[u8]) -> Option<OpenCall> {
        if matches!(self.handshake, Handshake::Unusual | Handshake::Started(_)) {
            return None;
        }
        let call = DirectCall::parse(line)?;
        let id = call.id().clone();
        let run = match &self.handshake {
            Handshake::Done(client) if call.belongs_to_session() => {
                self.service.record_activity();
                self.service.prepare_local(call, client)?
            }
            Handshake::None => {
                let client = call.stateless_client()?;
                self.service.prepare_local(call, &client)?
            }
            _ => return None,
        };
        self.open.lock().insert(id.clone(), run.cancel.clone());
        Some(OpenCall { id, run, open: Arc::clone(&self.open) })
    }

    /// Records a message for the SDK.
    pub(super) fn observe(&mut self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => {
                if let ClientRequest::InitializeRequest(request) = &request.request {
                    self.handshake = match self.handshake {
                        Handshake::None => {
                            Handshake::Started(DirectClient::from_handshake(&request.params))
                        }
                        _ => Handshake::Unusual,
                    };
                }
            }
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ClientNotification::InitializedNotification(_) => {
                    if let Handshake::Started(client) = &mut self.handshake {
                        let client = client.take();
                        self.handshake = client.map_or(Handshake::Unusual, Handshake::Done);
                    }
                }
                ClientNotification::CancelledNotification(cancelled) => {
                    let id = cancelled.params.request_id.as_ref();
                    let open = self.open.lock();
                    if let Some(cancel) = id.and_then(|id| open.get(id)) {
                        cancel.cancel();
                    }
                }
                _ => {}
            },
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }
}

impl Drop for DirectCalls {
    fn drop(&mut self) {
        for cancel in self.open.lock().values() {
            cancel.cancel();
        }
    }
}

impl OpenCall {
    pub(super) fn id(&self) -> &RequestId {
        &self.id
    }

    /// Runs the call. Returns its answer, unless it was cancelled.
    pub(super) async fn finish(self) -> Option<Vec<u8>> {
        let Self { id, run: DirectRun { answer, cancel }, open } = self;
        let DirectAnswer { message, .. } = answer.await;
        open.lock().remove(&id);
        (!cancel.is_cancelled()).then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use contract::Caller;
    use serde_json::{Value, json};
    use store::audit::{AuditKeyLocation, AuditLog, AuditOptions};
    use store::{SqliteStore, StateDir};

    use super::*;
    use crate::transports::mcp::ServerIdentity;
    use crate::{Catalog, Pipeline, PipelineOptions};

    async fn direct_calls() -> DirectCalls {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        let keys = AuditKeyLocation::new(folder.path().join("keys"));
        let audit = AuditLog::open(state.audit_log_path(), &AuditOptions::new(keys)).unwrap();
        let store = Arc::new(SqliteStore::open(&state).unwrap());
        let (catalog, options) = (Catalog::default(), PipelineOptions::default());
        let pipeline = Pipeline::new(catalog, store, audit, options).await.unwrap();
        let identity = ServerIdentity { name: "t".into(), version: "1".into(), instructions: None };
        DirectCalls::new(McpService::new(pipeline, identity, Caller::new("stdio")))
    }

    fn observe(calls: &mut DirectCalls, message: Value) {
        calls.observe(&serde_json::from_value(message).unwrap());
    }

    fn initialize(calls: &mut DirectCalls, version: &str, capabilities: Value) {
        let client = json!({"name": "t", "version": "1"});
        let params =
            json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        observe(calls, hello);
    }

    fn finish_handshake(calls: &mut DirectCalls) {
        observe(calls, json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    fn cancel(calls: &mut DirectCalls, id: Value) {
        let params = json!({"requestId": id});
        observe(
            calls,
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
    }

    fn prepare(calls: &DirectCalls, meta: Value) -> Option<OpenCall> {
        let params = json!({"name": "t", "arguments": {}, "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        calls.prepare(call.to_string().as_bytes())
    }

    fn stateless_meta() -> Value {
        json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}})
    }

    #[tokio::test]
    async fn runs_calls_of_clients_that_cannot_be_asked() {
        let mut calls = direct_calls().await;
        assert!(prepare(&calls, json!({})).is_none(), "the client is unknown");
        assert!(prepare(&calls, stateless_meta()).is_some());
        initialize(&mut calls, "2025-11-25", json!({"experimental": {}}));
        assert!(prepare(&calls, json!({})).is_none(), "the handshake is not finished");
        assert!(prepare(&calls, stateless_meta()).is_none());
        finish_handshake(&mut calls);
        let answer = prepare(&calls, json!({})).unwrap().finish().await.unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["error"]["message"], "Unknown tool: t");
        assert!(prepare(&calls, stateless_meta()).is_none());
        assert!(prepare(&calls, json!({"progressToken": 1})).is_none());
        // Another handshake may change what is known about the client.
        initialize(&mut calls, "2025-11-25", json!({}));
        finish_handshake(&mut calls);
        assert!(prepare(&calls, json!({})).is_none());
    }

    #[tokio::test]
    async fn leaves_clients_that_can_be_asked_to_the_sdk() {
        for (version, capabilities) in [
            ("2025-11-25", json!({"elicitation": {}})),
            ("2025-11-25", json!({"sampling": {}})),
            ("2025-11-25", json!({"roots": {}})),
            ("2026-07-28", json!({})),
        ] {
            let mut calls = direct_calls().await;
            initialize(&mut calls, version, capabilities.clone());
            finish_handshake(&mut calls);
            assert!(prepare(&calls, json!({})).is_none(), "{version} {capabilities}");
        }
    }

    #[tokio::test]
    async fn cancelled_call_has_no_answer() {
        let mut calls = direct_calls().await;
        let call = prepare(&calls, stateless_meta()).unwrap();
        cancel(&mut calls, json!("1"));
        cancel(&mut calls, json!(2));
        assert!(!call.run.cancel.is_cancelled());
        cancel(&mut calls, json!(1));
        assert!(call.run.cancel.is_cancelled());
        assert!(call.finish().await.is_none());
        let call = prepare(&calls, stateless_meta()).unwrap();
        let token = call.run.cancel.clone();
        drop(calls);
        assert!(token.is_cancelled());
    }
}

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
use super::pending_requests::PendingRequests;

/// The calls of a connection that the SDK does not see. Dropping it cancels them.
pub(super) struct DirectCalls {
    service: McpService,
    lifecycle: Lifecycle,
    pending: Arc<PendingRequests>,
    open: OpenCalls,
}

type OpenCalls = Arc<Mutex<HashMap<RequestId, CancellationToken>>>;

/// What is known about the client.
enum Lifecycle {
    /// The first request is still to come.
    Unknown,
    /// Every request names the client itself (2026-07-28).
    Stateless,
    HandshakeStarted(Option<DirectClient>),
    HandshakeDone(DirectClient),
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
    pub(super) fn new(service: McpService, pending: Arc<PendingRequests>) -> Self {
        Self { service, lifecycle: Lifecycle::Unknown, pending, open: OpenCalls::default() }
    }

    /// Returns the call in a line, or `None` if the SDK is to read the line. The session must have begun.
    pub(super) fn prepare(&self, line: &[u8]) -> Option<OpenCall> {
        if !matches!(self.lifecycle, Lifecycle::Stateless | Lifecycle::HandshakeDone(_)) {
            return None;
        }
        let call = DirectCall::parse(line)?;
        let id = call.id().clone();
        let run = match &self.lifecycle {
            Lifecycle::HandshakeDone(client) if call.belongs_to_session() => {
                self.service.prepare_local(call, client)?
            }
            Lifecycle::Stateless => {
                let client = call.stateless_client()?;
                self.service.prepare_local(call, &client)?
            }
            _ => return None,
        };
        let mut open = self.open.lock();
        // The SDK decides about an id that is in use.
        if open.contains_key(&id) || !self.pending.record_call(&id) {
            return None;
        }
        open.insert(id.clone(), run.cancel.clone());
        drop(open);
        self.service.record_activity();
        Some(OpenCall { id, run, open: Arc::clone(&self.open) })
    }

    /// Records a message for the SDK.
    pub(super) fn observe(&mut self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => self.observe_request(&request.request),
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ClientNotification::InitializedNotification(_) => {
                    if let Lifecycle::HandshakeStarted(client) = &mut self.lifecycle {
                        let client = client.take();
                        self.lifecycle =
                            client.map_or(Lifecycle::Unusual, Lifecycle::HandshakeDone);
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

    fn observe_request(&mut self, request: &ClientRequest) {
        self.lifecycle = match (&self.lifecycle, request) {
            (Lifecycle::Unknown, ClientRequest::InitializeRequest(request)) => {
                Lifecycle::HandshakeStarted(DirectClient::from_handshake(&request.params))
            }
            (_, ClientRequest::InitializeRequest(_)) => Lifecycle::Unusual,
            // A handshake may follow.
            (_, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)) => return,
            (Lifecycle::Unknown, _) => Lifecycle::Stateless,
            _ => return,
        };
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
        let service = McpService::new(pipeline, identity, Caller::new("stdio"));
        DirectCalls::new(service, Arc::default())
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

    fn list_tools(calls: &mut DirectCalls) {
        let params = json!({"_meta": stateless_meta()});
        observe(
            calls,
            json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": params}),
        );
    }

    /// Prepares a call with an id of its own.
    fn prepare(calls: &DirectCalls, meta: Value) -> Option<OpenCall> {
        let id = calls.open.lock().len();
        prepare_with_id(calls, json!(id), meta)
    }

    fn prepare_with_id(calls: &DirectCalls, id: Value, meta: Value) -> Option<OpenCall> {
        let params = json!({"name": "t", "arguments": {}, "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        calls.prepare(call.to_string().as_bytes())
    }

    fn stateless_meta() -> Value {
        json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}})
    }

    #[tokio::test]
    async fn runs_calls_of_clients_that_cannot_be_asked() {
        let mut calls = direct_calls().await;
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
    async fn session_without_handshake_stays_so() {
        let mut calls = direct_calls().await;
        for method in ["ping", "server/discover"] {
            let params = json!({"_meta": stateless_meta()});
            observe(
                &mut calls,
                json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}),
            );
            assert!(prepare(&calls, stateless_meta()).is_none(), "a handshake may follow");
        }
        list_tools(&mut calls);
        assert!(prepare(&calls, stateless_meta()).is_some());
        assert!(prepare(&calls, json!({})).is_none(), "the client is unknown");
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
    async fn leaves_ids_in_use_to_the_sdk() {
        let mut calls = direct_calls().await;
        list_tools(&mut calls);
        let call = prepare_with_id(&calls, json!(1), stateless_meta()).unwrap();
        assert!(prepare_with_id(&calls, json!(1), stateless_meta()).is_none());
        // Until it has finished, also if it is cancelled.
        cancel(&mut calls, json!(1));
        assert!(prepare_with_id(&calls, json!(1), stateless_meta()).is_none());
        assert!(call.finish().await.is_none());
        // A request that the SDK has not answered.
        let request = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        calls.pending.record_received(&serde_json::from_value(request).unwrap());
        assert!(prepare_with_id(&calls, json!(2), stateless_meta()).is_none());
        assert!(prepare_with_id(&calls, json!("2"), stateless_meta()).is_some());
    }

    #[tokio::test]
    async fn cancelled_call_has_no_answer() {
        let mut calls = direct_calls().await;
        list_tools(&mut calls);
        let call = prepare_with_id(&calls, json!(1), stateless_meta()).unwrap();
        cancel(&mut calls, json!("1"));
        cancel(&mut calls, json!(2));
        assert!(!call.run.cancel.is_cancelled());
        cancel(&mut calls, json!(1));
        assert!(call.run.cancel.is_cancelled());
        assert!(call.finish().await.is_none());
        let call = prepare_with_id(&calls, json!(3), stateless_meta()).unwrap();
        let token = call.run.cancel.clone();
        drop(calls);
        assert!(token.is_cancelled());
    }
}

//! Handles messages as a strict server of both eras: methods, versions, elicitation, cancellation.
//!
//! A [`PeerConnection`] holds the state of a peer: the stdio connection, an HTTP session, or a single request of the
//! stateless era. The tools themselves are in [`crate::tools`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::args::AdversaryEra;
use crate::messages::{MessageSender, RpcError, RpcReply};
use crate::shared_state::SharedState;
use crate::tool_list;
use crate::tools::{self, ToolInvocation};

pub(crate) const STATELESS_VERSION: &str = "2026-07-28";
const HANDSHAKE_VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const META_PREFIX: &str = "io.modelcontextprotocol/";

/// The state of one peer.
#[derive(Debug)]
pub(crate) struct PeerConnection {
    pub(crate) shared: Arc<SharedState>,
    /// The client's capabilities, set by `initialize`.
    client_capabilities: Mutex<Option<Value>>,
    /// Requests to the client that are not answered yet, by id.
    pending_requests: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    running: Mutex<HashMap<String, RunningRequest>>,
    /// The number of the next request to the client.
    next_request: AtomicU64,
}

/// A request that is being answered.
#[derive(Debug)]
struct RunningRequest {
    id: Value,
    is_call: bool,
    token: CancellationToken,
}

impl PeerConnection {
    pub(crate) fn new(shared: Arc<SharedState>) -> Self {
        Self {
            shared,
            client_capabilities: Mutex::default(),
            pending_requests: Mutex::default(),
            running: Mutex::default(),
            next_request: AtomicU64::new(1),
        }
    }

    /// Handles a message. Requests are answered concurrently; `out` is dropped after the last message.
    pub(crate) fn handle_message(self: Arc<Self>, message: Value, out: MessageSender) {
        let method = message["method"].as_str().map(str::to_owned);
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        match (method, id) {
            (Some(method), Some(id)) => {
                let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
                let running = RunningRequest {
                    id: id.clone(),
                    is_call: method == "tools/call",
                    token: CancellationToken::new(),
                };
                let token = running.token.clone();
                // Registered before the next message is read, because that one may cancel it.
                self.running.lock().insert(id.to_string(), running);
                tokio::spawn(async move {
                    let reply = self.clone().answer_request(method, &id, params, token, &out).await;
                    self.running.lock().remove(&id.to_string());
                    out.send_reply(&id, &reply);
                });
            }
            (Some(method), None) if method == "notifications/cancelled" => {
                let key = message["params"]["requestId"].to_string();
                if let Some(running) = self.running.lock().get(&key) {
                    running.token.cancel();
                }
            }
            (None, Some(id)) => {
                let response = self.pending_requests.lock().remove(&id.to_string());
                // A response to an unknown or abandoned request is dropped.
                response.map(|response| response.send(message));
            }
            _ => {}
        }
    }

    async fn answer_request(
        self: Arc<Self>,
        method: String,
        id: &Value,
        params: Value,
        token: CancellationToken,
        out: &MessageSender,
    ) -> RpcReply {
        self.shared.wait_until_ready().await;
        let era = detect_era(&method, &params);
        let reply = match self.check_request(&method, &params, era) {
            Some(error) => error.into(),
            None if method == "tools/call" => {
                let (connection, id, out) = (self, id.clone(), out.clone());
                tools::run_tool(&ToolInvocation { connection, id, params, era, token, out }).await
            }
            None if method == "subscriptions/listen" && era == AdversaryEra::Stateless => {
                self.serve_subscription(id, &token, out).await
            }
            None => self.answer_method(&method, &params, era),
        };
        reply.for_era(era)
    }

    /// Returns an error if the era is not offered, the version is wrong or the handshake is missing.
    fn check_request(&self, method: &str, params: &Value, era: AdversaryEra) -> Option<RpcError> {
        if !self.shared.args.era.includes(era) {
            return Some(match era {
                AdversaryEra::Stateless => {
                    RpcError::new(-32601, format!("method not found: {method}"))
                }
                _ => unsupported_version(&params["protocolVersion"]),
            });
        }
        if era == AdversaryEra::Stateless {
            let version = &params["_meta"][format!("{META_PREFIX}protocolVersion")];
            if version != STATELESS_VERSION {
                return Some(unsupported_version(version));
            }
            if !params["_meta"][format!("{META_PREFIX}clientCapabilities")].is_object() {
                return Some(RpcError::new(-32602, "no clientCapabilities in _meta"));
            }
        } else if method != "initialize"
            && method != "ping"
            && self.client_capabilities.lock().is_none()
        {
            return Some(RpcError::new(-32600, "not initialized"));
        }
        None
    }

    /// Returns the reply to every method except `tools/call` and `subscriptions/listen`.
    fn answer_method(&self, method: &str, params: &Value, era: AdversaryEra) -> RpcReply {
        let info = json!({"name": "adversary", "version": env!("CARGO_PKG_VERSION")});
        let capabilities = json!({"tools": {"listChanged": true}});
        match method {
            "initialize" => {
                *self.client_capabilities.lock() = Some(params["capabilities"].clone());
                let wanted = params["protocolVersion"].as_str().unwrap_or_default();
                let version = HANDSHAKE_VERSIONS
                    .iter()
                    .find(|known| **known == wanted)
                    .unwrap_or(&HANDSHAKE_VERSIONS[0]);
                json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}).into()
            }
            "ping" if era == AdversaryEra::Handshake => json!({}).into(),
            "server/discover" => json!({
                "supportedVersions": self.supported_versions(),
                "capabilities": capabilities,
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {(format!("{META_PREFIX}serverInfo")): info},
            })
            .into(),
            "tools/list" => match tool_list::list_page(&self.shared, params["cursor"].as_str()) {
                Some(mut page) => {
                    if era == AdversaryEra::Stateless {
                        page["ttlMs"] = json!(0);
                        page["cacheScope"] = json!("private");
                    }
                    page.into()
                }
                None => RpcError::new(-32602, "unknown cursor").into(),
            },
            _ => RpcError::new(-32601, format!("method not found: {method}")).into(),
        }
    }

    fn supported_versions(&self) -> Vec<&'static str> {
        let handshakes =
            self.shared.args.era.includes(AdversaryEra::Handshake).then_some(HANDSHAKE_VERSIONS);
        [STATELESS_VERSION]
            .into_iter()
            .chain(handshakes.unwrap_or_default().iter().copied())
            .collect()
    }

    /// Sends a request to the client in the handshake era and returns the response.
    pub(crate) async fn send_request(
        &self,
        out: &MessageSender,
        method: &str,
        params: &Value,
    ) -> Option<Value> {
        let id = format!("question-{}", self.next_request.fetch_add(1, Ordering::Relaxed));
        let (sender, response) = oneshot::channel();
        self.pending_requests.lock().insert(json!(id).to_string(), sender);
        out.send_line(
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        response.await.ok()
    }

    /// Returns the client's capabilities, from `initialize` or from the request itself.
    pub(crate) fn capabilities(&self, params: &Value, era: AdversaryEra) -> Value {
        match era {
            AdversaryEra::Stateless => {
                params["_meta"][format!("{META_PREFIX}clientCapabilities")].clone()
            }
            _ => self.client_capabilities.lock().clone().unwrap_or_default(),
        }
    }

    /// Returns the id of another tool call that is not answered yet.
    pub(crate) fn another_call(&self, id: &Value) -> Option<Value> {
        let running = self.running.lock();
        let mut calls = running.values().filter(|other| other.is_call && other.id != *id);
        calls.next().map(|other| other.id.clone())
    }

    /// Notifies a handshake client of changed lists until `out` is closed.
    pub(crate) fn notify_changes(self: &Arc<Self>, out: MessageSender) {
        let (connection, mut changes) = (self.clone(), self.shared.subscribe_changes());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    change = changes.recv() => if change.is_err() { break },
                    () = out.closed() => break,
                }
                if connection.client_capabilities.lock().is_some() {
                    out.send_notification("notifications/tools/list_changed", &json!({}));
                }
            }
        });
    }

    /// Serves `subscriptions/listen`: notifies the client of changed lists until the request ends.
    async fn serve_subscription(
        &self,
        id: &Value,
        token: &CancellationToken,
        out: &MessageSender,
    ) -> RpcReply {
        let mut changes = self.shared.subscribe_changes();
        let meta = json!({(format!("{META_PREFIX}subscriptionId")): id});
        let accepted = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
        out.send_notification("notifications/subscriptions/acknowledged", &accepted);
        loop {
            tokio::select! {
                change = changes.recv() => if change.is_err() { break },
                () = token.cancelled() => break,
                () = out.closed() => break,
            }
            out.send_notification("notifications/tools/list_changed", &json!({"_meta": meta}));
        }
        RpcReply::NoResponse
    }
}

fn unsupported_version(requested: &Value) -> RpcError {
    RpcError::new(-32022, "Unsupported protocol version")
        .with_data(json!({"supported": [STATELESS_VERSION], "requested": requested}))
}

/// Returns the era of a request: stateless if `_meta` has a version or the method exists only in that era.
pub(crate) fn detect_era(method: &str, params: &Value) -> AdversaryEra {
    let has_version = params["_meta"].get(format!("{META_PREFIX}protocolVersion")).is_some();
    if has_version || matches!(method, "server/discover" | "subscriptions/listen") {
        AdversaryEra::Stateless
    } else {
        AdversaryEra::Handshake
    }
}

//! What a strict server of both eras does with a message: methods, versions, questions, cancellation.
//!
//! A [`Line`] is what a server remembers of a peer: the stdio connection, an HTTP session, or a single request of the
//! stateless era. The tools themselves are in [`crate::acts`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::acts::{self, Call};
use crate::args::Era;
use crate::offer;
use crate::wire::{Outbox, Refusal, Reply};
use crate::world::World;

pub(crate) const STATELESS: &str = "2026-07-28";
const HANDSHAKES: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const META: &str = "io.modelcontextprotocol/";

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) world: Arc<World>,
    /// The client's capabilities, once it has said `initialize`.
    greeted: Mutex<Option<Value>>,
    asked: Mutex<HashMap<String, oneshot::Sender<Value>>>,
    running: Mutex<HashMap<String, Running>>,
    questions: AtomicU64,
}

#[derive(Debug)]
struct Running {
    id: Value,
    is_call: bool,
    token: CancellationToken,
}

impl Line {
    pub(crate) fn new(world: Arc<World>) -> Self {
        Self {
            world,
            greeted: Mutex::default(),
            asked: Mutex::default(),
            running: Mutex::default(),
            questions: AtomicU64::new(1),
        }
    }

    /// Takes a message in. Requests are answered later and side by side; `out` is let go when all is said.
    pub(crate) fn receive(self: Arc<Self>, message: Value, out: Outbox) {
        let method = message["method"].as_str().map(str::to_owned);
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        match (method, id) {
            (Some(method), Some(id)) => {
                let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
                let running = Running {
                    id: id.clone(),
                    is_call: method == "tools/call",
                    token: CancellationToken::new(),
                };
                let token = running.token.clone();
                // Known before the next message is looked at, which may cancel it.
                self.running.lock().insert(id.to_string(), running);
                tokio::spawn(async move {
                    let reply = self.clone().answer(method, &id, params, token, &out).await;
                    self.running.lock().remove(&id.to_string());
                    out.answer(&id, &reply);
                });
            }
            (Some(method), None) if method == "notifications/cancelled" => {
                let key = message["params"]["requestId"].to_string();
                if let Some(running) = self.running.lock().get(&key) {
                    running.token.cancel();
                }
            }
            (None, Some(id)) => {
                let question = self.asked.lock().remove(&id.to_string());
                // An answer to a question that nobody asked, or that nobody waits for any more, is dropped.
                question.map(|question| question.send(message));
            }
            _ => {}
        }
    }

    async fn answer(
        self: Arc<Self>,
        method: String,
        id: &Value,
        params: Value,
        token: CancellationToken,
        out: &Outbox,
    ) -> Reply {
        self.world.awake().await;
        let era = era_of(&method, &params);
        let reply = match self.refuse(&method, &params, era) {
            Some(refusal) => refusal.into(),
            None if method == "tools/call" => {
                let (line, id, out) = (self, id.clone(), out.clone());
                acts::act(&Call { line, id, params, era, token, out }).await
            }
            None if method == "subscriptions/listen" && era == Era::Stateless => {
                self.listen(id, &token, out).await
            }
            None => self.plain(&method, &params, era),
        };
        reply.in_era(era)
    }

    fn refuse(&self, method: &str, params: &Value, era: Era) -> Option<Refusal> {
        if !self.world.args.era.offers(era) {
            return Some(match era {
                Era::Stateless => Refusal::new(-32601, format!("method not found: {method}")),
                _ => unsupported(&params["protocolVersion"]),
            });
        }
        if era == Era::Stateless {
            let version = &params["_meta"][format!("{META}protocolVersion")];
            if version != STATELESS {
                return Some(unsupported(version));
            }
            if !params["_meta"][format!("{META}clientCapabilities")].is_object() {
                return Some(Refusal::new(-32602, "no clientCapabilities in _meta"));
            }
        } else if method != "initialize" && method != "ping" && self.greeted.lock().is_none() {
            return Some(Refusal::new(-32600, "not initialized"));
        }
        None
    }

    fn plain(&self, method: &str, params: &Value, era: Era) -> Reply {
        let info = json!({"name": "adversary", "version": env!("CARGO_PKG_VERSION")});
        let capabilities = json!({"tools": {"listChanged": true}});
        match method {
            "initialize" => {
                *self.greeted.lock() = Some(params["capabilities"].clone());
                let wanted = params["protocolVersion"].as_str().unwrap_or_default();
                let version =
                    HANDSHAKES.iter().find(|known| **known == wanted).unwrap_or(&HANDSHAKES[0]);
                json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}).into()
            }
            "ping" if era == Era::Handshake => json!({}).into(),
            "server/discover" => json!({
                "supportedVersions": self.versions(),
                "capabilities": capabilities,
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {(format!("{META}serverInfo")): info},
            })
            .into(),
            "tools/list" => match offer::page(&self.world, params["cursor"].as_str()) {
                Some(mut page) => {
                    if era == Era::Stateless {
                        page["ttlMs"] = json!(0);
                        page["cacheScope"] = json!("private");
                    }
                    page.into()
                }
                None => Refusal::new(-32602, "unknown cursor").into(),
            },
            _ => Refusal::new(-32601, format!("method not found: {method}")).into(),
        }
    }

    fn versions(&self) -> Vec<&'static str> {
        let handshakes = self.world.args.era.offers(Era::Handshake).then_some(HANDSHAKES);
        [STATELESS].into_iter().chain(handshakes.unwrap_or_default().iter().copied()).collect()
    }

    /// Asks the client something in the handshake era, and waits for what it says.
    pub(crate) async fn ask(&self, out: &Outbox, method: &str, params: &Value) -> Option<Value> {
        let id = format!("question-{}", self.questions.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        self.asked.lock().insert(json!(id).to_string(), answer);
        out.say(
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        answered.await.ok()
    }

    /// What the client can do: said once, or with each request.
    pub(crate) fn capabilities(&self, params: &Value, era: Era) -> Value {
        match era {
            Era::Stateless => params["_meta"][format!("{META}clientCapabilities")].clone(),
            _ => self.greeted.lock().clone().unwrap_or_default(),
        }
    }

    /// The id of some other call that is not answered yet.
    pub(crate) fn another(&self, id: &Value) -> Option<Value> {
        let running = self.running.lock();
        let mut calls = running.values().filter(|other| other.is_call && other.id != *id);
        calls.next().map(|other| other.id.clone())
    }

    /// Tells a handshake client of changed lists, for as long as somebody reads.
    pub(crate) fn tell_changes(self: &Arc<Self>, out: Outbox) {
        let (line, mut changes) = (self.clone(), self.world.changes());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    change = changes.recv() => if change.is_err() { break },
                    () = out.closed() => break,
                }
                if line.greeted.lock().is_some() {
                    out.notify("notifications/tools/list_changed", &json!({}));
                }
            }
        });
    }

    async fn listen(&self, id: &Value, token: &CancellationToken, out: &Outbox) -> Reply {
        let mut changes = self.world.changes();
        let meta = json!({(format!("{META}subscriptionId")): id});
        let accepted = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
        out.notify("notifications/subscriptions/acknowledged", &accepted);
        loop {
            tokio::select! {
                change = changes.recv() => if change.is_err() { break },
                () = token.cancelled() => break,
                () = out.closed() => break,
            }
            out.notify("notifications/tools/list_changed", &json!({"_meta": meta}));
        }
        Reply::Nothing
    }
}

fn unsupported(requested: &Value) -> Refusal {
    Refusal::new(-32022, "Unsupported protocol version")
        .with_data(json!({"supported": [STATELESS], "requested": requested}))
}

/// A request with its version in `_meta` is stateless, and so are methods that only that era has.
pub(crate) fn era_of(method: &str, params: &Value) -> Era {
    let has_version = params["_meta"].get(format!("{META}protocolVersion")).is_some();
    if has_version || matches!(method, "server/discover" | "subscriptions/listen") {
        Era::Stateless
    } else {
        Era::Handshake
    }
}

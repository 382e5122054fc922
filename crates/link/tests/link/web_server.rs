//! A scripted HTTP server. It runs in its own thread and runtime, so that stopping it closes every connection.

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::StreamExt;
use link::{Connection, HttpEndpoint, Options, UpstreamEndpoint};
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc, oneshot};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServerKind {
    Stateless,
    /// Does not respond to the first request, and rejects the handshake.
    StatelessSlow,
    /// Rejects the first request with an unsupported revision error.
    StatelessReluctant,
    Handshake,
    /// Reports an unknown session with 400, like the TypeScript examples.
    HandshakeBadRequest,
    /// Responds to unknown requests with 500.
    HandshakeFailing,
    Sse,
}

impl ServerKind {
    fn is_stateless(self) -> bool {
        matches!(self, Self::Stateless | Self::StatelessSlow | Self::StatelessReluctant)
    }
}

pub(crate) struct RecordedRequest {
    pub(crate) what: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

pub(crate) struct ServerScript {
    pub(crate) kind: ServerKind,
    pub(crate) seen: Mutex<Vec<RecordedRequest>>,
    sessions: Mutex<HashSet<String>>,
    next_session: AtomicUsize,
    pub(crate) peers: Mutex<HashSet<SocketAddr>>,
    pub(crate) hanging: Arc<AtomicUsize>,
    /// Never responds to cancellations and session deletions.
    pub(crate) ignores_background_messages: AtomicBool,
    pub(crate) answers: broadcast::Sender<Value>,
    pub(crate) stream: broadcast::Sender<String>,
    /// Target of the redirecting tool, and the endpoint for SSE messages.
    pub(crate) other_url: Mutex<Option<String>>,
}

impl ServerScript {
    pub(crate) fn new(kind: ServerKind) -> Arc<Self> {
        Arc::new(Self {
            kind,
            seen: Mutex::default(),
            sessions: Mutex::default(),
            next_session: AtomicUsize::new(1),
            peers: Mutex::default(),
            hanging: Arc::default(),
            ignores_background_messages: AtomicBool::new(false),
            answers: broadcast::channel(16).0,
            stream: broadcast::channel(64).0,
            other_url: Mutex::default(),
        })
    }

    pub(crate) fn forget_sessions(&self) {
        self.sessions.lock().unwrap().clear();
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|seen| seen.what == what).count()
    }

    pub(crate) fn last(&self, what: &str) -> (HeaderMap, Value) {
        let seen = self.seen.lock().unwrap();
        let last = seen.iter().rev().find(|seen| seen.what == what).unwrap();
        (last.headers.clone(), last.body.clone())
    }
}

pub(crate) struct WebServer {
    pub(crate) address: SocketAddr,
    pub(crate) script: Arc<ServerScript>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WebServer {
    pub(crate) fn start(script: &Arc<ServerScript>) -> Self {
        Self::start_at(script, SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    pub(crate) fn start_at(script: &Arc<ServerScript>, address: SocketAddr) -> Self {
        let listener = std::net::TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let state = script.clone();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let app = axum::Router::new().fallback(handle).with_state(state);
                let app = app.into_make_service_with_connect_info::<SocketAddr>();
                tokio::select! {
                    _ = async { axum::serve(listener, app).await } => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, script: script.clone(), stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn endpoint(&self) -> HttpEndpoint {
        let headers = [("Authorization".to_owned(), "Bearer tok-secret".into())].into();
        HttpEndpoint { url: format!("http://{}/mcp", self.address), headers }
    }

    pub(crate) fn options(&self) -> Options {
        let reach = match self.script.kind {
            ServerKind::Sse => UpstreamEndpoint::Sse(self.endpoint()),
            _ => UpstreamEndpoint::Http(self.endpoint()),
        };
        Options::new("web", reach)
    }

    pub(crate) fn connection(&self) -> Arc<Connection> {
        Connection::new(self.options())
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

async fn handle(
    State(script): State<Arc<ServerScript>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let what = match (method.as_str(), body["method"].as_str()) {
        ("POST", Some(name)) => name.to_owned(),
        ("POST", None) => "answer".to_owned(),
        (method, _) => method.to_owned(),
    };
    let seen = RecordedRequest { what: what.clone(), headers: headers.clone(), body: body.clone() };
    script.seen.lock().unwrap().push(seen);
    script.peers.lock().unwrap().insert(peer);
    if script.kind == ServerKind::HandshakeFailing && what == "server/discover" {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let unsupported = |id: &Value| {
        let error = json!({ "code": -32022, "message": "Unsupported protocol version" });
        let body = json!({ "jsonrpc": "2.0", "error": error, "id": id });
        (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
    };
    let is_first = script.seen.lock().unwrap().len() == 1;
    match script.kind {
        ServerKind::StatelessSlow if is_first => return std::future::pending().await,
        ServerKind::StatelessReluctant if is_first => return unsupported(&body["id"]),
        ServerKind::StatelessSlow if what == "initialize" => return unsupported(&body["id"]),
        _ => {}
    }
    if headers["authorization"] != "Bearer tok-secret" {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let is_aside = matches!(what.as_str(), "DELETE" | "notifications/cancelled");
    if is_aside && script.ignores_background_messages.load(Ordering::SeqCst) {
        return hang(&script).await;
    }
    if script.kind == ServerKind::Sse {
        return handle_sse(&script, &method, &uri, &what, &body);
    }
    let session = headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
    let known = session.as_ref().is_some_and(|id| script.sessions.lock().unwrap().contains(id));
    if !script.kind.is_stateless() && what != "initialize" && !known {
        if script.kind == ServerKind::HandshakeBadRequest || session.is_none() {
            let error =
                json!({ "code": -32000, "message": "Bad Request: No valid session ID provided" });
            let body = json!({ "jsonrpc": "2.0", "error": error, "id": null });
            return (StatusCode::BAD_REQUEST, axum::Json(body)).into_response();
        }
        return StatusCode::NOT_FOUND.into_response();
    }
    let id = &body["id"];
    match what.as_str() {
        "DELETE" => {
            script.sessions.lock().unwrap().remove(&session.unwrap_or_default());
            StatusCode::OK.into_response()
        }
        "GET" if headers.contains_key("last-event-id") => {
            let resumed = headers["last-event-id"].to_str().unwrap().to_owned();
            let id: Value = resumed.strip_prefix("call-").unwrap().parse::<u64>().unwrap().into();
            stream_of(vec![event(&answer(&id, text("resumed")))])
        }
        "GET" if script.kind.is_stateless() => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        "GET" => stream_from(&script, None),
        "answer" => {
            let _ = script.answers.send(body);
            StatusCode::ACCEPTED.into_response()
        }
        "subscriptions/listen" => stream_from(
            &script,
            Some(event(&json!({
                "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": { "notifications": { "toolsListChanged": true } },
            }))),
        ),
        "initialize" if !script.kind.is_stateless() => {
            let id = format!("session-{}", script.next_session.fetch_add(1, Ordering::Relaxed));
            script.sessions.lock().unwrap().insert(id.clone());
            ([("mcp-session-id", id)], axum::Json(answer(&body["id"], initialize_result())))
                .into_response()
        }
        "tools/call" => call(&script, &body).await,
        _ => match reply(&script, &what, id) {
            Some(message) => axum::Json(message).into_response(),
            None => StatusCode::ACCEPTED.into_response(),
        },
    }
}

fn initialize_result() -> Value {
    json!({
        "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
        "serverInfo": { "name": "web", "version": "1" },
    })
}

fn reply(script: &ServerScript, what: &str, id: &Value) -> Option<Value> {
    Some(match what {
        "server/discover" if script.kind.is_stateless() => answer(
            id,
            json!({
                "resultType": "complete", "supportedVersions": ["2025-11-25", "2026-07-28"],
                "capabilities": { "tools": { "listChanged": true } },
            }),
        ),
        "tools/list" => answer(id, json!({ "tools": [{ "name": "echo" }] })),
        what if what.starts_with("notifications/") => return None,
        _ => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no such method" } })
        }
    })
}

/// The legacy transport: a stream for incoming and an endpoint for outgoing messages of the client.
fn handle_sse(
    script: &Arc<ServerScript>,
    method: &Method,
    uri: &Uri,
    what: &str,
    body: &Value,
) -> Response {
    if method == Method::GET {
        let place = script.other_url.lock().unwrap().clone();
        let place = place.unwrap_or_else(|| "/messages?session=1".to_owned());
        let early = "data: too early\n\n";
        return stream_from(script, Some(format!("{early}event: endpoint\ndata: {place}\n\n")));
    }
    assert_eq!(uri.path(), "/messages");
    let id = &body["id"];
    let message = match what {
        "initialize" => Some(answer(id, initialize_result())),
        "tools/call" => match body["params"]["name"].as_str() {
            Some("hang") => None,
            Some("forgotten") => return StatusCode::NOT_FOUND.into_response(),
            Some("elicit") => Some(question(id)),
            Some("big") => Some(answer(id, text(&"x".repeat(2000)))),
            _ => Some(answer(id, text("ok"))),
        },
        // The id of the elicitation contains the id of the call.
        "answer" => {
            let call = body["id"].as_str().unwrap().strip_prefix("q-").unwrap();
            let result =
                json!({ "content": [], "structuredContent": { "answer": body["result"] } });
            Some(answer(&call.parse::<u64>().unwrap().into(), result))
        }
        _ => reply(script, what, id),
    };
    if let Some(message) = message {
        let _ = script.stream.send(event(&message));
    }
    StatusCode::ACCEPTED.into_response()
}

async fn call(script: &Arc<ServerScript>, body: &Value) -> Response {
    let (id, params) = (&body["id"], &body["params"]);
    match params["name"].as_str().unwrap() {
        "stream" => {
            let progress = json!({
                "jsonrpc": "2.0", "method": "notifications/progress",
                "params": { "progressToken": params["_meta"]["progressToken"], "progress": 1 },
            });
            let foreign = answer(&json!(987_654), text("foreign"));
            let events = [": hello\n\n".to_owned(), "data: garbage\n\n".to_owned()];
            let mut events = Vec::from(events);
            events.extend([&progress, &foreign, &answer(id, text("streamed"))].map(event));
            stream_of(events)
        }
        "elicit" => {
            let (send, receive) = mpsc::unbounded_channel();
            let mut answers = script.answers.subscribe();
            let id = id.clone();
            tokio::spawn(async move {
                let _ = send.send(event(&question(&id)));
                let reply = answers.recv().await.unwrap();
                let result = json!({ "content": [], "structuredContent": { "answer": reply } });
                let _ = send.send(event(&answer(&id, result)));
            });
            stream(receive)
        }
        // Sends an elicitation, cancels it after the first client response, and ends after the second.
        "withdraw" => {
            let (send, receive) = mpsc::unbounded_channel();
            let mut answers = script.answers.subscribe();
            let id = id.clone();
            tokio::spawn(async move {
                let asked = question(&id);
                let withdrawn = json!({
                    "jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": { "requestId": asked["id"] },
                });
                let _ = send.send(event(&asked));
                answers.recv().await.unwrap();
                let _ = send.send(event(&withdrawn));
                answers.recv().await.unwrap();
                let _ = send.send(event(&answer(&id, text("ok"))));
            });
            stream(receive)
        }
        "broken" => stream_of(vec![format!("id: call-{id}\nretry: 10\ndata:\n\n")]),
        "cut" => stream_of(vec![]),
        "hang" => hang(script).await,
        "big" => axum::Json(answer(id, text(&"x".repeat(3_000_000)))).into_response(),
        "big chunks" => {
            let message = answer(id, text(&"x".repeat(3_000_000))).to_string();
            let chunks: Vec<_> =
                message.as_bytes().chunks(100_000).map(Bytes::copy_from_slice).collect();
            let body = futures::stream::iter(chunks).map(Ok::<_, Infallible>);
            Response::builder()
                .header("content-type", "application/json")
                .body(Body::from_stream(body))
                .unwrap()
        }
        "big event" => stream_of(vec![event(&answer(id, text(&"x".repeat(3_000_000))))]),
        "foreign" => axum::Json(answer(&json!(987_654), text("foreign"))).into_response(),
        "nothing" => StatusCode::ACCEPTED.into_response(),
        "teapot" => StatusCode::IM_A_TEAPOT.into_response(),
        "busy" => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        "refuse" => {
            let error = json!({ "code": -32020, "message": "header tok-secret" });
            let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
        }
        "payment" => {
            let error = json!({ "code": -32000, "message": "no valid payment session" });
            let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
        }
        "session" => (StatusCode::BAD_REQUEST, "session not found").into_response(),
        "redirect" => {
            let place = script.other_url.lock().unwrap().clone().unwrap();
            (StatusCode::TEMPORARY_REDIRECT, [("location", place)]).into_response()
        }
        "ask" if params["requestState"] == "state" => axum::Json(answer(
            id,
            json!({
                "resultType": "complete", "content": [],
                "structuredContent": params["inputResponses"],
            }),
        ))
        .into_response(),
        "ask" => axum::Json(answer(
            id,
            json!({
                "resultType": "input_required", "requestState": "state",
                "inputRequests": { "q": { "method": "elicitation/create", "params": {} } },
            }),
        ))
        .into_response(),
        _ => {
            let result = json!({
                "content": [{ "type": "text", "text": "ok" }], "structuredContent": params["arguments"],
            });
            axum::Json(answer(id, result)).into_response()
        }
    }
}

/// Does not respond until the client closes the request.
async fn hang(script: &ServerScript) -> Response {
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    script.hanging.fetch_add(1, Ordering::SeqCst);
    let _guard = Guard(script.hanging.clone());
    std::future::pending().await
}

fn text(words: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": words }] })
}

fn answer(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn question(call: &Value) -> Value {
    json!({
        "jsonrpc": "2.0", "id": format!("q-{call}"), "method": "elicitation/create",
        "params": { "message": "sure?" },
    })
}

fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

fn stream_of(events: Vec<String>) -> Response {
    let (send, receive) = mpsc::unbounded_channel();
    for event in events {
        let _ = send.send(event);
    }
    stream(receive)
}

/// Broadcast event that ends the streams.
pub(crate) const END_OF_STREAM: &str = "end";

/// Returns a stream of the first event and all broadcast events.
fn stream_from(script: &ServerScript, first: Option<String>) -> Response {
    let (send, receive) = mpsc::unbounded_channel();
    let mut broadcast = script.stream.subscribe();
    let _ = first.map(|first| send.send(first));
    tokio::spawn(async move {
        while let Ok(event) = broadcast.recv().await {
            if event == END_OF_STREAM || send.send(event).is_err() {
                return;
            }
        }
    });
    stream(receive)
}

fn stream(mut events: mpsc::UnboundedReceiver<String>) -> Response {
    let body = futures::stream::poll_fn(move |context| events.poll_recv(context));
    let body = Body::from_stream(body.map(Ok::<_, Infallible>));
    Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
}

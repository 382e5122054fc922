//! Serves streamable HTTP: sessions in the handshake era, no sessions in the stateless era, and event streams for
//! responses of more than one message.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::error::Error;
use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::args::AdversaryEra;
use crate::connection::{PeerConnection, detect_era};
use crate::messages::{MessageSender, RpcError};
use crate::shared_state::SharedState;
use crate::tools::STREAMING_TOOLS;

const SESSION_HEADER: &str = "mcp-session-id";

/// A session of the handshake era.
#[derive(Debug)]
struct AdversarySession {
    connection: Arc<PeerConnection>,
    calls: AtomicU64,
}

/// The state of the HTTP server.
#[derive(Debug)]
struct AdversaryHttpServer {
    shared: Arc<SharedState>,
    sessions: Mutex<HashMap<String, Arc<AdversarySession>>>,
    /// Number of sessions opened so far.
    opened: AtomicU64,
}

pub(crate) async fn serve_http(shared: Arc<SharedState>) -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, shared.args.port)).await?;
    let address = listener.local_addr()?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "http://{address}/mcp")?;
    stdout.flush()?;
    let server =
        AdversaryHttpServer { shared, sessions: Mutex::default(), opened: AtomicU64::new(0) };
    let router = Router::new()
        .route("/mcp", post(handle_post).get(handle_get).delete(handle_delete))
        .layer(DefaultBodyLimit::disable())
        .with_state(Arc::new(server));
    axum::serve(listener, router).await?;
    Ok(())
}

async fn handle_post(
    State(server): State<Arc<AdversaryHttpServer>>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let Ok(message) = serde_json::from_str::<Value>(&body) else {
        return error_response(
            StatusCode::BAD_REQUEST,
            &Value::Null,
            &RpcError::new(-32700, "invalid JSON"),
        );
    };
    server.shared.record_message(&message, Some(headers_to_map(&headers)));
    server.shared.wait_until_ready().await;
    let method = message["method"].as_str().unwrap_or_default();
    let is_request = !method.is_empty() && message.get("id").is_some();
    let connection = match server.find_connection(&message, method, is_request, &headers) {
        Ok(connection) => connection,
        Err((status, error)) => return error_response(status, &message["id"], &error),
    };
    let (out, messages) = MessageSender::new();
    if !is_request {
        connection.handle_message(message, out);
        return StatusCode::ACCEPTED.into_response();
    }
    let tool = message["params"]["name"].as_str().unwrap_or_default();
    let streams = server.shared.args.sse
        || method == "subscriptions/listen"
        || (method == "tools/call" && STREAMING_TOOLS.contains(&tool));
    let opens = method == "initialize" && server.shared.args.era.includes(AdversaryEra::Handshake);
    let session = opens.then(|| server.open_session(connection.clone()));
    let is_stateless = detect_era(method, &message["params"]) == AdversaryEra::Stateless;
    connection.handle_message(message, out);
    let mut response = if streams {
        stream_response(messages)
    } else {
        single_response(messages, is_stateless).await
    };
    if let Some(session) = session.and_then(|session| session.parse().ok()) {
        response.headers_mut().insert(SESSION_HEADER, session);
    }
    response
}

/// Opens the event stream that notifies a handshake client of changes.
async fn handle_get(
    State(server): State<Arc<AdversaryHttpServer>>,
    headers: HeaderMap,
) -> Response {
    server.shared.wait_until_ready().await;
    match server.find_session(&headers) {
        Ok(session) => {
            let (out, messages) = MessageSender::new();
            session.connection.notify_changes(out);
            stream_response(messages)
        }
        Err((status, error)) => error_response(status, &Value::Null, &error),
    }
}

async fn handle_delete(
    State(server): State<Arc<AdversaryHttpServer>>,
    headers: HeaderMap,
) -> StatusCode {
    let session =
        header_text(&headers, SESSION_HEADER).and_then(|id| server.sessions.lock().remove(id));
    if session.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND }
}

impl AdversaryHttpServer {
    /// Returns the connection of the message: that of its session, or a new one. Errors if the session is unknown or a
    /// header contradicts the body.
    fn find_connection(
        &self,
        message: &Value,
        method: &str,
        is_request: bool,
        headers: &HeaderMap,
    ) -> Result<Arc<PeerConnection>, (StatusCode, RpcError)> {
        let fresh = || Arc::new(PeerConnection::new(self.shared.clone()));
        let era = detect_era(method, &message["params"]);
        if era == AdversaryEra::Stateless && self.shared.args.era.includes(era) {
            return find_header_mismatch(message, method, headers)
                .map_or(Ok(fresh()), |error| Err((StatusCode::BAD_REQUEST, error)));
        }
        if method == "initialize" {
            return Ok(fresh());
        }
        let session = self.find_session(headers)?;
        if is_request && method == "tools/call" {
            let calls = session.calls.fetch_add(1, Ordering::Relaxed) + 1;
            if self.shared.args.expire_sessions.is_some_and(|most| calls > most) {
                header_text(headers, SESSION_HEADER).and_then(|id| self.sessions.lock().remove(id));
                return Err((StatusCode::NOT_FOUND, RpcError::new(-32001, "Session not found")));
            }
        }
        Ok(session.connection.clone())
    }

    fn find_session(
        &self,
        headers: &HeaderMap,
    ) -> Result<Arc<AdversarySession>, (StatusCode, RpcError)> {
        let id = header_text(headers, SESSION_HEADER).ok_or_else(|| {
            (
                StatusCode::BAD_REQUEST,
                RpcError::new(-32000, "Bad Request: no session and no initialize"),
            )
        })?;
        let session = self.sessions.lock().get(id).cloned();
        session.ok_or_else(|| (StatusCode::NOT_FOUND, RpcError::new(-32001, "Session not found")))
    }

    fn open_session(&self, connection: Arc<PeerConnection>) -> String {
        let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        // The process id is part of the session id, so a restarted server does not accept old sessions.
        let id = format!("session-{}-{number}", std::process::id());
        let session = AdversarySession { connection, calls: AtomicU64::new(0) };
        self.sessions.lock().insert(id.clone(), Arc::new(session));
        id
    }
}

/// Returns an error if a standard header does not match the body.
fn find_header_mismatch(message: &Value, method: &str, headers: &HeaderMap) -> Option<RpcError> {
    let params = &message["params"];
    let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
    let name = match method {
        "tools/call" => &params["name"],
        _ => &Value::Null,
    };
    for (header, wanted) in
        [("mcp-protocol-version", version), ("mcp-method", &json!(method)), ("mcp-name", name)]
    {
        if wanted.as_str().is_some_and(|wanted| header_text(headers, header) != Some(wanted)) {
            return Some(RpcError::new(-32020, format!("Header mismatch: {header}")));
        }
    }
    None
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn headers_to_map(headers: &HeaderMap) -> BTreeMap<String, String> {
    headers
        .iter()
        .map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect()
}

fn error_response(status: StatusCode, id: &Value, error: &RpcError) -> Response {
    json_response(status, error.to_response(id).to_string())
}

fn json_response(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Returns a response with a single message. In the stateless era the error code of the message decides the status.
async fn single_response(mut messages: UnboundedReceiver<String>, is_stateless: bool) -> Response {
    let Some(text) = messages.recv().await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    // Errors are short, so a long result is not parsed.
    let parsed = (text.len() < 10_000).then(|| serde_json::from_str::<Value>(&text).ok()).flatten();
    let status = match parsed.and_then(|message| message["error"]["code"].as_i64()) {
        Some(-32601) if is_stateless => StatusCode::NOT_FOUND,
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    json_response(status, text)
}

fn stream_response(messages: UnboundedReceiver<String>) -> Response {
    let events = futures::stream::unfold(messages, async |mut messages| {
        let text = messages.recv().await?;
        Some((Ok::<_, Infallible>(format!("event: message\ndata: {text}\n\n")), messages))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(events)).into_response()
}

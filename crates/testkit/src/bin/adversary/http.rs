//! Streamable HTTP: sessions for the handshake era, none for the stateless one, event streams where more than one
//! message is to be said.

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

use crate::acts::STREAMED;
use crate::args::Era;
use crate::talk::{Line, era_of};
use crate::wire::{Outbox, Refusal};
use crate::world::World;

const SESSION: &str = "mcp-session-id";

#[derive(Debug)]
struct Session {
    line: Arc<Line>,
    calls: AtomicU64,
}

#[derive(Debug)]
struct Door {
    world: Arc<World>,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    opened: AtomicU64,
}

pub(crate) async fn serve(world: Arc<World>) -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, world.args.port)).await?;
    let address = listener.local_addr()?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "http://{address}/mcp")?;
    stdout.flush()?;
    let door = Door { world, sessions: Mutex::default(), opened: AtomicU64::new(0) };
    let router = Router::new()
        .route("/mcp", post(receive).get(listen).delete(end))
        .layer(DefaultBodyLimit::disable())
        .with_state(Arc::new(door));
    axum::serve(listener, router).await?;
    Ok(())
}

async fn receive(State(door): State<Arc<Door>>, headers: HeaderMap, body: String) -> Response {
    let Ok(message) = serde_json::from_str::<Value>(&body) else {
        return refuse(StatusCode::BAD_REQUEST, &Value::Null, &Refusal::new(-32700, "no JSON"));
    };
    door.world.record(&message, Some(plain(&headers)));
    door.world.awake().await;
    let method = message["method"].as_str().unwrap_or_default();
    let is_request = !method.is_empty() && message.get("id").is_some();
    let line = match door.line_for(&message, method, is_request, &headers) {
        Ok(line) => line,
        Err((status, refusal)) => return refuse(status, &message["id"], &refusal),
    };
    let (out, said) = Outbox::new();
    if !is_request {
        line.receive(message, out);
        return StatusCode::ACCEPTED.into_response();
    }
    let tool = message["params"]["name"].as_str().unwrap_or_default();
    let streams = door.world.args.sse
        || method == "subscriptions/listen"
        || (method == "tools/call" && STREAMED.contains(&tool));
    let opens = method == "initialize" && door.world.args.era.offers(Era::Handshake);
    let session = opens.then(|| door.open(line.clone()));
    let is_stateless = era_of(method, &message["params"]) == Era::Stateless;
    line.receive(message, out);
    let mut response = if streams { stream(said) } else { one(said, is_stateless).await };
    if let Some(session) = session.and_then(|session| session.parse().ok()) {
        response.headers_mut().insert(SESSION, session);
    }
    response
}

/// The stream on which a handshake client hears of changes.
async fn listen(State(door): State<Arc<Door>>, headers: HeaderMap) -> Response {
    door.world.awake().await;
    match door.session(&headers) {
        Ok(session) => {
            let (out, said) = Outbox::new();
            session.line.tell_changes(out);
            stream(said)
        }
        Err((status, refusal)) => refuse(status, &Value::Null, &refusal),
    }
}

async fn end(State(door): State<Arc<Door>>, headers: HeaderMap) -> StatusCode {
    let session = text(&headers, SESSION).and_then(|id| door.sessions.lock().remove(id));
    if session.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND }
}

impl Door {
    /// Who remembers this peer: a session, or nobody.
    fn line_for(
        &self,
        message: &Value,
        method: &str,
        is_request: bool,
        headers: &HeaderMap,
    ) -> Result<Arc<Line>, (StatusCode, Refusal)> {
        let fresh = || Arc::new(Line::new(self.world.clone()));
        let era = era_of(method, &message["params"]);
        if era == Era::Stateless && self.world.args.era.offers(era) {
            return mismatch(message, method, headers)
                .map_or(Ok(fresh()), |refusal| Err((StatusCode::BAD_REQUEST, refusal)));
        }
        if method == "initialize" {
            return Ok(fresh());
        }
        let session = self.session(headers)?;
        if is_request && method == "tools/call" {
            let calls = session.calls.fetch_add(1, Ordering::Relaxed) + 1;
            if self.world.args.expire_sessions.is_some_and(|most| calls > most) {
                text(headers, SESSION).and_then(|id| self.sessions.lock().remove(id));
                return Err((StatusCode::NOT_FOUND, Refusal::new(-32001, "Session not found")));
            }
        }
        Ok(session.line.clone())
    }

    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, (StatusCode, Refusal)> {
        let id = text(headers, SESSION).ok_or_else(|| {
            (
                StatusCode::BAD_REQUEST,
                Refusal::new(-32000, "Bad Request: no session and no initialize"),
            )
        })?;
        let session = self.sessions.lock().get(id).cloned();
        session.ok_or_else(|| (StatusCode::NOT_FOUND, Refusal::new(-32001, "Session not found")))
    }

    fn open(&self, line: Arc<Line>) -> String {
        let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        // The process is part of the name: a restarted server knows nobody.
        let id = format!("session-{}-{number}", std::process::id());
        let session = Session { line, calls: AtomicU64::new(0) };
        self.sessions.lock().insert(id.clone(), Arc::new(session));
        id
    }
}

/// The standard headers say what the body says, or the request is refused.
fn mismatch(message: &Value, method: &str, headers: &HeaderMap) -> Option<Refusal> {
    let params = &message["params"];
    let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
    let name = match method {
        "tools/call" => &params["name"],
        _ => &Value::Null,
    };
    for (header, wanted) in
        [("mcp-protocol-version", version), ("mcp-method", &json!(method)), ("mcp-name", name)]
    {
        if wanted.as_str().is_some_and(|wanted| text(headers, header) != Some(wanted)) {
            return Some(Refusal::new(-32020, format!("Header mismatch: {header}")));
        }
    }
    None
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn plain(headers: &HeaderMap) -> BTreeMap<String, String> {
    headers
        .iter()
        .map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect()
}

fn refuse(status: StatusCode, id: &Value, refusal: &Refusal) -> Response {
    json_body(status, refusal.frame(id).to_string())
}

fn json_body(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// The one message that there is. In the stateless era its error, if it is one, decides the status.
async fn one(mut said: UnboundedReceiver<String>, is_stateless: bool) -> Response {
    let Some(text) = said.recv().await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    // Errors are short; a long result is not parsed to find none.
    let parsed = (text.len() < 10_000).then(|| serde_json::from_str::<Value>(&text).ok()).flatten();
    let status = match parsed.and_then(|message| message["error"]["code"].as_i64()) {
        Some(-32601) if is_stateless => StatusCode::NOT_FOUND,
        Some(-32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    json_body(status, text)
}

fn stream(said: UnboundedReceiver<String>) -> Response {
    let events = futures::stream::unfold(said, async |mut said| {
        let text = said.recv().await?;
        Some((Ok::<_, Infallible>(format!("event: message\ndata: {text}\n\n")), said))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(events)).into_response()
}

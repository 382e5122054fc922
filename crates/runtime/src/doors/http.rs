//! The HTTP server: MCP at `/mcp`, REST below `/v1`, and what operators need beside them.
//!
//! Two guards stand before every route: Host and Origin must be ours (a web page must not reach a local server by a
//! rebound name), and where tokens are configured a request must bear one.

mod admit;
mod closing;
mod guard;
mod leaving;
mod malformed;
mod token;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Extension, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::{Listener, ListenerExt};
use axum::{Json, Router, middleware};
use contract::{Caller, Code, ToolError};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::mcp::{Face, McpDoor};
use super::{DRAIN_LIMIT, MAX_MESSAGE_BYTES, openapi, rest};
use crate::pipeline::Pipeline;
use closing::Answers;
pub use guard::is_loopback;
pub use token::{Token, TokenError, Tokens};

/// For what is left to do after the limit: closing connections, writing out the audit log.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Where MCP is spoken.
const MCP: &str = "/mcp";
/// The one path that is open to everybody, for load balancers.
const HEALTH: &str = "/healthz";

/// What an operator may set about the server.
#[derive(Debug)]
pub struct HttpOptions {
    pub address: SocketAddr,
    pub tokens: Tokens,
    /// Host names beyond loopback and the bound address that requests may carry.
    pub allowed_hosts: Vec<String>,
    /// Browser origins beyond loopback that may call.
    pub allowed_origins: Vec<String>,
    pub max_body_bytes: usize,
}

impl HttpOptions {
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            tokens: Tokens::default(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: MAX_MESSAGE_BYTES,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("{0} is not a loopback address, and beyond loopback a token is required")]
    TokenRequired(SocketAddr),
    #[error("cannot listen on {address}")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("the HTTP server failed")]
    Serve(#[source] std::io::Error),
}

pub(crate) struct App {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) face: Face,
    pub(crate) options: HttpOptions,
    answers: Answers,
}

/// A bound server that does not serve yet.
pub struct HttpDoor {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl HttpDoor {
    pub async fn bind(
        pipeline: Arc<Pipeline>,
        face: Face,
        mut options: HttpOptions,
    ) -> Result<Self, HttpError> {
        let address = options.address;
        if !address.ip().is_loopback() && options.tokens.is_empty() {
            return Err(HttpError::TokenRequired(address));
        }
        let failed = |source| HttpError::Bind { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        options.address = address;
        Ok(Self {
            listener,
            address,
            app: Arc::new(App { pipeline, face, options, answers: Answers::default() }),
        })
    }

    /// The address it listens on, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled, then finishes the calls in flight.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), HttpError> {
        let Self { listener, app, .. } = self;
        let sessions = CancellationToken::new();
        let router = router(Arc::clone(&app), sessions.clone(), stop.clone());
        let answers = app.answers.clone();
        let asked = stop.clone();
        let closing = async move {
            asked.cancelled().await;
            // Open event streams would keep the server alive for ever: they end once every call has its answer.
            tokio::spawn(async move {
                let _ = tokio::time::timeout(DRAIN_LIMIT, answers.all_sent()).await;
                sessions.cancel();
            });
        };
        let overdue = async {
            stop.cancelled().await;
            tokio::time::sleep(DRAIN_LIMIT + LAST_WORDS).await;
        };
        tokio::select! {
            served = axum::serve(at_once(listener), router).with_graceful_shutdown(closing) => {
                served.map_err(HttpError::Serve)?;
            }
            // A client that never finishes its request does not keep the server.
            () = overdue => tracing::warn!("requests that did not end were cut off"),
        }
        let _ = tokio::time::timeout(LAST_WORDS, app.pipeline.drain()).await;
        Ok(())
    }
}

/// Answers leave at once. Held back until the client acknowledges what came before, a call whose answer begins with an
/// event of its own (2025-11-25) took 45 ms instead of one.
fn at_once(listener: TcpListener) -> impl Listener<Addr = SocketAddr> {
    listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
    })
}

fn router(app: Arc<App>, sessions: CancellationToken, closing: CancellationToken) -> Router {
    let door = McpDoor::new(Arc::clone(&app.pipeline), app.face.clone(), Caller::new("local"))
        .closing_with(closing);
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_cancellation_token(sessions)
        .with_max_request_body_bytes(app.options.max_body_bytes)
        // Our own guard stands before every route, this one included.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let mcp = StreamableHttpService::new(
        move || Ok(door.clone().for_one_client()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    Router::new()
        .route_service(MCP, mcp)
        .merge(rest::routes())
        .route("/openapi.json", get(describe))
        .route("/metrics", get(metrics))
        .route(HEALTH, get(health))
        .fallback(rest::no_such_route)
        .layer(DefaultBodyLimit::max(app.options.max_body_bytes))
        // One layer, not one for each check: every layer boxes the request and clones the router behind it.
        .layer(middleware::from_fn_with_state(Arc::clone(&app), admit::admit))
        .with_state(app)
}

async fn health(State(app): State<Arc<App>>) -> Response {
    let tools = app.pipeline.catalog().names().count();
    Json(json!({"status": "ok", "version": app.face.version, "tools": tools})).into_response()
}

async fn describe(State(app): State<Arc<App>>, Extension(caller): Extension<Caller>) -> Response {
    let secured = !app.options.tokens.is_empty();
    let filter = app.pipeline.filter(&caller.principal);
    let document = openapi::document_for(filter, &app.pipeline.catalog(), &app.face, secured);
    Json(document).into_response()
}

async fn metrics(State(app): State<Arc<App>>, Extension(caller): Extension<Caller>) -> Response {
    if app.pipeline.filter(&caller.principal).is_some() {
        let message = "the metrics name every tool, and this client may not call every tool";
        return rest::error_response(&ToolError::new(Code::AccessDenied, message));
    }
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match app.pipeline.metrics().render() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => axum::http::StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

//! The HTTP server: MCP at `/mcp`, REST below `/v1`, and endpoints for operators.
//!
//! Two checks run before every route. Host and Origin must be allowed, which prevents a web page from reaching a local
//! server by DNS rebinding. Unless there are no tokens, a request must carry one. Sessions belong to the principal that
//! started them.

mod admission;
mod guard;
mod malformed;
mod owned_sessions;
mod pending_responses;
mod response;
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
use contract::{Caller, ErrorCode, ToolError};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::mcp::{McpService, PRINCIPAL, ServerIdentity};
use super::{DRAIN_LIMIT, MAX_MESSAGE_BYTES, openapi, rest};
use crate::pipeline::Pipeline;
pub use guard::is_loopback;
use owned_sessions::OwnedSessions;
use pending_responses::PendingResponses;
pub use token::{BearerToken, BearerTokens, PROJECT_PRINCIPAL, TokenError, UNNAMED_PRINCIPAL};

/// Extra time after the drain limit, for closing connections and flushing the audit log.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// The path of the MCP endpoint.
const MCP_PATH: &str = "/mcp";
/// The only path without authentication, for load balancers.
const HEALTH_PATH: &str = "/healthz";

/// Settings of the HTTP server.
#[derive(Debug)]
pub struct HttpOptions {
    pub address: SocketAddr,
    pub tokens: BearerTokens,
    /// Host names that requests may carry, besides loopback and the bound address.
    pub allowed_hosts: Vec<String>,
    /// Browser origins that may call, besides loopback.
    pub allowed_origins: Vec<String>,
    pub max_body_bytes: usize,
}

impl HttpOptions {
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            tokens: BearerTokens::default(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: MAX_MESSAGE_BYTES,
        }
    }
}

/// An error of the HTTP server.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("{0} is not a loopback address; a token is required beyond loopback")]
    TokenRequired(SocketAddr),
    #[error("failed to listen on {address}")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("HTTP server failed")]
    Serve(#[source] std::io::Error),
}

/// State shared by all routes.
pub(crate) struct HttpApp {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) identity: ServerIdentity,
    pub(crate) options: HttpOptions,
    pending: PendingResponses,
    sessions: Arc<OwnedSessions>,
}

/// A bound HTTP server that does not serve yet.
pub struct HttpTransport {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<HttpApp>,
}

impl HttpTransport {
    /// Binds the address. Errors if it is taken, or if it is not loopback and no token is configured.
    pub async fn bind(
        pipeline: Arc<Pipeline>,
        identity: ServerIdentity,
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
            app: Arc::new(HttpApp {
                pipeline,
                identity,
                options,
                pending: PendingResponses::default(),
                sessions: Arc::default(),
            }),
        })
    }

    /// Returns the address it listens on, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled, then finishes the calls in flight.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), HttpError> {
        let Self { listener, app, .. } = self;
        let sessions = CancellationToken::new();
        let router = build_router(Arc::clone(&app), sessions.clone(), stop.clone());
        let pending = app.pending.clone();
        let stopped = stop.clone();
        let closing = async move {
            stopped.cancelled().await;
            // Open event streams would keep the server alive forever, so they end once every call has its response.
            tokio::spawn(async move {
                let _ = tokio::time::timeout(DRAIN_LIMIT, pending.wait_until_sent()).await;
                sessions.cancel();
            });
        };
        let overdue = async {
            stop.cancelled().await;
            tokio::time::sleep(DRAIN_LIMIT + CLOSE_GRACE).await;
        };
        tokio::select! {
            served = axum::serve(with_nodelay(listener), router).with_graceful_shutdown(closing) => {
                served.map_err(HttpError::Serve)?;
            }
            // A client that never finishes its request must not block the shutdown.
            () = overdue => tracing::warn!("unfinished requests were cut off"),
        }
        let _ = tokio::time::timeout(CLOSE_GRACE, app.pipeline.drain()).await;
        Ok(())
    }
}

/// Sets `TCP_NODELAY`, so that responses are sent immediately. With Nagle's algorithm, a call whose response begins
/// with a separate event (2025-11-25) took 45 ms instead of 1 ms.
fn with_nodelay(listener: TcpListener) -> impl Listener<Addr = SocketAddr> {
    listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "failed to set TCP_NODELAY");
        }
    })
}

fn build_router(
    app: Arc<HttpApp>,
    sessions: CancellationToken,
    closing: CancellationToken,
) -> Router {
    let service = McpService::new(
        Arc::clone(&app.pipeline),
        app.identity.clone(),
        Caller::new(UNNAMED_PRINCIPAL),
    )
    .with_shutdown(closing);
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_cancellation_token(sessions)
        .with_max_request_body_bytes(app.options.max_body_bytes)
        // The admission layer checks Host and Origin before every route, including this one.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let mcp = StreamableHttpService::new(
        // Called while the request is handled, so the service belongs to the principal that sent it.
        move || {
            let principal = PRINCIPAL.try_with(Arc::clone).map_err(std::io::Error::other)?;
            Ok(service.clone().with_principal(principal))
        },
        Arc::clone(&app.sessions),
        config,
    );
    Router::new()
        .route_service(MCP_PATH, mcp)
        .merge(rest::build_routes())
        .route("/openapi.json", get(get_openapi))
        .route("/metrics", get(get_metrics))
        .route(HEALTH_PATH, get(get_health))
        .fallback(rest::no_such_route)
        .layer(DefaultBodyLimit::max(app.options.max_body_bytes))
        // One layer for all checks: each layer boxes the request and clones the router behind it.
        .layer(middleware::from_fn_with_state(Arc::clone(&app), admission::admit_request))
        .with_state(app)
}

async fn get_health(State(app): State<Arc<HttpApp>>) -> Response {
    let tools = app.pipeline.catalog().names().count();
    Json(json!({"status": "ok", "version": app.identity.version, "tools": tools})).into_response()
}

async fn get_openapi(
    State(app): State<Arc<HttpApp>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let secured = !app.options.tokens.is_empty();
    let filter = app.pipeline.tool_filter(&caller.principal);
    let document =
        openapi::build_document_for(filter, &app.pipeline.catalog(), &app.identity, secured);
    Json(document).into_response()
}

async fn get_metrics(
    State(app): State<Arc<HttpApp>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    if app.pipeline.tool_filter(&caller.principal).is_some() {
        let message = "metrics list every tool, and this client may not call all of them";
        return rest::error_response(&ToolError::new(ErrorCode::AccessDenied, message));
    }
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match app.pipeline.metrics().render() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => axum::http::StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

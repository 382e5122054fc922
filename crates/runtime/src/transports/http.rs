//! The HTTP server: MCP at `/mcp`, REST below `/v1`, and endpoints for operators.
//!
//! Two checks run before every route. Host and Origin must be allowed, which prevents a web page from reaching a local
//! server by DNS rebinding. Unless there are no tokens, a request must carry one. Sessions belong to the principal that
//! started them.

mod admission;
mod connections;
mod control;
mod direct;
mod exceeded_limit;
mod guard;
mod limited_body;
mod limits;
mod malformed;
mod memory_budget;
mod owned_sessions;
mod pending_responses;
mod readiness;
mod response;
mod routes;
mod tls;
mod token;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::mcp::ServerIdentity;
use super::{DRAIN_LIMIT, MAX_MESSAGE_BYTES};
use crate::pipeline::Pipeline;
use connections::{ConnectionTable, ConnectionThreads, accept_connections};
pub use control::HttpControl;
pub use guard::is_loopback;
pub use limits::HttpLimits;
use memory_budget::MemoryBudget;
use owned_sessions::OwnedSessions;
use pending_responses::PendingResponses;
use readiness::Readiness;
pub use readiness::{CheckResult, ReadinessCheck};
use routes::HttpRoutes;
use tls::TlsIdentity;
pub use tls::{TlsError, TlsFiles};
pub use token::{BearerToken, BearerTokens, PROJECT_PRINCIPAL, TokenError, UNNAMED_PRINCIPAL};

/// Extra time after the drain limit, once for closing connections and once for flushing the audit log.
const CLOSE_GRACE: Duration = Duration::from_secs(1);
/// The path of the MCP endpoint.
const MCP_PATH: &str = "/mcp";
/// The paths without authentication, for load balancers.
const HEALTH_PATH: &str = "/healthz";
const READINESS_PATH: &str = "/readyz";

/// Settings of the HTTP server.
#[derive(Clone)]
pub struct HttpOptions {
    pub address: SocketAddr,
    pub tokens: BearerTokens,
    /// Host names that requests may carry, besides loopback and the bound address.
    pub allowed_hosts: Vec<String>,
    /// Browser origins that may call, besides loopback.
    pub allowed_origins: Vec<String>,
    pub max_body_bytes: usize,
    pub limits: Arc<HttpLimits>,
    /// Without files, connections are not encrypted.
    pub tls: Option<TlsFiles>,
    /// Checks of `/readyz`, besides the audit log and the store.
    pub readiness: Vec<Arc<dyn ReadinessCheck>>,
}

impl HttpOptions {
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            tokens: BearerTokens::default(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: MAX_MESSAGE_BYTES,
            limits: Arc::default(),
            tls: None,
            readiness: Vec::new(),
        }
    }

    /// Errors if the address is not loopback and no token is configured.
    fn check_tokens(&self) -> Result<(), HttpError> {
        if !self.address.ip().is_loopback() && self.tokens.is_empty() {
            return Err(HttpError::TokenRequired(self.address));
        }
        Ok(())
    }
}

/// An error of the HTTP server.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("{0} is not a loopback address; a token is required beyond loopback")]
    TokenRequired(SocketAddr),
    #[error("failed to listen on {address}")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("failed to use the TLS certificate")]
    Tls(#[from] TlsError),
}

/// State shared by all routes.
pub(crate) struct HttpApp {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) identity: ServerIdentity,
    options: RwLock<Arc<HttpOptions>>,
    pending: PendingResponses,
    sessions: Arc<OwnedSessions>,
    memory: Arc<MemoryBudget>,
    tls: TlsIdentity,
    readiness: Readiness,
}

impl HttpApp {
    /// Returns the settings that apply now.
    pub(crate) fn options(&self) -> Arc<HttpOptions> {
        Arc::clone(&self.options.read())
    }

    fn limits(&self) -> Arc<HttpLimits> {
        Arc::clone(&self.options.read().limits)
    }
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
        options: HttpOptions,
    ) -> Result<Self, HttpError> {
        let address = options.address;
        options.check_tokens()?;
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|source| HttpError::Bind { address, source })?;
        Self::new(pipeline, identity, options, listener)
    }

    /// Takes over a listening socket, such as that of a service manager. Errors if its address is not loopback and no
    /// token is configured.
    pub fn from_listener(
        pipeline: Arc<Pipeline>,
        identity: ServerIdentity,
        options: HttpOptions,
        listener: std::net::TcpListener,
    ) -> Result<Self, HttpError> {
        let address = options.address;
        let failed = |source| HttpError::Bind { address, source };
        listener.set_nonblocking(true).map_err(failed)?;
        let listener = TcpListener::from_std(listener).map_err(failed)?;
        Self::new(pipeline, identity, options, listener)
    }

    fn new(
        pipeline: Arc<Pipeline>,
        identity: ServerIdentity,
        mut options: HttpOptions,
        listener: TcpListener,
    ) -> Result<Self, HttpError> {
        let failed = |source| HttpError::Bind { address: options.address, source };
        let address = listener.local_addr().map_err(failed)?;
        options.address = address;
        options.check_tokens()?;
        let metrics = pipeline.metrics().server().clone();
        let limits = Arc::clone(&options.limits);
        let app = HttpApp {
            pipeline,
            identity,
            tls: TlsIdentity::load(options.tls.as_ref())?,
            options: RwLock::new(Arc::new(options)),
            pending: PendingResponses::default(),
            sessions: Arc::new(OwnedSessions::new(limits, metrics.clone())),
            memory: MemoryBudget::new(metrics),
            readiness: Readiness::default(),
        };
        Ok(Self { listener, address, app: Arc::new(app) })
    }

    /// Returns a handle that changes the settings while the server runs.
    pub fn control(&self) -> HttpControl {
        HttpControl::new(Arc::clone(&self.app))
    }

    /// Returns the address it listens on, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled, then finishes the calls in flight within a time limit.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), HttpError> {
        let Self { listener, app, .. } = self;
        let sessions = CancellationToken::new();
        let routes = HttpRoutes::new(Arc::clone(&app), sessions.clone(), stop.clone());
        let routes = Arc::new(routes);
        let table = ConnectionTable::new(app.pipeline.metrics().server().clone());
        let threads = ConnectionThreads::start();
        tokio::select! {
            () = accept_connections(listener, &threads, &table, &routes, &stop) => {}
            () = app.tls.follow_files(app.pipeline.metrics().server()) => {}
        }
        // Connections without a request have nothing to finish.
        table.end_all(true);
        let drained = async {
            app.pending.wait_until_sent().await;
            // Open event streams would keep the server alive forever, so they end once every call has its response.
            sessions.cancel();
            table.wait_until_empty().await;
        };
        if tokio::time::timeout(DRAIN_LIMIT, drained).await.is_err() {
            tracing::warn!("unfinished requests were cut off");
            sessions.cancel();
            // A client that never finishes its request or never reads its response must not block the shutdown.
            table.end_all(false);
            let _ = tokio::time::timeout(CLOSE_GRACE, table.wait_until_empty()).await;
        }
        let _ = tokio::time::timeout(CLOSE_GRACE, app.pipeline.drain()).await;
        Ok(())
    }
}

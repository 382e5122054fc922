//! The routes of the HTTP server, for admitted requests.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Extension, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use contract::{Caller, ErrorCode, ToolError};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::super::mcp::{McpService, PRINCIPAL};
use super::super::{openapi, rest};
use super::direct::{DirectRoute, Routed};
use super::owned_sessions::{OwnedSessions, SessionLink};
use super::readiness::{get_health, get_readiness};
use super::token::UNNAMED_PRINCIPAL;
use super::{HEALTH_PATH, HttpApp, READINESS_PATH};

/// The routes, and the state that they share.
pub(super) struct HttpRoutes {
    pub(super) app: Arc<HttpApp>,
    mcp: StreamableHttpService<McpService, OwnedSessions>,
    direct: DirectRoute,
    others: TowerToHyperService<Router>,
}

impl HttpRoutes {
    /// `sessions` ends all sessions, `closing` announces the end of the server to them.
    pub(super) fn new(
        app: Arc<HttpApp>,
        sessions: CancellationToken,
        closing: CancellationToken,
    ) -> Self {
        let max_body_bytes = app.options().max_body_bytes;
        let service = McpService::new(
            Arc::clone(&app.pipeline),
            app.identity.clone(),
            Caller::new(UNNAMED_PRINCIPAL),
        )
        .with_shutdown(closing)
        .with_observer(SessionLink::new(&app.sessions));
        let direct = DirectRoute::new(
            service.clone(),
            Arc::clone(&app.sessions),
            sessions.clone(),
            max_body_bytes,
            app.options().limits.hold_back,
        );
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_cancellation_token(sessions)
            .with_max_request_body_bytes(max_body_bytes)
            // Admission checks Host and Origin before every route, including this one.
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
        let others = Router::new()
            .merge(rest::build_routes())
            .route("/openapi.json", get(get_openapi))
            .route("/metrics", get(get_metrics))
            .route(HEALTH_PATH, get(get_health))
            .route(READINESS_PATH, get(get_readiness))
            .fallback(rest::no_such_route)
            .layer(DefaultBodyLimit::max(max_body_bytes))
            .with_state(Arc::clone(&app));
        Self { app, mcp, direct, others: TowerToHyperService::new(others) }
    }

    /// Answers an admitted request to the MCP endpoint.
    pub(super) async fn run_mcp(&self, caller: &Caller, request: Request) -> McpResponse {
        let mut request = match self.direct.route(caller, request).await {
            Routed::Answered(response) => return McpResponse::Finished(response),
            Routed::ToSdk(request) => request,
        };
        request.extensions_mut().insert(caller.clone());
        McpResponse::FromSdk(self.mcp.handle(request).await.map(Body::new))
    }

    /// Answers an admitted request to another route.
    pub(super) async fn run(&self, request: Request) -> Response {
        match self.others.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// The response to a request to the MCP endpoint.
pub(super) enum McpResponse {
    Finished(Response),
    FromSdk(Response),
}

async fn get_openapi(
    State(app): State<Arc<HttpApp>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let secured = !app.options().tokens.is_empty();
    let filter = app.pipeline.tool_filter(&caller.principal);
    let document = openapi::build_document_for(
        filter.as_deref(),
        &app.pipeline.catalog(),
        &app.identity,
        secured,
    );
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
    app.readiness.refresh_metrics(&app).await;
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    match app.pipeline.metrics().render() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

//! Admission of HTTP requests: checks Host, Origin, token and session, and converts protocol errors to JSON-RPC.
//!
//! Every request passes it before any route.

use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use contract::{Caller, ErrorCode, ToolError};
use parking_lot::Mutex;

use super::super::mcp::PRINCIPAL;
use super::super::rest::error_response;
use super::super::session::MCP_HEADER;
use super::connections::OpenConnection;
use super::exceeded_limit::{EXCEEDED_LIMIT, ExceededLimit, ExceededLimitSlot};
use super::limited_body::LimitedBody;
use super::limits::HttpLimits;
use super::memory_budget::MemoryReservation;
use super::pending_responses::track_body;
use super::response::finish_response;
use super::routes::{HttpRoutes, McpResponse};
use super::{HEALTH_PATH, HttpApp, MCP_PATH, READINESS_PATH, guard, malformed, token};

/// Admits a request, or refuses it and records the refusal.
pub(super) async fn admit_request(
    routes: &HttpRoutes,
    connection: &OpenConnection,
    request: Request,
) -> Response {
    let app = &*routes.app;
    let options = app.options();
    if let Err(error) = guard::check_host_and_origin(&options, request.headers(), request.uri()) {
        return refuse_request(app, "(unknown)", &error);
    }
    let path = request.uri().path();
    let is_mcp = path == MCP_PATH;
    if path == HEALTH_PATH || path == READINESS_PATH {
        return routes.run(request).await;
    }
    let caller = match token::authenticate_caller(&options.tokens, request.headers()) {
        Ok(caller) => caller,
        Err(error) => {
            return token::add_challenge(refuse_request(app, "(unauthenticated)", &error));
        }
    };
    connection.mark_authenticated();
    if is_mcp && is_foreign_session(app, &caller, request.method(), request.headers()) {
        return refuse_session(app, &caller);
    }
    let exceeded = ExceededLimitSlot::default();
    let (request, memory) = match limit_body(app, request, &options.limits, &exceeded) {
        Ok(limited) => limited,
        Err(exceeded) => return refuse_at_limit(app, &caller, exceeded, is_mcp),
    };
    let pending = (request.method() == Method::POST).then(|| app.pending.register());
    let response = run_request(routes, &caller, request, &exceeded).await;
    let response = match exceeded.get() {
        Some(exceeded) if !response.status().is_success() => {
            refuse_at_limit(app, &caller, exceeded, is_mcp)
        }
        _ => response,
    };
    match Arc::into_inner(memory) {
        Some(memory) => track_body(response, pending, memory.into_inner()),
        // A reader of the body outlives the request, and the reservation with it.
        None => response,
    }
}

/// Runs an admitted request.
async fn run_request(
    routes: &HttpRoutes,
    caller: &Caller,
    mut request: Request,
    exceeded: &ExceededLimitSlot,
) -> Response {
    if request.uri().path() != MCP_PATH {
        request.extensions_mut().insert(caller.clone());
        return routes.run(request).await;
    }
    let is_post = request.method() == Method::POST;
    let hold_back = is_post.then_some(routes.app.options().limits.hold_back);
    let principal = Arc::clone(&caller.principal);
    let work = EXCEEDED_LIMIT.scope(exceeded.clone(), routes.run_mcp(caller, request));
    let response = match PRINCIPAL.scope(principal, work).await {
        McpResponse::Finished(response) => response,
        McpResponse::FromSdk(response) => finish_response(response, hold_back).await,
    };
    if !response.status().is_client_error() {
        return response;
    }
    // The protocol layer refused the request, so it never became a call.
    let code = malformed::refusal_code(response.status());
    routes.app.pipeline.record_refused_request(&caller.principal, code);
    malformed::to_json_rpc_error(response).await
}

/// Returns the request with a limited body, and the memory reserved for it. Errors if too much is in use.
fn limit_body(
    app: &HttpApp,
    request: Request,
    limits: &Arc<HttpLimits>,
    exceeded: &ExceededLimitSlot,
) -> Result<(Request, Arc<Mutex<MemoryReservation>>), ExceededLimit> {
    let declared = request.body().size_hint().exact().unwrap_or(0);
    let declared = usize::try_from(declared).unwrap_or(usize::MAX);
    let limit = limits.max_memory_bytes;
    let memory = app.memory.reserve_request(declared, limit);
    let memory = memory.map_err(|shortage| ExceededLimit::from_shortage(shortage, limit))?;
    let memory = Arc::new(Mutex::new(memory));
    if request.body().is_end_stream() {
        return Ok((request, memory));
    }
    let (limits, exceeded, held) = (Arc::clone(limits), exceeded.clone(), Arc::clone(&memory));
    let request =
        request.map(|body| Body::new(LimitedBody::new(body, limits, exceeded, held, declared)));
    Ok((request, memory))
}

fn refuse_at_limit(
    app: &HttpApp,
    caller: &Caller,
    exceeded: ExceededLimit,
    is_mcp: bool,
) -> Response {
    let error = exceeded.to_error();
    tracing::debug!(%error, "request refused");
    app.pipeline.metrics().server().record_refusal(exceeded.reason());
    app.pipeline.record_refused_request(&caller.principal, error.code);
    exceeded.to_response(is_mcp)
}

/// Returns true if the request ends a session that is not its caller's. For other requests the protocol layer asks
/// [`super::OwnedSessions`] and refuses in the same way; it would confirm the end of any session.
fn is_foreign_session(
    app: &HttpApp,
    caller: &Caller,
    method: &Method,
    headers: &HeaderMap,
) -> bool {
    let id = headers.get(MCP_HEADER).and_then(|id| id.to_str().ok());
    *method == Method::DELETE
        && id.is_some_and(|id| !app.sessions.is_owned_by(id, &caller.principal))
}

fn refuse_session(app: &HttpApp, caller: &Caller) -> Response {
    app.pipeline.record_refused_request(&caller.principal, ErrorCode::InvalidInput);
    // The text of the protocol layer for an unknown session.
    (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response()
}

fn refuse_request(app: &HttpApp, principal: &str, error: &ToolError) -> Response {
    tracing::warn!(%error, "request refused");
    app.pipeline.record_refused_request(principal, error.code);
    error_response(error)
}

//! Admission of HTTP requests: checks Host, Origin, token and session, and converts protocol errors to JSON-RPC.
//!
//! One middleware layer before every route.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use contract::{Caller, ErrorCode, ToolError};

use super::super::mcp::PRINCIPAL;
use super::super::rest::error_response;
use super::super::session::MCP_HEADER;
use super::response::finish_response;
use super::{HEALTH_PATH, HttpApp, MCP_PATH, guard, malformed, token};

/// Admits a request, or refuses it and records the refusal.
pub(super) async fn admit_request(
    State(app): State<Arc<HttpApp>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Err(error) = guard::check_host_and_origin(&app.options, request.headers(), request.uri())
    {
        return refuse_request(&app, "(unknown)", &error);
    }
    let path = request.uri().path();
    let (is_health, is_mcp) = (path == HEALTH_PATH, path == MCP_PATH);
    if is_health {
        return next.run(request).await;
    }
    let caller = match token::authenticate_caller(&app.options.tokens, request.headers()) {
        Ok(caller) => caller,
        Err(error) => {
            return token::add_challenge(refuse_request(&app, "(unauthenticated)", &error));
        }
    };
    if is_mcp && is_foreign_session(&app, &caller, request.method(), request.headers()) {
        return refuse_session(&app, &caller);
    }
    let is_post = request.method() == Method::POST;
    let pending = is_post.then(|| app.pending.register());
    request.extensions_mut().insert(caller.clone());
    let mut response = if is_mcp {
        let principal = Arc::clone(&caller.principal);
        finish_response(PRINCIPAL.scope(principal, next.run(request)).await, is_post).await
    } else {
        next.run(request).await
    };
    if is_mcp && response.status().is_client_error() {
        // The protocol layer refused the request, so it never became a call.
        app.pipeline
            .record_refused_request(&caller.principal, malformed::refusal_code(response.status()));
        response = malformed::to_json_rpc_error(response).await;
    }
    match pending {
        Some(pending) => pending.track_body(response),
        None => response,
    }
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

//! Admission of HTTP requests: checks Host, Origin and token, and converts protocol errors to JSON-RPC.
//!
//! One middleware layer before every route.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use contract::ToolError;

use super::super::mcp::PRINCIPAL;
use super::super::rest::error_response;
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

fn refuse_request(app: &HttpApp, principal: &str, error: &ToolError) -> Response {
    tracing::warn!(%error, "request refused");
    app.pipeline.record_refused_request(principal, error.code);
    error_response(error)
}

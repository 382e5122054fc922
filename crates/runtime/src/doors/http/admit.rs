//! The way in: who may come through the door at all, and what the protocol says to those whose message it cannot read.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use contract::ToolError;

use super::super::mcp::PRINCIPAL;
use super::super::rest::error_response;
use super::leaving::leaving;
use super::{App, HEALTH, MCP, guard, malformed, token};

pub(super) async fn admit(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Err(error) = guard::check(&app.options, request.headers(), request.uri()) {
        return refuse(&app, "(unknown)", &error);
    }
    let path = request.uri().path();
    let (is_health, is_mcp) = (path == HEALTH, path == MCP);
    if is_health {
        return next.run(request).await;
    }
    let caller = match token::caller(&app.options.tokens, request.headers()) {
        Ok(caller) => caller,
        Err(error) => return token::challenge(refuse(&app, "(unauthenticated)", &error)),
    };
    let is_post = request.method() == Method::POST;
    let owed = is_post.then(|| app.answers.owe());
    request.extensions_mut().insert(caller.clone());
    let mut response = if is_mcp {
        let principal = Arc::clone(&caller.principal);
        leaving(PRINCIPAL.scope(principal, next.run(request)).await, is_post).await
    } else {
        next.run(request).await
    };
    if is_mcp && response.status().is_client_error() {
        // The protocol turned it away, so no call was made of it.
        app.pipeline.refused_at_door(&caller.principal, malformed::code(response.status()));
        response = malformed::as_json_rpc(response).await;
    }
    match owed {
        Some(owed) => owed.until_sent(response),
        None => response,
    }
}

fn refuse(app: &App, principal: &str, error: &ToolError) -> Response {
    tracing::warn!(%error, "a request was turned away at the door");
    app.pipeline.refused_at_door(principal, error.code);
    error_response(error)
}

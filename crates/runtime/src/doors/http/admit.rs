//! The way in: who may come through the door at all, and what the protocol says to those whose message it cannot read.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use contract::ToolError;

use super::super::rest::error_response;
use super::{App, HEALTH, guard, malformed, token};

pub(super) async fn admit(
    State(app): State<Arc<App>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Err(error) = guard::check(&app.options, request.headers(), request.uri()) {
        return refuse(&app, "(unknown)", &error);
    }
    if request.uri().path() != HEALTH {
        match token::caller(&app.options.tokens, request.headers()) {
            Ok(caller) => drop(request.extensions_mut().insert(caller)),
            Err(error) => return token::challenge(refuse(&app, "(unauthenticated)", &error)),
        }
    }
    malformed::as_json_rpc(next.run(request).await).await
}

fn refuse(app: &App, principal: &str, error: &ToolError) -> Response {
    tracing::warn!(%error, "a request was turned away at the door");
    app.pipeline.refused_at_door(principal, error.code);
    error_response(error)
}

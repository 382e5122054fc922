//! The REST transport: tools and resources for `curl` and for programs that do not speak MCP.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use contract::{Caller, ContentBlock, Contract, ErrorCode, ToolError, ToolOutput};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::http::HttpApp;
use super::session;
use crate::call::{ProtocolRefusal, ToolCall, ToolReply};

pub(super) fn build_routes() -> Router<Arc<HttpApp>> {
    Router::new()
        .route("/v1/tools", get(list_tools))
        .route("/v1/tools/{name}", get(show_tool).post(call_tool))
        .route("/v1/resources", get(list_resources))
        .route("/v1/resources/read", get(read_resource))
}

/// Returns a contract as shown by REST and `vouch tools --json`.
pub fn contract_view(contract: &Contract) -> Value {
    let mut view = serde_json::to_value(contract.to_definition()).unwrap_or_default();
    view["digest"] = contract.digest().into();
    view["errors"] = json!(contract.errors);
    view
}

async fn list_tools(
    State(app): State<Arc<HttpApp>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let catalog = app.pipeline.catalog();
    let is_shown = |contract: &&Contract| app.pipeline.may_call(&caller.principal, &contract.name);
    let tools: Vec<_> = catalog.contracts().filter(is_shown).map(contract_view).collect();
    Json(json!({"tools": tools})).into_response()
}

async fn show_tool(
    State(app): State<Arc<HttpApp>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
) -> Response {
    let Ok(Path(name)) = name else { return error_response(&invalid_name_error()) };
    let entry = app.pipeline.catalog().get(&name).cloned();
    match entry.filter(|_| app.pipeline.may_call(&caller.principal, &name)) {
        Some(entry) => Json(contract_view(&entry.contract)).into_response(),
        None => error_response(&crate::pipeline::unknown_tool(&name)),
    }
}

async fn call_tool(
    State(app): State<Arc<HttpApp>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let name = name.map(|Path(name)| name).map_err(|_| invalid_name_error());
    let body = body.map_err(|rejection| body_error(&rejection, &app));
    let request = name.and_then(|name| Ok((name, parse_arguments(&headers, &body?)?)));
    let call = request.map(|(name, arguments)| ToolCall::new(name, arguments, caller.clone()));
    run_call(&app, &caller, &headers, call).await
}

async fn list_resources(
    State(app): State<Arc<HttpApp>>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let may_read = |uri: &str| app.pipeline.may_read(&caller.principal, uri);
    let (resources, templates) = match app.pipeline.catalog().resources().cloned() {
        Some(catalog) => (catalog.list().await, catalog.templates().await),
        None => (Ok(Vec::new()), Ok(Vec::new())),
    };
    match (resources, templates) {
        (Ok(mut resources), Ok(mut templates)) => {
            resources.retain(|resource| may_read(&resource.uri));
            templates.retain(|template| may_read(&template.uri_template));
            Json(json!({"resources": resources, "resourceTemplates": templates})).into_response()
        }
        (Err(error), _) | (_, Err(error)) => error_response(&error),
    }
}

/// Query parameters of a resource read.
#[derive(Deserialize)]
struct ResourceQuery {
    uri: String,
}

async fn read_resource(
    State(app): State<Arc<HttpApp>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    query: Result<Query<ResourceQuery>, QueryRejection>,
) -> Response {
    let call = match query {
        Ok(Query(ResourceQuery { uri })) => Ok(ToolCall::for_resource(uri, caller.clone())),
        Err(_) => Err(ToolError::new(
            ErrorCode::InvalidInput,
            "pass exactly one resource address: /v1/resources/read?uri=<percent-encoded address>",
        )
        .with_detail("field", "uri")),
    };
    run_call(&app, &caller, &headers, call).await
}

/// Runs a call in the session named by the headers and returns its response. A request that never became a call is
/// recorded in the audit log as well.
async fn run_call(
    app: &HttpApp,
    caller: &Caller,
    headers: &HeaderMap,
    call: Result<ToolCall, ToolError>,
) -> Response {
    let call = call.and_then(|mut call| {
        call.caller.session = session::session_from_header(headers)?;
        Ok(call)
    });
    let mut call = match call {
        Ok(call) => call,
        Err(error) => {
            app.pipeline.record_refused_request(&caller.principal, error.code);
            return error_response(&error);
        }
    };
    call.traceparent =
        headers.get("traceparent").and_then(|value| value.to_str().ok()).map(str::to_owned);
    match app.pipeline.call(call).await {
        ToolReply::Done(output) => match output.to_tool_error() {
            Some(error) => error_response(&error),
            None => success_response(output),
        },
        ToolReply::Failed(error) => error_response(&error),
        // Elicitations are sent only to clients that declared the capability, and REST declares none.
        ToolReply::InputRequired { .. } | ToolReply::Refused(ProtocolRefusal::InvalidState(_)) => {
            error_response(&ToolError::new(
                ErrorCode::InternalError,
                "the call requested input, which REST does not support",
            ))
        }
        ToolReply::Refused(ProtocolRefusal::MissingCapability(capability)) => error_response(
            &ToolError::new(
                ErrorCode::ApprovalRequired,
                format!(
                    "this tool requires the client capability `{capability}`; call it over MCP"
                ),
            )
            .with_detail("ability", capability),
        ),
    }
}

pub(crate) fn parse_arguments(
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Map<String, Value>, ToolError> {
    let invalid = |message: String| ToolError::new(ErrorCode::InvalidInput, message);
    if body.is_empty() {
        return Ok(Map::new());
    }
    // Browsers send other content types without a preflight request. JSON forces a preflight, which the Origin check
    // refuses.
    let kind =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(invalid("send the arguments with `Content-Type: application/json`".into()));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(invalid("the body must be a JSON object with the arguments".into())),
        Err(error) => Err(invalid(format!("invalid JSON in the request body: {error}"))),
    }
}

fn invalid_name_error() -> ToolError {
    ToolError::new(ErrorCode::InvalidInput, "the tool name in the path is not valid UTF-8")
}

fn body_error(rejection: &BytesRejection, app: &HttpApp) -> ToolError {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let limit = app.options().max_body_bytes;
        ToolError::new(
            ErrorCode::TooLarge,
            format!("the request body is over the limit of {limit} bytes"),
        )
        .with_detail("limit", limit)
    } else {
        ToolError::new(ErrorCode::InvalidInput, "failed to read the request body")
    }
}

fn success_response(output: ToolOutput) -> Response {
    if let Some(text) = output.raw.as_ref().and_then(|raw| raw_structured(&raw.text)) {
        return ([(header::CONTENT_TYPE, "application/json")], text.to_owned()).into_response();
    }
    match output.structured {
        Some(value) => Json(value).into_response(),
        None => {
            let content: Vec<_> = output.content.iter().map(ContentBlock::to_block).collect();
            Json(json!({"content": content})).into_response()
        }
    }
}

/// Returns the structured content of a raw answer, byte for byte.
fn raw_structured(text: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct RawToolResult<'a> {
        #[serde(borrow, rename = "structuredContent")]
        structured: Option<&'a RawValue>,
    }
    let result: RawToolResult<'_> = serde_json::from_str(text).ok()?;
    result.structured.map(RawValue::get)
}

/// Returns the error envelope with the HTTP status of its code.
pub(super) fn error_response(error: &ToolError) -> Response {
    let status =
        StatusCode::from_u16(error.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(error.to_envelope())).into_response();
    if let Some(wait) = error.details.get("retryAfterMs").and_then(Value::as_u64) {
        response.headers_mut().insert(header::RETRY_AFTER, wait.div_ceil(1000).into());
    }
    response
}

pub(super) async fn no_such_route() -> Response {
    error_response(&ToolError::new(
        ErrorCode::NotFound,
        "unknown route; see /openapi.json, or /mcp for MCP",
    ))
}

//! REST: the same tools and resources for `curl` and for programs that speak no MCP.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use contract::{Caller, Code, Content, Contract, Output, ToolError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::http::App;
use super::session;
use crate::call::{Call, Refusal, Reply};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/v1/tools", get(list))
        .route("/v1/tools/{name}", get(show).post(call))
        .route("/v1/resources", get(list_resources))
        .route("/v1/resources/read", get(read_resource))
}

/// A contract as REST and `vouch tools --json` show it.
pub fn contract_view(contract: &Contract) -> Value {
    let mut view = serde_json::to_value(contract.definition()).unwrap_or_default();
    view["digest"] = contract.digest().into();
    view["errors"] = json!(contract.errors);
    view
}

async fn list(State(app): State<Arc<App>>, Extension(caller): Extension<Caller>) -> Response {
    let catalog = app.pipeline.catalog();
    let is_shown = |contract: &&Contract| app.pipeline.may_call(&caller.principal, &contract.name);
    let tools: Vec<_> = catalog.contracts().filter(is_shown).map(contract_view).collect();
    Json(json!({"tools": tools})).into_response()
}

async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
) -> Response {
    let Ok(Path(name)) = name else { return error_response(&unreadable_name()) };
    let entry = app.pipeline.catalog().get(&name).cloned();
    match entry.filter(|_| app.pipeline.may_call(&caller.principal, &name)) {
        Some(entry) => Json(contract_view(&entry.contract)).into_response(),
        None => error_response(&crate::pipeline::unknown_tool(&name)),
    }
}

async fn call(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    name: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let name = name.map(|Path(name)| name).map_err(|_| unreadable_name());
    let body = body.map_err(|rejection| body_error(&rejection, &app));
    let request = name.and_then(|name| Ok((name, arguments(&headers, &body?)?)));
    let call = request.map(|(name, arguments)| Call::new(name, arguments, caller.clone()));
    enter(&app, &caller, &headers, call).await
}

async fn list_resources(State(app): State<Arc<App>>) -> Response {
    let (resources, templates) = match app.pipeline.catalog().documents().cloned() {
        Some(documents) => (documents.list().await, documents.templates().await),
        None => (Ok(Vec::new()), Ok(Vec::new())),
    };
    match (resources, templates) {
        (Ok(resources), Ok(templates)) => {
            Json(json!({"resources": resources, "resourceTemplates": templates})).into_response()
        }
        (Err(error), _) | (_, Err(error)) => error_response(&error),
    }
}

#[derive(Deserialize)]
struct Address {
    uri: String,
}

async fn read_resource(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    address: Result<Query<Address>, QueryRejection>,
) -> Response {
    let call = match address {
        Ok(Query(Address { uri })) => Ok(Call::read(uri, caller.clone())),
        Err(_) => Err(ToolError::new(
            Code::InvalidInput,
            "name one resource in the query: /v1/resources/read?uri=<its address, percent-encoded>",
        )
        .with("field", "uri")),
    };
    enter(&app, &caller, &headers, call).await
}

/// Through the pipeline, in the session that the headers name; what never became a call leaves its line all the same.
async fn enter(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    call: Result<Call, ToolError>,
) -> Response {
    let call = call.and_then(|mut call| {
        call.caller.session = session::of_rest(headers)?;
        Ok(call)
    });
    let mut call = match call {
        Ok(call) => call,
        Err(error) => {
            app.pipeline.refused_at_door(&caller.principal, error.code);
            return error_response(&error);
        }
    };
    call.traceparent =
        headers.get("traceparent").and_then(|value| value.to_str().ok()).map(str::to_owned);
    match app.pipeline.call(call).await {
        Reply::Done(output) => match output.failure() {
            Some(error) => error_response(&error),
            None => success(output),
        },
        Reply::Failed(error) => error_response(&error),
        // Questions are only put to clients that declared they can answer; REST declares nothing.
        Reply::InputRequired { .. } | Reply::Refused(Refusal::BadState(_)) => error_response(
            &ToolError::new(Code::InternalError, "the call asked for what REST cannot answer"),
        ),
        Reply::Refused(Refusal::MissingAbility(ability)) => error_response(
            &ToolError::new(
                Code::ApprovalRequired,
                format!("this tool puts questions to its client ({ability}); call it over MCP"),
            )
            .with("ability", ability),
        ),
    }
}

fn arguments(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, ToolError> {
    let invalid = |message: String| ToolError::new(Code::InvalidInput, message);
    if body.is_empty() {
        return Ok(Map::new());
    }
    // Browsers send other types without asking first; JSON makes them ask, and the Origin guard answers.
    let kind =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(invalid("send the arguments with `Content-Type: application/json`".into()));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(invalid("the body must be a JSON object that holds the arguments".into())),
        Err(error) => Err(invalid(format!("the body is not valid JSON: {error}"))),
    }
}

fn unreadable_name() -> ToolError {
    ToolError::new(Code::InvalidInput, "the name of the tool in the path is not readable text")
}

fn body_error(rejection: &BytesRejection, app: &App) -> ToolError {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let limit = app.options.max_body_bytes;
        ToolError::new(
            Code::TooLarge,
            format!("the request body is over the limit of {limit} bytes"),
        )
        .with("limit", limit)
    } else {
        ToolError::new(Code::InvalidInput, "the request body could not be read to its end")
    }
}

fn success(output: Output) -> Response {
    if let Some(text) = output.raw.as_ref().and_then(|raw| raw_structured(&raw.text)) {
        return ([(header::CONTENT_TYPE, "application/json")], text.to_owned()).into_response();
    }
    match output.structured {
        Some(value) => Json(value).into_response(),
        None => {
            let content: Vec<_> = output.content.iter().map(Content::to_block).collect();
            Json(json!({"content": content})).into_response()
        }
    }
}

/// The structured part of an answer as its server wrote it.
fn raw_structured(text: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct Result<'a> {
        #[serde(borrow, rename = "structuredContent")]
        structured: Option<&'a RawValue>,
    }
    let result: Result<'_> = serde_json::from_str(text).ok()?;
    result.structured.map(RawValue::get)
}

/// The envelope with the status of its code.
pub(super) fn error_response(error: &ToolError) -> Response {
    let status =
        StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, Json(error.envelope())).into_response();
    if let Some(wait) = error.details.get("retryAfterMs").and_then(Value::as_u64) {
        response.headers_mut().insert(header::RETRY_AFTER, wait.div_ceil(1000).into());
    }
    response
}

pub(super) async fn no_such_route() -> Response {
    error_response(&ToolError::new(
        Code::NotFound,
        "there is nothing here; see /openapi.json, or /mcp for MCP",
    ))
}

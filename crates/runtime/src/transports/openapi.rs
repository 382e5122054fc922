//! OpenAPI 3.1 description of the REST transport, generated from the contracts.

use std::collections::BTreeMap;

use contract::{Contract, ErrorCode};
use serde_json::{Map, Value, json};

use super::mcp::ServerIdentity;
use super::session;
use crate::catalog::Catalog;
use crate::policy::ToolFilter;

/// Returns the document with all tools. `secured` is true if a bearer token is required.
pub fn build_document(catalog: &Catalog, identity: &ServerIdentity, secured: bool) -> Value {
    build_document_for(None, catalog, identity, secured)
}

/// Returns the document with the tools that a client may call.
pub(super) fn build_document_for(
    filter: Option<&dyn ToolFilter>,
    catalog: &Catalog,
    identity: &ServerIdentity,
    secured: bool,
) -> Value {
    let is_shown = |contract: &&Contract| filter.is_none_or(|filter| filter.allows(&contract.name));
    let mut paths = Map::new();
    paths.insert("/v1/tools".into(), json!({"get": list_operation(secured)}));
    for contract in catalog.contracts().filter(is_shown) {
        paths.insert(
            format!("/v1/tools/{}", contract.name),
            json!({"get": show_operation(contract, secured), "post": call_operation(contract, secured)}),
        );
    }
    if let Some(resources) = catalog.resources() {
        let list = json!({"get": list_resources_operation(secured)});
        paths.insert("/v1/resources".into(), list);
        let read = json!({"get": read_operation(&resources.entry.contract, secured)});
        paths.insert("/v1/resources/read".into(), read);
    }
    paths.insert("/healthz".into(), json!({"get": health_operation()}));
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": identity.name,
            "version": identity.version,
            "description": "Tools behind contracts: every call is validated, limited, approved where needed and audited.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": {"Error": error_schema()}},
    });
    if secured {
        document["components"]["securitySchemes"] =
            json!({"token": {"type": "http", "scheme": "bearer"}});
        document["security"] = json!([{"token": []}]);
    }
    document
}

fn list_operation(secured: bool) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"tools": {"type": "array", "items": {"type": "object"}}},
        "required": ["tools"],
    });
    json!({
        "operationId": "list_tools",
        "summary": "All contracts",
        "responses": build_responses(&schema, &admission_codes(secured)),
    })
}

fn show_operation(contract: &Contract, secured: bool) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"name": {"const": contract.name}},
        "required": ["name", "digest", "inputSchema"],
    });
    json!({
        "operationId": format!("show_{}", contract.name),
        "summary": format!("Contract of {}", contract.name),
        "responses": build_responses(&schema, &admission_codes(secured)),
    })
}

fn list_resources_operation(secured: bool) -> Value {
    let items = json!({"type": "array", "items": {"type": "object"}});
    let schema = json!({
        "type": "object",
        "properties": {"resources": items, "resourceTemplates": items},
        "required": ["resources", "resourceTemplates"],
    });
    let mut codes = admission_codes(secured);
    codes.push(ErrorCode::InternalError);
    json!({
        "operationId": "list_resources",
        "summary": "All resources and resource templates",
        "responses": build_responses(&schema, &codes),
    })
}

fn read_operation(contract: &Contract, secured: bool) -> Value {
    let uri = contract.input.as_value()["properties"]["uri"].clone();
    let session = session_parameter();
    json!({
        "operationId": "read_resource",
        "summary": contract.title.as_deref().unwrap_or(&contract.name),
        "description": contract.description,
        "parameters": [{"name": "uri", "in": "query", "required": true, "schema": uri}, session],
        "responses": build_responses(&output_schema(contract), &call_codes(contract, secured)),
    })
}

/// Returns the error codes of a call or a read.
fn call_codes(contract: &Contract, secured: bool) -> Vec<ErrorCode> {
    let mut codes = admission_codes(secured);
    codes.extend([
        ErrorCode::InvalidInput,
        ErrorCode::TooLarge,
        ErrorCode::RateLimited,
        ErrorCode::InternalError,
        ErrorCode::StorageUnavailable,
        ErrorCode::ExecutionTimeout,
    ]);
    if contract.constraints.approval {
        codes.extend([ErrorCode::ApprovalRequired, ErrorCode::ApprovalDenied]);
    }
    codes.extend(&contract.errors);
    codes
}

fn output_schema(contract: &Contract) -> Value {
    let schema = contract.output.as_ref().map(|schema| schema.as_value().clone());
    schema.unwrap_or_else(|| json!({"type": "object"}))
}

fn session_parameter() -> Value {
    json!({
        "name": session::HEADER,
        "in": "header",
        "description": "A name of your choice that groups calls into one session",
        "schema": session::handle_schema(),
    })
}

fn call_operation(contract: &Contract, secured: bool) -> Value {
    let examples: Map<_, _> = contract
        .examples
        .iter()
        .enumerate()
        .map(|(index, example)| {
            let name = example.title.clone().unwrap_or_else(|| format!("example {}", index + 1));
            (name, json!({"value": example.input}))
        })
        .collect();
    json!({
        "operationId": contract.name,
        "summary": contract.title.as_deref().unwrap_or(&contract.name),
        "description": contract.description,
        "parameters": [session_parameter()],
        "requestBody": {
            "required": contract.input.as_value().get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty()),
            "content": {"application/json": {"schema": contract.input.as_value(), "examples": examples}},
        },
        "responses": build_responses(&output_schema(contract), &call_codes(contract, secured)),
    })
}

fn health_operation() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "status": {"const": "ok"},
            "version": {"type": "string"},
            "tools": {"type": "integer"},
        },
        "required": ["status", "version", "tools"],
    });
    let mut operation = json!({
        "operationId": "health",
        "summary": "Health check",
        "responses": build_responses(&schema, &[ErrorCode::AccessDenied]),
    });
    operation["security"] = json!([]);
    operation
}

/// Returns the error codes of the admission checks before every route.
fn admission_codes(secured: bool) -> Vec<ErrorCode> {
    let mut codes = vec![ErrorCode::AccessDenied];
    if secured {
        codes.push(ErrorCode::Unauthenticated);
    }
    codes
}

fn build_responses(success: &Value, codes: &[ErrorCode]) -> Value {
    let mut by_status: BTreeMap<u16, Vec<ErrorCode>> = BTreeMap::new();
    for code in codes {
        let codes = by_status.entry(code.http_status()).or_default();
        if !codes.contains(code) {
            codes.push(*code);
        }
    }
    let mut responses = Map::new();
    responses.insert(
        "200".into(),
        json!({"description": "Done", "content": {"application/json": {"schema": success}}}),
    );
    for (status, codes) in by_status {
        let description: Vec<_> =
            codes.iter().map(|code| format!("{code}: {}", code.meaning())).collect();
        responses.insert(
            status.to_string(),
            json!({
                "description": description.join("; "),
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            }),
        );
    }
    responses.into()
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "success": {"const": false},
            "error": {
                "type": "object",
                "properties": {
                    "code": {"enum": ErrorCode::ALL},
                    "status": {"type": "integer"},
                    "message": {"type": "string"},
                    "details": {"type": "object"},
                },
                "required": ["code", "status", "message", "details"],
                "additionalProperties": false,
            },
        },
        "required": ["success", "error"],
        "additionalProperties": false,
    })
}

//! The REST door described as OpenAPI 3.1, generated from the contracts.

use std::collections::BTreeMap;

use contract::{Code, Contract};
use serde_json::{Map, Value, json};

use super::mcp::Face;
use super::session;
use crate::catalog::Catalog;
use crate::policy::ToolFilter;

/// The whole document. `secured` says that a bearer token is required.
pub fn document(catalog: &Catalog, face: &Face, secured: bool) -> Value {
    document_for(None, catalog, face, secured)
}

/// What of it a client may call.
pub(super) fn document_for(
    filter: Option<&dyn ToolFilter>,
    catalog: &Catalog,
    face: &Face,
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
    if let Some(documents) = catalog.documents() {
        let list = json!({"get": list_resources_operation(secured)});
        paths.insert("/v1/resources".into(), list);
        let read = json!({"get": read_operation(&documents.entry.contract, secured)});
        paths.insert("/v1/resources/read".into(), read);
    }
    paths.insert("/healthz".into(), json!({"get": health_operation()}));
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": face.name,
            "version": face.version,
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
        "responses": responses(&schema, &door_codes(secured)),
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
        "summary": format!("The contract of {}", contract.name),
        "responses": responses(&schema, &door_codes(secured)),
    })
}

fn list_resources_operation(secured: bool) -> Value {
    let items = json!({"type": "array", "items": {"type": "object"}});
    let schema = json!({
        "type": "object",
        "properties": {"resources": items, "resourceTemplates": items},
        "required": ["resources", "resourceTemplates"],
    });
    let mut codes = door_codes(secured);
    codes.push(Code::InternalError);
    json!({
        "operationId": "list_resources",
        "summary": "All resources, and the templates of more",
        "responses": responses(&schema, &codes),
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
        "responses": responses(&output(contract), &call_codes(contract, secured)),
    })
}

/// What a call or a read may answer besides its result.
fn call_codes(contract: &Contract, secured: bool) -> Vec<Code> {
    let mut codes = door_codes(secured);
    codes.extend([
        Code::InvalidInput,
        Code::TooLarge,
        Code::RateLimited,
        Code::InternalError,
        Code::ExecutionTimeout,
    ]);
    if contract.constraints.approval {
        codes.extend([Code::ApprovalRequired, Code::ApprovalDenied]);
    }
    codes.extend(&contract.errors);
    codes
}

fn output(contract: &Contract) -> Value {
    let schema = contract.output.as_ref().map(|schema| schema.as_value().clone());
    schema.unwrap_or_else(|| json!({"type": "object"}))
}

fn session_parameter() -> Value {
    json!({
        "name": session::HEADER,
        "in": "header",
        "description": "A name of your choice under which calls hang together as one session",
        "schema": session::schema(),
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
        "responses": responses(&output(contract), &call_codes(contract, secured)),
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
        "summary": "Whether the server is up",
        "responses": responses(&schema, &[Code::AccessDenied]),
    });
    operation["security"] = json!([]);
    operation
}

/// What the guards before every route may answer.
fn door_codes(secured: bool) -> Vec<Code> {
    let mut codes = vec![Code::AccessDenied];
    if secured {
        codes.push(Code::Unauthenticated);
    }
    codes
}

fn responses(success: &Value, codes: &[Code]) -> Value {
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes {
        let codes = by_status.entry(code.status()).or_default();
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
                    "code": {"enum": Code::ALL},
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

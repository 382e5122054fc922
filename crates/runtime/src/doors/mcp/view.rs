//! Contracts and answers in the SDK's types.

use std::sync::Arc;

use contract::{Content, Contract};
use rmcp::model::{ClientCapabilities, ContentBlock, ErrorData, JsonObject, MetaObject, Tool};
use serde_json::{Value, json};

/// Where the parts of a contract that MCP has no field for are found.
const META_KEY: &str = "dev.vouchsafe/contract";

pub(super) fn tool(contract: &Contract) -> Tool {
    let mut meta = MetaObject::new();
    meta.0.insert(
        META_KEY.to_owned(),
        json!({
            "digest": contract.digest(),
            "constraints": contract.constraints,
            "examples": contract.examples,
            "errors": contract.errors,
        }),
    );
    let schema = object(contract.input.as_value());
    let mut tool = Tool::new(contract.name.clone(), contract.description.clone(), schema);
    tool.title.clone_from(&contract.title);
    tool.output_schema = contract.output.as_ref().map(|schema| object(schema.as_value()));
    tool.annotations = serde_json::from_value(Value::Object(contract.annotations.clone())).ok();
    tool.meta = Some(meta);
    tool
}

fn object(schema: &Value) -> Arc<JsonObject> {
    // `true` and `false` are schemas too; MCP wants an object, and these are their object forms.
    Arc::new(match schema {
        Value::Object(map) => map.clone(),
        Value::Bool(false) => JsonObject::from_iter([("not".to_owned(), json!({}))]),
        _ => JsonObject::new(),
    })
}

pub(super) fn content(content: Vec<Content>) -> Result<Vec<ContentBlock>, ErrorData> {
    content
        .into_iter()
        .map(|content| match content {
            Content::Text(text) => Ok(ContentBlock::text(text)),
            Content::Block(block) => serde_json::from_value(block).map_err(|error| {
                tracing::error!(%error, "a tool answered a content block that MCP does not know");
                ErrorData::internal_error("the tool's answer could not be written", None)
            }),
        })
        .collect()
}

pub(super) fn capability(name: &str) -> ClientCapabilities {
    serde_json::from_value(json!({name: {}})).unwrap_or_default()
}

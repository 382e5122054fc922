//! Converts contracts and outputs to the SDK's types.

use std::sync::Arc;

use contract::{ContentBlock, Contract, ToolOutput};
use rmcp::model::{
    ClientCapabilities, ContentBlock as RpcContentBlock, JsonObject, MetaObject, Tool,
};
use serde::Serialize;
use serde_json::{Value, json};

/// The `_meta` key for the parts of a contract that MCP has no field for.
const META_KEY: &str = "dev.vouchsafe/contract";

pub(super) fn to_mcp_tool(contract: &Contract) -> Tool {
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
    let schema = to_json_object(contract.input.as_value());
    let mut tool = Tool::new(contract.name.clone(), contract.description.clone(), schema);
    tool.title.clone_from(&contract.title);
    tool.output_schema = contract.output.as_ref().map(|schema| to_json_object(schema.as_value()));
    tool.annotations = serde_json::from_value(Value::Object(contract.annotations.clone())).ok();
    tool.meta = Some(meta);
    tool
}

fn to_json_object(schema: &Value) -> Arc<JsonObject> {
    // `true` and `false` are schemas too. MCP requires an object, so their object forms are used.
    Arc::new(match schema {
        Value::Object(map) => map.clone(),
        Value::Bool(false) => JsonObject::from_iter([("not".to_owned(), json!({}))]),
        _ => JsonObject::new(),
    })
}

/// Returns the content in the SDK's types, or `None` if it has other blocks than text, which they cannot represent
/// without loss.
pub(super) fn to_text_blocks(content: &[ContentBlock]) -> Option<Vec<RpcContentBlock>> {
    let texts = content.iter().map(|content| match content {
        ContentBlock::Text(text) => Some(RpcContentBlock::text(text.clone())),
        ContentBlock::Block(_) => None,
    });
    texts.collect()
}

/// Returns the JSON text of a call's result.
pub(super) fn to_result_json(output: ToolOutput, is_typed: bool) -> String {
    let content: Vec<_> = output.content.iter().map(ContentBlock::to_block).collect();
    let mut result = JsonObject::new();
    if is_typed {
        result.insert("resultType".to_owned(), "complete".into());
    }
    result.insert("content".to_owned(), content.into());
    if let Some(structured) = output.structured {
        result.insert("structuredContent".to_owned(), structured);
    }
    result.insert("isError".to_owned(), output.is_error.into());
    Value::Object(result).to_string()
}

/// Returns true if a typed value serializes to exactly this JSON.
pub(super) fn has_same_json(typed: &impl Serialize, value: &Value) -> bool {
    let texts = (serde_json::to_string(typed), serde_json::to_string(value));
    matches!(texts, (Ok(typed), Ok(value)) if typed == value)
}

/// Returns the capability with this name; a dot separates a nested one.
pub(super) fn to_client_capabilities(name: &str) -> ClientCapabilities {
    let capability = match name.split_once('.') {
        Some((outer, inner)) => json!({outer: {inner: {}}}),
        None => json!({name: {}}),
    };
    serde_json::from_value(capability).unwrap_or_default()
}

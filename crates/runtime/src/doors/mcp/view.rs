//! Contracts and answers in the SDK's types.

use std::sync::Arc;

use contract::{Content, Contract, Output};
use rmcp::model::{ClientCapabilities, ContentBlock, JsonObject, MetaObject, Tool};
use serde::Serialize;
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

/// The content in the SDK's types; None if it is more than texts, which these do not hold without loss.
pub(super) fn texts(content: &[Content]) -> Option<Vec<ContentBlock>> {
    let texts = content.iter().map(|content| match content {
        Content::Text(text) => Some(ContentBlock::text(text.clone())),
        Content::Block(_) => None,
    });
    texts.collect()
}

/// The result of a call as it goes over the wire.
pub(super) fn result(output: Output, is_typed: bool) -> String {
    let content: Vec<_> = output.content.iter().map(Content::to_block).collect();
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

pub(super) fn is_same(typed: &impl Serialize, value: &Value) -> bool {
    let texts = (serde_json::to_string(typed), serde_json::to_string(value));
    matches!(texts, (Ok(typed), Ok(value)) if typed == value)
}

/// A capability, or with a dot one within another.
pub(super) fn capability(name: &str) -> ClientCapabilities {
    let capability = match name.split_once('.') {
        Some((outer, inner)) => json!({outer: {inner: {}}}),
        None => json!({name: {}}),
    };
    serde_json::from_value(capability).unwrap_or_default()
}

//! Somebody who accepts every form as it stands, with what its fields have by default.

use async_trait::async_trait;
use link::Asker;
use serde_json::{Map, Value, json};

pub(crate) struct AsItStands;

#[async_trait]
impl Asker for AsItStands {
    async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        match method {
            "elicitation/create" => Ok(filled(&params)),
            _ => Err(format!("nobody answers {method}")),
        }
    }
}

/// The answers to the questions of one round.
pub(crate) fn accept(requests: &Map<String, Value>) -> Map<String, Value> {
    requests.iter().map(|(key, request)| (key.clone(), filled(&request["params"]))).collect()
}

fn filled(params: &Value) -> Value {
    let fields = params["requestedSchema"]["properties"].as_object().into_iter().flatten();
    let content: Map<String, Value> = fields
        .filter_map(|(name, schema)| {
            let untouched = (schema["type"] == "boolean").then_some(Value::Bool(true));
            Some((name.clone(), schema.get("default").cloned().or(untouched)?))
        })
        .collect();
    json!({"action": "accept", "content": content})
}

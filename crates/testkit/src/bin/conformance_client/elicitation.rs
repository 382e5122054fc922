//! Answers elicitations: accepts every form with the defaults of its fields.

use async_trait::async_trait;
use link::ElicitationResponder;
use serde_json::{Map, Value, json};

/// Accepts every form with its defaults and rejects all other requests.
pub(crate) struct DefaultFormResponder;

#[async_trait]
impl ElicitationResponder for DefaultFormResponder {
    async fn respond(&self, method: &str, params: Value) -> Result<Value, String> {
        match method {
            "elicitation/create" => Ok(accept_with_defaults(&params)),
            _ => Err(format!("unsupported method {method}")),
        }
    }
}

/// Returns the responses to the requests of one round.
pub(crate) fn accept_requests(requests: &Map<String, Value>) -> Map<String, Value> {
    requests
        .iter()
        .map(|(key, request)| (key.clone(), accept_with_defaults(&request["params"])))
        .collect()
}

/// Returns an acceptance with the default of each field; booleans without a default are true.
fn accept_with_defaults(params: &Value) -> Value {
    let fields = params["requestedSchema"]["properties"].as_object().into_iter().flatten();
    let content: Map<String, Value> = fields
        .filter_map(|(name, schema)| {
            let fallback = (schema["type"] == "boolean").then_some(Value::Bool(true));
            Some((name.clone(), schema.get("default").cloned().or(fallback)?))
        })
        .collect();
    json!({"action": "accept", "content": content})
}

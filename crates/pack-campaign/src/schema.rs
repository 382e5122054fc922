//! Schemas of the tools: the agreed ones verbatim, and the others derived from types.

use contract::derive_schema;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// Input and output schema of one tool.
pub(crate) struct ToolSchemas {
    pub(crate) input: Value,
    pub(crate) output: Value,
}

impl ToolSchemas {
    /// Returns the schemas of a file in `schemas/`, which contains them as agreed in the contract.
    ///
    /// The one exception is the output of `dump_lcov`. The contract says a string, but structured content in MCP is
    /// an object: the string is its property `lcov`, and the text content is the string itself.
    pub(crate) fn from_contract_json(file: &str) -> Self {
        let mut schemas: Value = serde_json::from_str(file)
            .expect("the files in `schemas` are valid JSON, as a test checks");
        Self { input: schemas["input"].take(), output: schemas["output"].take() }
    }

    pub(crate) fn from_types<Input: JsonSchema, Output: JsonSchema>() -> Self {
        Self { input: derive_schema::<Input>(), output: derive_schema::<Output>() }
    }

    /// Adds the required input property `campaign`, which names one of several campaigns.
    pub(crate) fn with_campaign_parameter(mut self, handles: &[&str]) -> Self {
        let Some(input) = self.input.as_object_mut() else { return self };
        let campaign = json!({
            "type": "string",
            "enum": handles,
            "description": "Handle of the campaign",
        });
        if let Some(properties) = entry_or_insert(input, "properties", json!({})).as_object_mut() {
            properties.insert("campaign".to_owned(), campaign);
        }
        if let Some(required) = entry_or_insert(input, "required", json!([])).as_array_mut() {
            required.insert(0, "campaign".into());
        }
        self
    }
}

fn entry_or_insert<'a>(
    map: &'a mut Map<String, Value>,
    key: &str,
    default: Value,
) -> &'a mut Value {
    map.entry(key).or_insert(default)
}

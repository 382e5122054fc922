//! The schemas of the tools: those that were agreed on, word for word, and those that are derived from types.

use contract::schema_of;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// Of one tool.
pub(crate) struct Schemas {
    pub(crate) input: Value,
    pub(crate) output: Value,
}

impl Schemas {
    /// Those of a file in `schemas/`, which holds them as the contract has them.
    ///
    /// The one exception is what `dump_lcov` answers. The contract says a string, but a structured answer of MCP is an
    /// object: the string is its property `lcov`, and the text content is the string itself.
    pub(crate) fn agreed(file: &str) -> Self {
        let mut schemas: Value = serde_json::from_str(file)
            .expect("the files in `schemas` are JSON, which a test reads");
        Self { input: schemas["input"].take(), output: schemas["output"].take() }
    }

    pub(crate) fn of<Input: JsonSchema, Output: JsonSchema>() -> Self {
        Self { input: schema_of::<Input>(), output: schema_of::<Output>() }
    }

    /// The input names one of several campaigns.
    pub(crate) fn with_campaign(mut self, handles: &[&str]) -> Self {
        let Some(input) = self.input.as_object_mut() else { return self };
        let campaign = json!({
            "type": "string",
            "enum": handles,
            "description": "Which of the campaigns of this server is meant",
        });
        if let Some(properties) = entry(input, "properties", json!({})).as_object_mut() {
            properties.insert("campaign".to_owned(), campaign);
        }
        if let Some(required) = entry(input, "required", json!([])).as_array_mut() {
            required.insert(0, "campaign".into());
        }
        self
    }
}

fn entry<'a>(map: &'a mut Map<String, Value>, key: &str, default: Value) -> &'a mut Value {
    map.entry(key).or_insert(default)
}

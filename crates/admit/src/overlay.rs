//! The operator's overlay on an upstream tool: `contracts/<upstream>/<tool>.json`.
//!
//! An overlay supplies what the server omits and tightens what it leaves open. It takes precedence over the server's
//! definition; accepting more than the server does is reported. [`apply`] merges an overlay into a definition,
//! [`structure`] converts an answer into structured content.

pub(crate) mod apply;
mod structure;

use std::collections::BTreeMap;

use contract::{Schema, SchemaError, SideEffects, ToolExample, sha256_value_digest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use structure::structure_answer;

/// Conversion of an answer without `structuredContent` into structured content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResultMode {
    /// No conversion: the server answers with `structuredContent`.
    #[default]
    Structured,
    /// `{"text": …}` with all text blocks, joined by newlines.
    Text,
    /// The only text block, parsed as JSON.
    Json,
}

impl ResultMode {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Limits that an overlay sets. Omitted fields keep their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OverlayLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_effects: Option<SideEffects>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_minute: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_input_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_values: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<String>>,
}

/// The operator's overlay on one tool of one upstream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Overlay {
    /// Digest of the server's definition that this overlay was written for (see [`crate::digest_definition`]).
    #[serde(rename = "for", skip_serializing_if = "Option::is_none")]
    pub made_for: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// Descriptions of parameters, by property name or by JSON pointer into the input schema.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    #[serde(skip_serializing_if = "ResultMode::is_default")]
    pub result: ResultMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<OverlayLimits>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ToolExample>,
}

/// An error in the text of an overlay.
#[derive(Debug, thiserror::Error)]
pub enum OverlayError {
    /// Names the field, line and column.
    #[error("{0}")]
    Json(serde_json::Error),
    #[error("{0} is not an object")]
    NotAnObject(&'static str),
    #[error("`{field}` does not compile")]
    Schema { field: &'static str, source: SchemaError },
    #[error("`constraints.{0}` must be greater than 0")]
    Zero(&'static str),
    #[error("`{0}` is empty; set a value or omit it")]
    Empty(&'static str),
}

impl Overlay {
    /// Parses an overlay file and compiles its schemas.
    pub fn parse(text: &str) -> Result<Self, OverlayError> {
        // serde would accept an array as the fields in order.
        let value: Value = serde_json::from_str(text).map_err(OverlayError::Json)?;
        if !value.is_object() {
            return Err(OverlayError::NotAnObject("the file"));
        }
        if value.get("constraints").is_some_and(Value::is_array) {
            return Err(OverlayError::NotAnObject("`constraints`"));
        }
        let overlay: Self = serde_json::from_str(text).map_err(OverlayError::Json)?;
        for (field, schema) in
            [("inputSchema", &overlay.input_schema), ("outputSchema", &overlay.output_schema)]
        {
            if let Some(schema) = schema {
                Schema::compile(schema.clone())
                    .map_err(|source| OverlayError::Schema { field, source })?;
            }
        }
        for (field, text) in [
            ("title", overlay.title.as_deref()),
            ("description", overlay.description.as_deref()),
            ("for", overlay.made_for.as_deref()),
        ] {
            if text.is_some_and(|text| text.trim().is_empty()) {
                return Err(OverlayError::Empty(field));
            }
        }
        if overlay.parameters.values().any(|text| text.trim().is_empty()) {
            return Err(OverlayError::Empty("parameters"));
        }
        let limits = overlay.constraints.clone().unwrap_or_default();
        for (field, is_zero) in [
            ("ratePerMinute", limits.rate_per_minute == Some(0)),
            ("timeoutMs", limits.timeout_ms == Some(0)),
            ("maxInputBytes", limits.max_input_bytes == Some(0)),
            ("maxOutputBytes", limits.max_output_bytes == Some(0)),
        ] {
            if is_zero {
                return Err(OverlayError::Zero(field));
            }
        }
        Ok(overlay)
    }

    /// Returns the text to commit: fields in a fixed order, hidden characters escaped.
    pub fn to_pretty_json(&self) -> String {
        contract::text::to_visible_json(
            &serde_json::to_value(self).expect("an overlay is plain JSON"),
        )
    }

    /// Returns the digest of this overlay, independent of formatting and key order.
    pub fn digest(&self) -> String {
        sha256_value_digest(&serde_json::to_value(self).expect("an overlay is plain JSON"))
    }
}

//! Reads one entry of an untrusted `tools/list` as a [`ToolDefinition`], tolerating malformed fields.
//!
//! Only fields that MCP defines are read. A server's own `constraints` and `examples` are ignored: the operator sets
//! limits, and an example would be executed.

use contract::{ToolDefinition, canonical_json, sha256_digest};
use serde_json::{Map, Value};

use crate::reason::{AdmissionFinding, AdmissionRuleId};

/// Maximum size of a definition. Two schemas at their limits with long texts stay far below it.
pub(crate) const MAX_DEFINITION_BYTES: usize = 1024 * 1024;

/// Key of the reason in the placeholder that `link` substitutes for an unreadable definition (`link::DEFECT_KEY`).
/// Repeated here because this crate does not depend on `link`.
const DEFECT_KEY: &str = "dev.vouchsafe/defect";

/// Returns the digest of an entry, independent of key order. Pins and an overlay's `for` hold this digest.
pub fn digest_definition(tool: &Value) -> String {
    sha256_digest(canonical_json(tool).as_bytes())
}

/// Returns the reason if this entry is a placeholder for an unreadable definition. The text is untrusted, because a
/// server can send such an entry itself.
pub(crate) fn find_defect(entry: &Map<String, Value>) -> Option<&str> {
    entry.get(DEFECT_KEY).map(|why| why.as_str().unwrap_or("no reason given"))
}

/// Returns the entry's fields. Fields of the wrong type are omitted and reported.
pub(crate) fn read_definition(
    entry: &Map<String, Value>,
    found: &mut Vec<AdmissionFinding>,
) -> ToolDefinition {
    let mut text = |field: &str| match entry.get(field) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => {
            found.push(AdmissionFinding::new(
                AdmissionRuleId::WrongType,
                format!("/{field}"),
                format!("`{field}` is not a string"),
            ));
            None
        }
    };
    let (title, description) = (text("title"), text("description"));
    let schema = |field: &str| entry.get(field).filter(|schema| !schema.is_null()).cloned();
    let annotations = match entry.get("annotations") {
        None | Some(Value::Null) => None,
        Some(Value::Object(map)) => Some(map.clone()),
        Some(_) => {
            found.push(AdmissionFinding::new(
                AdmissionRuleId::WrongType,
                "/annotations",
                "`annotations` is not an object, so its hints are ignored",
            ));
            None
        }
    };
    ToolDefinition {
        name: entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
        title,
        description,
        input_schema: schema("inputSchema"),
        output_schema: schema("outputSchema"),
        annotations,
        constraints: None,
        examples: Vec::new(),
    }
}

/// Returns the fields that are not part of a [`ToolDefinition`]. They are not enforced, but a person or model
/// may see them.
pub(crate) fn collect_other_fields(entry: &Map<String, Value>) -> Value {
    const KNOWN: &[&str] =
        &["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
    entry
        .iter()
        .filter(|(key, _)| !KNOWN.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect::<Map<_, _>>()
        .into()
}

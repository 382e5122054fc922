//! One entry of somebody's `tools/list` as a [`Definition`], however odd it is.
//!
//! Only what MCP defines is taken over. A server's own `constraints` or `examples` are not: limits are the operator's,
//! and an example would be run.

use contract::{Definition, canonical_json, sha256_of};
use serde_json::{Map, Value};

use crate::reason::{Found, Id};

/// A longer definition is refused unread: two schemas at their limits and every text a model could want stay far below.
pub(crate) const MAX_DEFINITION_BYTES: usize = 1024 * 1024;

/// What `link` puts in place of a definition that it could not take as it came, with the reason (`link::DEFECT`). It is
/// repeated here because admission knows no connections.
const DEFECT: &str = "dev.vouchsafe/defect";

/// Names this exact entry, whatever the order of its keys: what pins and an overlay's `for` hold.
pub fn digest_of(tool: &Value) -> String {
    sha256_of(canonical_json(tool).as_bytes())
}

/// Why there is only a stand-in for this entry, if there is. A server can write one itself, so the words are a stranger's.
pub(crate) fn defect_of(entry: &Map<String, Value>) -> Option<&str> {
    entry.get(DEFECT).map(|why| why.as_str().unwrap_or("nobody says why"))
}

/// The entry's fields, those of the wrong type left out and reported.
pub(crate) fn definition_of(entry: &Map<String, Value>, found: &mut Vec<Found>) -> Definition {
    let mut text = |field: &str| match entry.get(field) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => {
            found.push(Found::new(
                Id::WrongType,
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
            found.push(Found::new(
                Id::WrongType,
                "/annotations",
                "`annotations` is not an object, so its hints are ignored",
            ));
            None
        }
    };
    Definition {
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

/// What MCP or a server puts beside the fields of a definition: nobody enforces it, but a person or model may see it.
pub(crate) fn rest_of(entry: &Map<String, Value>) -> Value {
    const KNOWN: &[&str] =
        &["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
    entry
        .iter()
        .filter(|(key, _)| !KNOWN.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect::<Map<_, _>>()
        .into()
}

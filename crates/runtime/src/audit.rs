//! Describes call arguments for the audit log: digests and shapes, no values.
//!
//! Values are added later, and only if the contract allows it.

use serde_json::{Map, Value, json};
use store::audit::AuditArguments;

/// Maximum depth of a described shape; the digest covers the rest.
const SHAPE_DEPTH: usize = 3;
/// Maximum number of keys described per object.
const SHAPE_WIDTH: usize = 32;
const KEY_LENGTH: usize = 64;

/// Returns the digest and the shape of the arguments, without values.
pub(crate) fn describe_arguments(arguments: &Map<String, Value>, digest: String) -> AuditArguments {
    AuditArguments { digest, shape: object_shape(arguments, SHAPE_DEPTH), values: None }
}

fn value_shape(value: &Value, depth: usize) -> Value {
    match value {
        Value::Null => json!("null"),
        Value::Bool(_) => json!("boolean"),
        Value::Number(number) if number.is_f64() => json!("number"),
        Value::Number(_) => json!("integer"),
        Value::String(text) => json!(format!("string({})", text.len())),
        Value::Array(items) => json!(format!("array({})", items.len())),
        Value::Object(map) if depth == 0 => json!(format!("object({})", map.len())),
        Value::Object(map) => object_shape(map, depth),
    }
}

fn object_shape(map: &Map<String, Value>, depth: usize) -> Value {
    map.iter()
        .take(SHAPE_WIDTH)
        .map(|(key, value)| {
            (key.chars().take(KEY_LENGTH).collect::<String>(), value_shape(value, depth - 1))
        })
        .collect::<Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_contains_types_and_sizes_but_no_values() {
        let Value::Object(map) = json!({
            "path": "secret", "n": 1, "f": 1.5, "list": [1, 2], "o": {"a": {"b": {"c": 1}}}, "z": null,
        }) else {
            unreachable!()
        };
        let arguments = describe_arguments(&map, "sha256:0".into());
        assert_eq!(
            arguments.shape,
            json!({
                "path": "string(6)", "n": "integer", "f": "number", "list": "array(2)",
                "o": {"a": {"b": "object(1)"}}, "z": "null",
            })
        );
    }
}

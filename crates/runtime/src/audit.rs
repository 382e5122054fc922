//! What the audit log keeps of a call: digests and shapes, and values only where the contract allows it.

use serde_json::{Map, Value, json};
use store::audit::Arguments;

/// How deep and how wide a shape is described; the digest covers the rest.
const SHAPE_DEPTH: usize = 3;
const SHAPE_WIDTH: usize = 32;
const KEY_LENGTH: usize = 64;

pub(crate) fn describe(arguments: &Map<String, Value>, digest: String) -> Arguments {
    Arguments { digest, shape: object_shape(arguments, SHAPE_DEPTH), values: None }
}

fn shape(value: &Value, depth: usize) -> Value {
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
            (key.chars().take(KEY_LENGTH).collect::<String>(), shape(value, depth - 1))
        })
        .collect::<Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_tells_types_and_sizes_but_no_values() {
        let Value::Object(map) = json!({
            "path": "secret", "n": 1, "f": 1.5, "list": [1, 2], "o": {"a": {"b": {"c": 1}}}, "z": null,
        }) else {
            unreachable!()
        };
        let arguments = describe(&map, "sha256:0".into());
        assert_eq!(
            arguments.shape,
            json!({
                "path": "string(6)", "n": "integer", "f": "number", "list": "array(2)",
                "o": {"a": {"b": "object(1)"}}, "z": "null",
            })
        );
    }
}

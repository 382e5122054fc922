//! The shape of arguments: names, types and sizes, never values.

use serde_json::{Map, Value};

/// Maximum depth and width of a shape; the digest covers the rest.
const DEPTH: usize = 3;
const WIDTH: usize = 32;

/// Returns the shape of the arguments.
pub(super) fn describe_arguments(arguments: &Map<String, Value>) -> Value {
    describe_object(arguments, DEPTH)
}

fn describe_object(map: &Map<String, Value>, depth: usize) -> Value {
    map.iter()
        .take(WIDTH)
        .map(|(name, value)| (crate::json::shorten_name(name), describe_value(value, depth - 1)))
        .collect::<Map<_, _>>()
        .into()
}

fn describe_value(value: &Value, depth: usize) -> Value {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "boolean".into(),
        Value::Number(number) if number.is_f64() => "number".into(),
        Value::Number(_) => "integer".into(),
        Value::String(text) => format!("string({})", text.len()).into(),
        Value::Array(items) => format!("array({})", items.len()).into(),
        Value::Object(map) if depth == 0 => format!("object({})", map.len()).into(),
        Value::Object(map) => describe_object(map, depth),
    }
}

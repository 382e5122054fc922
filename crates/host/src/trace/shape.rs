//! The shape of arguments: names, types and sizes, never values.

use serde_json::{Map, Value};

/// How deep and how wide a shape goes; the digest covers the rest.
const DEPTH: usize = 3;
const WIDTH: usize = 32;

pub(super) fn of(arguments: &Map<String, Value>) -> Value {
    object(arguments, DEPTH)
}

fn object(map: &Map<String, Value>, depth: usize) -> Value {
    map.iter()
        .take(WIDTH)
        .map(|(name, value)| (crate::json::short(name), shape(value, depth - 1)))
        .collect::<Map<_, _>>()
        .into()
}

fn shape(value: &Value, depth: usize) -> Value {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "boolean".into(),
        Value::Number(number) if number.is_f64() => "number".into(),
        Value::Number(_) => "integer".into(),
        Value::String(text) => format!("string({})", text.len()).into(),
        Value::Array(items) => format!("array({})", items.len()).into(),
        Value::Object(map) if depth == 0 => format!("object({})", map.len()).into(),
        Value::Object(map) => object(map, depth),
    }
}

//! Fills in declared defaults, through local references, `allOf` and arrays.

use serde_json::{Map, Value};

/// Maximum depth to which defaults are filled in; a recursive schema would not terminate otherwise.
const MAX_DEFAULT_DEPTH: usize = 16;

pub(super) fn has_default(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.contains_key("default") || map.values().any(has_default),
        Value::Array(items) => items.iter().any(has_default),
        _ => false,
    }
}

pub(super) fn fill_value(root: &Value, schema: &Value, instance: &mut Value, level: usize) {
    let Some(schema) = schema.as_object().filter(|_| level < MAX_DEFAULT_DEPTH) else { return };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str)
        && let Some(target) = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
    {
        fill_value(root, target, instance, level + 1);
    }
    for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        fill_value(root, part, instance, level + 1);
    }
    match instance {
        Value::Object(map) => fill_object(root, schema, map, level),
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| fill_value(root, schema, item, level + 1));
            }
        }
        _ => {}
    }
}

fn fill_object(
    root: &Value,
    schema: &Map<String, Value>,
    map: &mut Map<String, Value>,
    level: usize,
) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        if let Some(present) = map.get_mut(name) {
            fill_value(root, property, present, level + 1);
        } else if let Some(default) = property.get("default") {
            map.insert(name.clone(), default.clone());
        }
    }
}

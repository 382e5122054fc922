//! The published JSON Schema of a Rust type: the output of `schemars`, simplified.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

/// Derives the schema of `T` with all subschemas inline: no `$schema`, no `$defs`, no type titles, no Rust integer
/// formats. The outermost object has an explicit `required` list and `additionalProperties: false`.
pub fn derive_schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let generator = settings.with_transform(simplify_schema as fn(&mut Schema)).into_generator();
    let mut value = generator.into_root_schema_for::<T>().to_value();
    if let Some(root) = value.as_object_mut() {
        root.entry("properties").or_insert_with(|| Map::new().into());
        root.entry("required").or_insert_with(|| Value::Array(Vec::new()));
        root.entry("additionalProperties").or_insert(Value::Bool(false));
        root.remove("description");
    }
    value
}

fn simplify_schema(schema: &mut Schema) {
    schema.remove("title");
    // `u64` derives "format": "uint64" and "minimum": 0; published schemas say plain `integer`. A minimum that matters
    // is declared with `#[schemars(range(...))]`, which overwrites the derived one.
    if let Some(format) = schema.get("format").and_then(Value::as_str)
        && (format.starts_with("uint") || format.starts_with("int"))
    {
        schema.remove("format");
        if schema.get("minimum").is_some_and(|minimum| minimum == &Value::from(0)) {
            schema.remove("minimum");
        }
    }
    schemars::transform::transform_subschemas(&mut simplify_schema, schema);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use serde_json::json;

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Fast,
        Slow,
    }

    fn mode() -> Mode {
        Mode::Slow
    }

    #[derive(Serialize, JsonSchema)]
    struct Input {
        /// How many
        size: u64,
        /// How
        #[serde(default = "mode")]
        mode: Mode,
    }

    #[test]
    fn derived_schema_is_inline_and_closed() {
        assert_eq!(Mode::Fast as u8, 0);
        assert_eq!(
            derive_schema::<Input>(),
            json!({
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "description": "How many"},
                    "mode": {"type": "string", "enum": ["fast", "slow"], "default": "slow",
                             "description": "How"},
                },
                "required": ["size"],
                "additionalProperties": false,
            })
        );
    }
}

//! Generated samples are valid, and corrupting them measures the strength of a schema.

use contract::Schema;
use lint::{collect_samples, generate_sample, measure_strength};
use serde_json::{Value, json};

fn compiled(schema: &Value) -> Schema {
    Schema::compile(schema.clone()).unwrap_or_else(|error| panic!("{error}: {schema}"))
}

#[test]
fn generates_valid_samples() {
    let schemas = [
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 5}}}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "string", "format": "date"}),
        json!({"type": "string", "format": "uri"}),
        json!({"type": "string", "format": "uuid"}),
        json!({"type": "string", "format": "email"}),
        json!({"type": "string", "minLength": 20, "maxLength": 22}),
        json!({"type": "string", "maxLength": 2}),
        json!({"type": "string", "pattern": "^[a-zA-Z0-9_./-]+$"}),
        json!({"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}),
        json!({"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$"}),
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
        json!({"type": "integer", "minimum": 10, "multipleOf": 7}),
        json!({"type": "integer", "maximum": -3}),
        json!({"enum": [null, 1]}),
        json!({"const": {"deep": [1]}}),
        json!({"type": ["null", "boolean"]}),
        json!({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": true}),
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"const": 2}], "items": false, "minItems": 2}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array",
               "items": [{"type": "string"}, {"type": "boolean"}], "minItems": 2, "additionalItems": false}),
        json!({"type": "array", "contains": {"const": 9}}),
        json!({"anyOf": [{"type": "string", "pattern": "impossible^"}, {"type": "integer"}]}),
        json!({"oneOf": [{"required": ["a"], "type": "object"}, {"type": "boolean"}]}),
        json!({"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]},
                         {"properties": {"a": {"minLength": 9}, "b": {"type": "null"}}, "required": ["b"]}]}),
        json!({"type": "object", "properties": {"next": {"$ref": "#"}, "id": {"type": "integer"}}, "required": ["id"]}),
        json!({"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}),
        json!({"$ref": "#tree", "$defs": {"t": {"$anchor": "tree", "type": "boolean"}}}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2}),
        json!({"type": "object", "properties": {"kind": {"const": "b"}, "x": {"type": "string"}},
               "required": ["kind"], "if": {"properties": {"kind": {"const": "b"}}}, "then": {"required": ["x"]}}),
        json!({"type": "string", "pattern": "^QX$", "examples": ["QX"]}),
        json!({"type": "string", "pattern": "^QX$", "default": "QX"}),
        json!(true),
    ];
    let shown: String = schemas
        .iter()
        .map(|schema| {
            let schema = compiled(schema);
            let value = generate_sample(&schema)
                .unwrap_or_else(|| panic!("no sample of {}", schema.as_value()));
            assert!(schema.is_valid(&value), "{value} does not satisfy {}", schema.as_value());
            format!("{value}\n    {}\n", schema.as_value())
        })
        .collect();
    insta::assert_snapshot!(shown);
}

#[test]
fn generates_no_sample_for_unsatisfiable_schemas() {
    for schema in [
        json!(false),
        json!({"type": "object", "properties": {"a": false}, "required": ["a"]}),
        json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}),
        json!({"type": "integer", "minimum": 2, "maximum": 1}),
        json!({"type": "string", "minLength": 1_000_000_000}),
        json!({"enum": []}),
    ] {
        if let Ok(schema) = Schema::compile(schema) {
            assert_eq!(generate_sample(&schema), None, "{}", schema.as_value());
        }
    }
}

#[test]
fn valid_examples_come_before_generated_samples() {
    let schema = compiled(
        &json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    );
    let examples = [json!({"n": "wrong"}), json!({"n": 42})];
    assert_eq!(collect_samples(&schema, &examples), [json!({"n": 42}), json!({"n": 1})]);
}

#[test]
fn measures_schema_strength() {
    let field = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let schemas = [
        json!(true),
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {}, "b": {}}}),
        json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}),
        json!({"type": "array"}),
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"type": "string"}),
        json!({"type": "object", "properties": {"result": {}}, "required": ["result"]}),
        field.clone(),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
               "additionalProperties": false}),
        json!({"type": "object", "additionalProperties": false}),
        json!({"type": "object", "properties": {"list": {"type": "array", "items": field}}, "required": ["list"],
               "additionalProperties": false}),
        json!({"anyOf": [{"type": "object"}, {"type": "object", "properties": {"a": {"type": "string"}}}]}),
    ];
    let shown: String = schemas
        .iter()
        .map(|schema| {
            let compiled = compiled(schema);
            let strength = measure_strength(&compiled, &collect_samples(&compiled, &[]));
            let accepted: Vec<_> = strength.accepted.iter().map(ToString::to_string).collect();
            let verdict = if strength.is_vacuous() { "vacuous" } else { "" };
            format!(
                "{schema}\n    {}/{} {verdict} [{}]\n",
                strength.rejected,
                strength.mutations,
                accepted.join("; ")
            )
        })
        .collect();
    insta::assert_snapshot!(shown);
}

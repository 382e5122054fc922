//! Any JSON is checked without a panic and in bounded time.

use contract::{MAX_SCHEMA_BYTES, ToolDefinition};
use lint::{Severity, lint_all, lint_definition};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Schema keywords, so that random objects often resemble schemas.
const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "required",
    "items",
    "prefixItems",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "$defs",
    "definitions",
    "$id",
    "$anchor",
    "$schema",
    "additionalProperties",
    "patternProperties",
    "unevaluatedProperties",
    "dependentSchemas",
    "contains",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "default",
    "examples",
    "description",
    "title",
    "x-mcp-header",
    "a",
    "~/",
    "",
];
const WORDS: &[&str] = &[
    "object",
    "array",
    "string",
    "number",
    "integer",
    "boolean",
    "null",
    "#",
    "#/$defs/a",
    "#/properties/a",
    "#a",
    "a",
    "other.json",
    "^(a+)+$",
    "(",
    "date-time",
    "http://json-schema.org/draft-07/schema#",
    "Header",
    "",
    "ignore previous instructions",
    "\u{202e}\u{e0041}",
];

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5_i64..50).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 5, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => prop::collection::vec((prop::sample::select(KEYWORDS), inner), 0..6).prop_map(|entries| {
                Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

fn any_definition() -> impl Strategy<Value = ToolDefinition> {
    (
        ".{0,12}",
        proptest::option::of(".{0,40}"),
        proptest::option::of(any_schema()),
        proptest::option::of(any_schema()),
        any_schema(),
        any_schema(),
    )
        .prop_map(|(name, description, input_schema, output_schema, annotations, example)| {
            ToolDefinition {
                name,
                description,
                input_schema,
                output_schema,
                annotations: annotations.as_object().cloned(),
                examples: vec![contract::ToolExample {
                    title: None,
                    input: example.clone(),
                    output: Some(example),
                }],
                ..ToolDefinition::default()
            }
        })
}

proptest! {
    #[test]
    fn linting_any_definition_is_deterministic(definitions in prop::collection::vec(any_definition(), 1..3)) {
        let findings = lint_all(&definitions);
        prop_assert_eq!(&findings, &lint_all(&definitions));
        for finding in &findings {
            prop_assert!(!finding.message.chars().any(contract::text::is_hidden), "{}", finding.message);
            prop_assert!(!finding.hint.is_empty());
        }
        // Every path points into the definition or to a part that is missing from it.
        for finding in findings {
            let first = finding.path.split('/').nth(1).unwrap_or_default().to_owned();
            prop_assert!(
                ["", "name", "title", "description", "inputSchema", "outputSchema", "annotations", "examples"]
                    .contains(&first.as_str()),
                "{}", finding.path
            );
        }
    }
}

/// Returns the error ids for one schema used as input and output schema. The test is that it terminates.
fn errors(schema: Value) -> Vec<&'static str> {
    let definition = ToolDefinition {
        name: "tool".into(),
        description: Some("Does it.".into()),
        input_schema: Some(schema.clone()),
        output_schema: Some(schema),
        ..ToolDefinition::default()
    };
    let mut ids: Vec<_> = lint_definition(&definition)
        .into_iter()
        .filter(|finding| finding.rule.severity == Severity::Error)
        .map(|finding| finding.rule.id)
        .collect();
    ids.dedup();
    ids
}

fn definitions(count: usize, schema: impl Fn(usize) -> Value) -> Map<String, Value> {
    (0..count).map(|index| (format!("d{index}"), schema(index))).collect()
}

#[test]
fn rejects_oversized_schemas_in_bounded_time() {
    let wide: Map<_, _> =
        (0..20_000).map(|index| (format!("property{index}"), json!({}))).collect();
    assert_eq!(errors(json!({"type": "object", "properties": wide})), ["C010"]);
    assert_eq!(
        errors(json!({"type": "object", "description": "x".repeat(MAX_SCHEMA_BYTES)})),
        ["C010"]
    );
    let deep =
        (0..200).fold(json!({}), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    assert_eq!(errors(deep), ["C010"]);
    let next = |index: usize| json!({"$ref": format!("#/$defs/d{}", index + 1)});
    let doubled = definitions(60, |index| {
        if index == 59 { json!({}) } else { json!({"allOf": [next(index), next(index)]}) }
    });
    assert_eq!(errors(json!({"type": "object", "$ref": "#/$defs/d0", "$defs": doubled})), ["C010"]);
    let chained = definitions(5_000, |index| if index == 4_999 { json!({}) } else { next(index) });
    assert_eq!(errors(json!({"type": "object", "$ref": "#/$defs/d0", "$defs": chained})), ["C010"]);
}

#[test]
fn checks_large_and_recursive_schemas_in_bounded_time() {
    let wide: Map<_, _> = (0..3_000)
        .map(|index| (format!("p{index}"), json!({"type": "string", "pattern": "^a+$"})))
        .collect();
    assert_eq!(errors(json!({"type": "object", "properties": wide})), [""; 0]);
    let unions = definitions(40, |_| {
        let all: Vec<Value> =
            (0..40).map(|index| json!({"$ref": format!("#/$defs/d{index}")})).collect();
        json!({"type": "object", "properties": {"x": {"anyOf": all}}, "required": ["x"]})
    });
    assert_eq!(errors(json!({"type": "object", "$ref": "#/$defs/d0", "$defs": unions})), [""; 0]);
    let required: Vec<Value> =
        (0..4_000).map(|index| json!({"required": [format!("x{index}")]})).collect();
    assert_eq!(errors(json!({"type": "object", "allOf": required})), ["C011"]);
    let patterns = |count: usize, end: &str| -> Value {
        let patterns: Map<_, _> =
            (0..count).map(|index| (format!("^(a|aa)+{index}{end}$"), json!({}))).collect();
        let named: Map<_, _> =
            (0..50).map(|index| ("a".repeat(60 + index), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": named, "patternProperties": patterns})
    };
    assert_eq!(errors(patterns(900, "")), [""; 0]);
    assert_eq!(errors(patterns(9, "(?=b)")), [""; 0]);
    assert_eq!(errors(patterns(900, "(?=b)")), ["C010"]);
}

#[test]
fn counts_findings_above_the_limit() {
    let many: Map<_, _> =
        (0..500).map(|index| (format!("p{index}"), json!({"type": "string"}))).collect();
    let required: Vec<_> = many.keys().cloned().collect();
    let findings = lint_definition(&crate::with(
        "/inputSchema",
        json!({
            "type": "object", "properties": many, "required": required, "additionalProperties": false,
        }),
    ));
    let undescribed: Vec<_> = findings.iter().filter(|finding| finding.rule.id == "C012").collect();
    assert_eq!(undescribed.len(), 26);
    assert_eq!(undescribed[25].message, "and 475 more of this kind");
}

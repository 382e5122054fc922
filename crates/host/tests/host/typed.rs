//! Typed parsing: registered types, trees typed by the schema, and the values that both reject.

use contract::{Contract, ToolDefinition};
use host::{OutputParsers, SchemaValue, ToolOffer, TypedError, ValidatedOutput, parse_typed};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Doc {
    doc_id: String,
    content: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    page: u32,
    weight: f64,
}

fn offer(output: Option<Value>) -> ToolOffer {
    let definition = ToolDefinition {
        name: "docs__fetch".into(),
        input_schema: Some(json!({"type": "object"})),
        output_schema: output,
        ..ToolDefinition::default()
    };
    let contract = std::sync::Arc::new(Contract::new(definition, &[]).unwrap());
    ToolOffer { server: "docs".into(), tool: "fetch".into(), name: "docs__fetch".into(), contract }
}

fn open_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"doc_id": {"type": "string"}, "content": {"type": "string"}},
        "required": ["doc_id", "content"],
    })
}

#[test]
fn type_keeps_the_whole_answer_or_locates_the_mismatch() {
    let good =
        json!({"doc_id": "7", "content": "x", "size": 7.0, "parts": [{"page": 1, "weight": 2}]});
    let doc: Doc = parse_typed(&good).unwrap();
    assert_eq!((doc.size, doc.parts[0].page), (Some(7), 1));
    parse_typed::<Doc>(&json!({"doc_id": "7", "content": "x", "size": null})).unwrap();
    let bad = [
        json!({"doc_id": "7"}),
        json!({"doc_id": 7, "content": "x"}),
        json!({"doc_id": "7", "content": "x", "size": -1}),
        json!({"doc_id": "7", "content": "x", "parts": [{"page": 1, "weight": 1}, {"page": "1", "weight": 1}]}),
        json!({"doc_id": "7", "content": "x", "parts": [{"page": 1, "weight": 1, "odd/name": 2}]}),
        json!({"doc_id": "7", "content": "x", "parts": [{"page": 1}]}),
        json!({"doc_id": "7", "content": "x", "parts": {}}),
        json!({"doc_id": "7", "content": "x", "author": {"name": "secret\u{202e}"}}),
        json!([]),
        json!({"doc_id": "7", "content": "x", "size": 1.5}),
    ];
    let reasons: Vec<String> =
        bad.iter().map(|value| parse_typed::<Doc>(value).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(reasons.join("\n"));
}

#[test]
fn registered_type_is_returned() {
    let offer = offer(Some(open_schema()));
    let mut parsers = OutputParsers::default();
    parsers.register::<Doc>("docs", "fetch");
    let value =
        ValidatedOutput::new(&offer.contract, json!({"doc_id": "7", "content": "x"})).unwrap();
    let parsed = parsers.parse(&offer, &value).unwrap();
    assert_eq!(parsed.get::<Doc>().unwrap().doc_id, "7");
    assert!(parsed.get::<Part>().is_none() && parsed.schema_value().is_none());

    let more = json!({"doc_id": "7", "content": "x", "author": "me"});
    let more = ValidatedOutput::new(&offer.contract, more).unwrap();
    let error = parsers.parse(&offer, &more).unwrap_err();
    assert!(matches!(&error, TypedError::Dropped { path, .. } if path == "/author"), "{error}");
    parsers.register_partial::<Doc>("docs", "fetch");
    assert!(parsers.parse(&offer, &more).unwrap().get::<Doc>().is_some());
}

#[test]
fn schema_is_validated_before_parsing() {
    let reject = |output: Option<Value>, value: Value| {
        ValidatedOutput::new(&offer(output).contract, value).unwrap_err().to_string()
    };
    assert_eq!(
        reject(Some(open_schema()), json!({"doc_id": "7"})),
        "required at /content: `content` is required"
    );
    assert_eq!(reject(None, json!({})), "the contract of `docs__fetch` has no output schema");
}

#[test]
fn tool_without_registered_type_is_typed_by_its_schema() {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"}, "count": {"type": "integer"}, "share": {"type": "number"},
            "done": {"type": "boolean"}, "none": {"type": "null"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
            "free": {"type": "object"},
        },
    });
    let read = |value: Value| SchemaValue::parse(&schema, &value);
    let shape = read(json!({
        "name": "a", "count": 7.0, "share": 2, "done": true, "none": null, "tags": ["x"],
        "sizes": {"a": 1, "b": u64::MAX},
    }));
    insta::assert_debug_snapshot!(shape.unwrap());
    for (value, path) in
        [(json!({"name": "a", "nome": "b"}), "/nome"), (json!({"free": {"x": 1}}), "/free/x")]
    {
        assert_eq!(read(value), Err(TypedError::Undescribed { path: path.into() }));
    }
}

/// Returns a schema that describes exactly this value.
fn describing(value: &Value) -> Value {
    match value {
        Value::Null => json!({"type": "null"}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(_) => json!({"type": "number"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Array(items) => {
            json!({"prefixItems": items.iter().map(describing).collect::<Vec<_>>()})
        }
        Value::Object(map) => {
            let properties: serde_json::Map<_, _> =
                map.iter().map(|(name, value)| (name.clone(), describing(value))).collect();
            json!({"properties": properties})
        }
    }
}

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        "[a-zA-Z .~/é中]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c~/ ]{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn numbers_as_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().unwrap().into(),
        Value::Array(items) => items.iter().map(numbers_as_floats).collect(),
        Value::Object(map) => {
            map.iter().map(|(name, value)| (name.clone(), numbers_as_floats(value))).collect()
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn schema_value_keeps_described_fields_and_rejects_others(value in any_json()) {
        let shape = SchemaValue::parse(&describing(&value), &value).unwrap();
        prop_assert_eq!(numbers_as_floats(&shape.to_value()), numbers_as_floats(&value));
        let wrapped = json!({"known": value.clone(), "unknown": value});
        let schema = json!({"properties": {"known": describing(&wrapped["known"])}});
        let refused = SchemaValue::parse(&schema, &wrapped);
        prop_assert_eq!(refused, Err(TypedError::Undescribed { path: "/unknown".into() }));
    }

    #[test]
    fn typed_parsing_of_any_value_does_not_panic(value in any_json()) {
        if let Ok(doc) = parse_typed::<Doc>(&value) {
            prop_assert!(value["doc_id"] == doc.doc_id.as_str());
        }
    }
}

/// The cost per element must not depend on the size of the whole answer; this test would not finish otherwise.
///
/// It uses a name of one megabyte above 100,000 elements, and many names that match a pattern.
#[test]
fn long_names_and_many_elements_parse_in_linear_time() {
    let name = "k".repeat(1 << 20);
    let many = |last: u32| {
        let mut items = vec![json!(0); 100_000];
        items.push(json!(last));
        json!({ name.as_str(): items })
    };
    let schema = json!({
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "integer"}},
    });
    let shape = SchemaValue::parse(&schema, &many(7)).unwrap();
    assert!(matches!(shape.field(&name), Some(SchemaValue::List(items)) if items.len() == 100_001));
    type Bytes = std::collections::BTreeMap<String, Vec<u8>>;
    let error = parse_typed::<Bytes>(&many(256)).unwrap_err();
    let TypedError::Mismatch { path, reason, .. } = error else { panic!("{error}") };
    assert!(path.ends_with("k/100000"), "{}", path.len());
    assert_eq!(reason, "expected u8");

    let row = |index: usize| json!({ format!("x{index}"): index });
    let rows = json!({"rows": (0..20_000).map(row).collect::<Vec<_>>()});
    let pattern = json!({"patternProperties": {"^\\w{1,9}$": {"type": "integer"}}});
    let schema = json!({"properties": {"rows": {"type": "array", "items": pattern}}});
    assert_eq!(SchemaValue::parse(&schema, &rows).unwrap().to_value(), rows);
}

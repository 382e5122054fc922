//! Typed parsing from outside: registered types, the schema's own shape, and what both reject.

use contract::{Contract, Definition};
use host::{Offer, Parsers, Shape, TypedError, Validated, typed};
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

fn offer(output: Option<Value>) -> Offer {
    let definition = Definition {
        name: "docs__fetch".into(),
        input_schema: Some(json!({"type": "object"})),
        output_schema: output,
        ..Definition::default()
    };
    let contract = std::sync::Arc::new(Contract::new(definition, &[]).unwrap());
    Offer { server: "docs".into(), tool: "fetch".into(), name: "docs__fetch".into(), contract }
}

fn open_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"doc_id": {"type": "string"}, "content": {"type": "string"}},
        "required": ["doc_id", "content"],
    })
}

#[test]
fn a_type_takes_in_all_of_an_answer_or_says_where_it_stumbled() {
    let good =
        json!({"doc_id": "7", "content": "x", "size": 7.0, "parts": [{"page": 1, "weight": 2}]});
    let doc: Doc = typed(&good).unwrap();
    assert_eq!((doc.size, doc.parts[0].page), (Some(7), 1));
    typed::<Doc>(&json!({"doc_id": "7", "content": "x", "size": null})).unwrap();
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
        bad.iter().map(|value| typed::<Doc>(value).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(reasons.join("\n"));
}

#[test]
fn a_registered_type_is_what_a_program_gets() {
    let offer = offer(Some(open_schema()));
    let mut parsers = Parsers::default();
    parsers.register::<Doc>("docs", "fetch");
    let value = Validated::new(&offer.contract, json!({"doc_id": "7", "content": "x"})).unwrap();
    let parsed = parsers.parse(&offer, &value).unwrap();
    assert_eq!(parsed.get::<Doc>().unwrap().doc_id, "7");
    assert!(parsed.get::<Part>().is_none() && parsed.shape().is_none());

    let more = json!({"doc_id": "7", "content": "x", "author": "me"});
    let more = Validated::new(&offer.contract, more).unwrap();
    let error = parsers.parse(&offer, &more).unwrap_err();
    assert!(matches!(&error, TypedError::Dropped { path, .. } if path == "/author"), "{error}");
    parsers.register_partial::<Doc>("docs", "fetch");
    assert!(parsers.parse(&offer, &more).unwrap().get::<Doc>().is_some());
}

#[test]
fn the_schema_stands_before_every_parser() {
    let reject = |output: Option<Value>, value: Value| {
        Validated::new(&offer(output).contract, value).unwrap_err().to_string()
    };
    assert_eq!(
        reject(Some(open_schema()), json!({"doc_id": "7"})),
        "required at /content: `content` is required"
    );
    assert_eq!(reject(None, json!({})), "the contract of `docs__fetch` has no output schema");
}

#[test]
fn a_tool_without_a_type_parses_into_the_shape_of_its_schema() {
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
    let read = |value: Value| Shape::read(&schema, &value);
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

/// A schema that describes a value and nothing else.
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
    fn a_shape_holds_all_that_is_described_and_refuses_the_rest(value in any_json()) {
        let shape = Shape::read(&describing(&value), &value).unwrap();
        prop_assert_eq!(numbers_as_floats(&shape.to_value()), numbers_as_floats(&value));
        let wrapped = json!({"known": value.clone(), "unknown": value});
        let schema = json!({"properties": {"known": describing(&wrapped["known"])}});
        let refused = Shape::read(&schema, &wrapped);
        prop_assert_eq!(refused, Err(TypedError::Undescribed { path: "/unknown".into() }));
    }

    #[test]
    fn no_value_makes_typed_reading_panic(value in any_json()) {
        if let Ok(doc) = typed::<Doc>(&value) {
            prop_assert!(value["doc_id"] == doc.doc_id.as_str());
        }
    }
}

/// An answer may have one name of a megabyte above a hundred thousand elements, and names without end below a pattern. What is
/// done for each of them must not cost what the whole does: this test would not end.
#[test]
fn long_names_and_many_elements() {
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
    let shape = Shape::read(&schema, &many(7)).unwrap();
    assert!(matches!(shape.field(&name), Some(Shape::List(items)) if items.len() == 100_001));
    type Bytes = std::collections::BTreeMap<String, Vec<u8>>;
    let error = typed::<Bytes>(&many(256)).unwrap_err();
    let TypedError::Mismatch { path, reason, .. } = error else { panic!("{error}") };
    assert!(path.ends_with("k/100000"), "{}", path.len());
    assert_eq!(reason, "expected u8");

    let row = |index: usize| json!({ format!("x{index}"): index });
    let rows = json!({"rows": (0..20_000).map(row).collect::<Vec<_>>()});
    let pattern = json!({"patternProperties": {"^\\w{1,9}$": {"type": "integer"}}});
    let schema = json!({"properties": {"rows": {"type": "array", "items": pattern}}});
    assert_eq!(Shape::read(&schema, &rows).unwrap().to_value(), rows);
}

//! Tests draft overlays learned from real answers.

use admit::learn::{SampleSet, draft_overlay, infer_schema};
use admit::{Overlay, ToolStatus};
use contract::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{admit_with_overlays, clean_tool, with_value};

fn show_inferred(values: &[Value]) -> String {
    let inferred = infer_schema(values);
    format!("{}\n  {}", inferred.schema, inferred.missing.join("\n  "))
}

#[test]
fn infers_schemas_from_values() {
    let tables: &[&[Value]] = &[
        &[json!({"id": 1, "name": "a", "tags": []})],
        &[json!({"id": 1, "name": "a"}), json!({"id": 2.5, "name": null, "note": "x"})],
        &[
            json!({"when": "2026-01-15T10:30:00Z", "link": "https://a.example/x", "day": "2026-01-15"}),
            json!({"when": "2026-01-16T10:30:00+02:00", "link": "https://b.example", "day": "x"}),
        ],
        &[json!({"files": {"src/a.rs": 1, "src/b.rs": 2}})],
        &[json!({"by_user": {"ann": {"n": 1}}}), json!({"by_user": {"bob": {"n": 2}}})],
        &[json!({"rows": [{"a": 1}, {"a": 2, "b": "x"}, {"a": null}]})],
        &[json!({"mixed": [1, "a", {"k": true}, [null]]})],
        &[json!({"gone": null, "empty": {}})],
        &[json!({})],
        &[],
    ];
    let shown: Vec<String> = tables.iter().map(|values| show_inferred(values)).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

fn text_result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn structured_result(value: Value) -> Value {
    json!({"content": [], "structuredContent": value})
}

fn draft_from(tool: &Value, answers: &[Value]) -> (String, Overlay) {
    let mut samples = SampleSet::default();
    for (index, answer) in answers.iter().enumerate() {
        samples.add_result(json!({"path": format!("f{index}")}), answer);
    }
    let draft = draft_overlay(tool, &samples);
    let text = draft.overlay.to_pretty_json();
    let overlay = Overlay::parse(&text).expect("a draft is an overlay");
    assert_eq!(overlay, draft.overlay);
    (format!("{text}{}", draft.notes.join("\n")), overlay)
}

fn bare_tool() -> Value {
    let tool = with_value(clean_tool("read"), "/outputSchema", Value::Null);
    with_value(tool, "/inputSchema/properties/path/description", Value::Null)
}

#[test]
fn draft_admits_refused_tool() {
    let answers = [
        (text_result("plain words"), text_result("other words")),
        (text_result(r#"{"size": 3}"#), text_result(r#"{"size": 4}"#)),
        (
            structured_result(json!({"size": 3, "at": null})),
            structured_result(json!({"size": 4, "at": "x"})),
        ),
    ];
    let mut shown = Vec::new();
    for (first, second) in answers {
        let (text, overlay) = draft_from(&bare_tool(), &[first, second]);
        let overlay = serde_json::to_value(&overlay).expect("an overlay is JSON");
        let admission = admit_with_overlays(&[bare_tool()], &[("read", overlay)]);
        assert_eq!(admission.tools[0].state, ToolStatus::Overlaid, "{text}");
        shown.push(text);
    }
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn draft_notes_list_gaps() {
    let long = "s".repeat(201);
    let cases = [
        (bare_tool(), vec![]),
        (json!({"name": "mute"}), vec![structured_result(json!({"a": 1}))]),
        (bare_tool(), vec![structured_result(json!({}))]),
        (bare_tool(), vec![structured_result(json!({"items": [], "total": 0}))]),
        (bare_tool(), vec![structured_result(json!({"token": long}))]),
        (bare_tool(), vec![structured_result(json!({"a": 1})), text_result("no")]),
        (clean_tool("read"), vec![structured_result(json!({"content": "a", "size": 1}))]),
        (clean_tool("read"), vec![structured_result(json!({"content": "a", "size": "1"}))]),
        (json!(7), vec![text_result("[1]")]),
    ];
    let shown: Vec<String> =
        cases.iter().map(|(tool, answers)| draft_from(tool, answers).0).collect();
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn samples_are_bounded_and_exclude_errors() {
    let mut samples = SampleSet::default();
    assert!(
        !samples.add_result(json!({}), &json!({"isError": true, "structuredContent": {"a": 1}}))
    );
    assert!(!samples.add_result(json!({}), &json!({"content": [{"type": "image"}]})));
    assert!(!samples.add_result(json!({}), &json!(7)));
    assert!(
        samples.add_result(json!({}), &text_result("a"))
            && !samples.add_result(json!({}), &text_result("a"))
    );
    assert!(!samples.add_result(json!({}), &text_result(&"x".repeat(9 << 20))));
    (0..100).for_each(|n| _ = samples.add_result(json!({"n": n}), &text_result("a")));
    assert_eq!(samples.len(), 64);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(vec![
            "2026-01-15T10:30:00Z",
            "2026-13-15T10:30:00Z",
            "1985-04-12T23:20:50.52Z",
            "https://a.example",
            "http://[",
            "https://a b",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[ab/]{0,2}|.{0,4}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn inferred_schema_accepts_its_samples(values in prop::collection::vec(any_value(), 0..6)) {
        let inferred = infer_schema(&values);
        let schema = Schema::compile(inferred.schema).unwrap();
        for value in &values {
            prop_assert!(schema.is_valid(value), "{} by {}", value, schema.as_value());
        }
    }
}

#[test]
fn infers_schema_of_deep_value_in_time() {
    let deep = (0..100).fold(json!(1), |inner, n| json!({"a": inner, "b": n}));
    let inferred = infer_schema(&[deep.clone(), json!({"a": {"c": 1}})]);
    let schema = Schema::compile(inferred.schema).unwrap();
    assert!(schema.is_valid(&deep));
    insta::assert_snapshot!(inferred.missing.join("\n"));
}

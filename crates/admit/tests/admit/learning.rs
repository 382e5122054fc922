//! Overlays drafted from real answers.

use admit::learn::{Samples, draft, infer};
use admit::{Overlay, State};
use contract::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{clean, judge_with, with};

fn check(values: &[Value]) -> String {
    let inferred = infer(values);
    format!("{}\n  {}", inferred.schema, inferred.missing.join("\n  "))
}

#[test]
fn schemas_from_values() {
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
    let shown: Vec<String> = tables.iter().map(|values| check(values)).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn structured(value: Value) -> Value {
    json!({"content": [], "structuredContent": value})
}

fn drafted(tool: &Value, answers: &[Value]) -> (String, Overlay) {
    let mut samples = Samples::default();
    for (index, answer) in answers.iter().enumerate() {
        samples.add(json!({"path": format!("f{index}")}), answer);
    }
    let draft = draft(tool, &samples);
    let text = draft.overlay.to_pretty_json();
    let overlay = Overlay::parse(&text).expect("a draft is an overlay");
    assert_eq!(overlay, draft.overlay);
    (format!("{text}{}", draft.notes.join("\n")), overlay)
}

fn bare() -> Value {
    let tool = with(clean("read"), "/outputSchema", Value::Null);
    with(tool, "/inputSchema/properties/path/description", Value::Null)
}

#[test]
fn a_draft_makes_a_refused_tool_run() {
    let answers = [
        (text("plain words"), text("other words")),
        (text(r#"{"size": 3}"#), text(r#"{"size": 4}"#)),
        (structured(json!({"size": 3, "at": null})), structured(json!({"size": 4, "at": "x"}))),
    ];
    let mut shown = Vec::new();
    for (first, second) in answers {
        let (text, overlay) = drafted(&bare(), &[first, second]);
        let overlay = serde_json::to_value(&overlay).expect("an overlay is JSON");
        let admission = judge_with(&[bare()], &[("read", overlay)]);
        assert_eq!(admission.tools[0].state, State::Overlaid, "{text}");
        shown.push(text);
    }
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn a_draft_says_what_it_does_not_know() {
    let long = "s".repeat(201);
    let cases = [
        (bare(), vec![]),
        (json!({"name": "mute"}), vec![structured(json!({"a": 1}))]),
        (bare(), vec![structured(json!({}))]),
        (bare(), vec![structured(json!({"items": [], "total": 0}))]),
        (bare(), vec![structured(json!({"token": long}))]),
        (bare(), vec![structured(json!({"a": 1})), text("no")]),
        (clean("read"), vec![structured(json!({"content": "a", "size": 1}))]),
        (clean("read"), vec![structured(json!({"content": "a", "size": "1"}))]),
        (json!(7), vec![text("[1]")]),
    ];
    let shown: Vec<String> = cases.iter().map(|(tool, answers)| drafted(tool, answers).0).collect();
    insta::assert_snapshot!(shown.join("\n\n"));
}

#[test]
fn samples_are_bounded_and_errors_teach_nothing() {
    let mut samples = Samples::default();
    assert!(!samples.add(json!({}), &json!({"isError": true, "structuredContent": {"a": 1}})));
    assert!(!samples.add(json!({}), &json!({"content": [{"type": "image"}]})));
    assert!(!samples.add(json!({}), &json!(7)));
    assert!(samples.add(json!({}), &text("a")) && !samples.add(json!({}), &text("a")));
    assert!(!samples.add(json!({}), &text(&"x".repeat(9 << 20))));
    (0..100).for_each(|n| _ = samples.add(json!({"n": n}), &text("a")));
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
    fn an_inferred_schema_accepts_its_samples(values in prop::collection::vec(any_value(), 0..6)) {
        let inferred = infer(&values);
        let schema = Schema::compile(inferred.schema).unwrap();
        for value in &values {
            prop_assert!(schema.is_valid(value), "{} by {}", value, schema.as_value());
        }
    }
}

#[test]
fn a_deep_value_is_learned_in_time() {
    let deep = (0..100).fold(json!(1), |inner, n| json!({"a": inner, "b": n}));
    let inferred = infer(&[deep.clone(), json!({"a": {"c": 1}})]);
    let schema = Schema::compile(inferred.schema).unwrap();
    assert!(schema.is_valid(&deep));
    insta::assert_snapshot!(inferred.missing.join("\n"));
}

//! Tests the comparison of schemas, keyword by keyword: every change as one of an input schema and of an output schema.

use admit::classify_change;
use serde_json::{Value, json};

use crate::{admit_with_overlays, clean_tool, with_value};

// Classes of a change to an input schema and to an output schema.
const NARROWED: (&str, &str) = ("breaking", "additive");
const WIDENED: (&str, &str) = ("additive", "breaking");
const BOTH: (&str, &str) = ("additive, breaking", "additive, breaking");
/// Also a removed property.
const UNKNOWN: (&str, &str) = ("breaking", "breaking");
const ADDED: (&str, &str) = ("additive", "additive");
const TEXT: (&str, &str) = ("descriptive", "descriptive");
const DEFAULT: (&str, &str) = ("breaking", "descriptive");
const NARROWED_AND_UNKNOWN: (&str, &str) = ("breaking", "additive, breaking");
const NARROWED_AND_TEXT: (&str, &str) = ("descriptive, breaking", "descriptive, additive");

fn classify_as(field: &str, old: &Value, new: &Value) -> String {
    let tool = |schema: &Value| json!({"name": "t", "description": "Does it.", field: schema});
    classify_change(&tool(old), &tool(new)).expect("the schemas differ").summary()
}

fn check_changes(table: &[(Value, Value, (&str, &str))]) {
    for (old, new, (input, output)) in table {
        assert_eq!(classify_as("inputSchema", old, new), *input, "input: {old} to {new}");
        assert_eq!(classify_as("outputSchema", old, new), *output, "output: {old} to {new}");
        // The same one level deeper, where only the parts of a property change.
        let deep = |schema: &Value| json!({"type": "object", "properties": {"a": {}, "b": schema}});
        assert_eq!(classify_as("inputSchema", &deep(old), &deep(new)), *input, "{old} to {new}");
        assert_eq!(classify_as("outputSchema", &deep(old), &deep(new)), *output, "{old} to {new}");
    }
}

#[test]
fn compares_sets_of_values() {
    let all = json!(["null", "boolean", "integer", "number", "string", "array", "object"]);
    check_changes(&[
        (json!({}), json!({"const": 1}), NARROWED),
        (json!({"const": 1}), json!({}), WIDENED),
        (json!({"const": 1}), json!({"const": 2}), BOTH),
        (json!({}), json!({"enum": [1]}), NARROWED),
        (json!({"enum": [1]}), json!({}), WIDENED),
        (json!({"enum": [1, 2]}), json!({"enum": [1]}), NARROWED),
        (json!({"enum": [1]}), json!({"enum": [1, 2]}), WIDENED),
        (json!({"enum": [1]}), json!({"enum": [2]}), BOTH),
        (json!({"enum": [1, 2]}), json!({"enum": [2, 1]}), TEXT),
        (json!({"enum": "a"}), json!({"enum": "b"}), UNKNOWN),
        (json!({"type": "string"}), json!({"type": ["string", "null"]}), WIDENED),
        (json!({"type": ["string", "null"]}), json!({"type": "string"}), NARROWED),
        (json!({"type": "string"}), json!({"type": "integer"}), BOTH),
        (json!({"type": "integer"}), json!({"type": "number"}), WIDENED),
        (json!({"type": "number"}), json!({"type": "integer"}), NARROWED),
        (json!({"type": "number"}), json!({"type": ["number", "integer"]}), TEXT),
        (json!({"type": "string"}), json!({"type": ["string"]}), TEXT),
        (json!({}), json!({"type": "string"}), NARROWED),
        (json!({"type": "string"}), json!({}), WIDENED),
        (json!({}), json!({"type": all}), TEXT),
        (json!({"type": ["string", 7]}), json!({"type": "string"}), UNKNOWN),
        (json!({"type": 7}), json!({"type": "string"}), UNKNOWN),
        (json!({"type": "string"}), json!({"type": 7}), UNKNOWN),
        (json!({"required": []}), json!({"required": ["a"]}), NARROWED),
        (json!({}), json!({"required": ["a"]}), NARROWED),
        (json!({"required": ["a"]}), json!({}), WIDENED),
        (json!({"required": ["a"]}), json!({"required": ["b"]}), BOTH),
        (json!({"required": ["a", "b"]}), json!({"required": ["b", "a"]}), TEXT),
        (json!({}), json!({"required": []}), TEXT),
        (json!({"required": 7}), json!({"required": ["a"]}), UNKNOWN),
        (json!({"required": ["a"]}), json!({"required": 7}), UNKNOWN),
        (json!({}), json!({"uniqueItems": true}), NARROWED),
        (json!({"uniqueItems": false}), json!({"uniqueItems": true}), NARROWED),
        (json!({"uniqueItems": true}), json!({}), WIDENED),
        (json!({"uniqueItems": false}), json!({}), TEXT),
    ]);
}

#[test]
fn compares_bounds() {
    let lower = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
    let upper =
        ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"];
    let is_lower = |keyword: &str| lower.contains(&keyword);
    for keyword in lower.into_iter().chain(upper) {
        let bound = |value: Value| json!({ keyword: value });
        let (more, less) =
            if is_lower(keyword) { (NARROWED, WIDENED) } else { (WIDENED, NARROWED) };
        check_changes(&[
            (bound(json!(4)), bound(json!(5)), more),
            (bound(json!(5)), bound(json!(4)), less),
            (json!({}), bound(json!(5)), NARROWED),
            (bound(json!(5)), json!({}), WIDENED),
            (bound(json!("5")), bound(json!(5)), UNKNOWN),
            (bound(json!(5)), bound(json!("5")), UNKNOWN),
            (bound(json!("5")), json!({}), UNKNOWN),
        ]);
    }
    // Numbers that are equal as doubles. The title differs too, because equal definitions have no change.
    let titled = |value: Value, title: &str| json!({"maximum": value, "title": title});
    const UNKNOWN_AND_TEXT: (&str, &str) = ("descriptive, breaking", "descriptive, breaking");
    for (old, new, classes) in [
        (json!(5), json!(5.0), TEXT),
        (json!(9_007_199_254_740_992_u64), json!(9_007_199_254_740_993_u64), UNKNOWN_AND_TEXT),
        (json!(-9_007_199_254_740_992_i64), json!(-9_007_199_254_740_993_i64), UNKNOWN_AND_TEXT),
        (json!(9_000_000_000_000_000_u64), json!(9e15), UNKNOWN_AND_TEXT),
        (json!(8_999_999_999_999_999_u64), json!(8_999_999_999_999_999.0), TEXT),
    ] {
        check_changes(&[(titled(old, "a"), titled(new, "b"), classes)]);
    }
    for keyword in ["pattern", "format", "multipleOf"] {
        check_changes(&[
            (json!({}), json!({ keyword: "a" }), NARROWED),
            (json!({ keyword: "a" }), json!({}), WIDENED),
            (json!({ keyword: "a" }), json!({ keyword: "b" }), BOTH),
        ]);
    }
}

#[test]
fn compares_parts() {
    let short = || json!({"maxLength": 4});
    let long = || json!({"maxLength": 5});
    check_changes(&[
        (json!({"properties": {}}), json!({"properties": {"a": {}}}), ADDED),
        (json!({}), json!({"properties": {"a": {}}}), ADDED),
        (json!({"properties": {"a": {}}}), json!({"properties": {}}), UNKNOWN),
        (json!({"properties": {"a": {}}}), json!({}), UNKNOWN),
        (json!({"properties": {"a": long()}}), json!({"properties": {"a": short()}}), NARROWED),
        (json!({"properties": {"a": {}}}), json!({"properties": 7}), UNKNOWN),
        (json!({"properties": 7}), json!({"properties": {"a": {}}}), UNKNOWN),
        (json!({"additionalProperties": true}), json!({"additionalProperties": false}), NARROWED),
        (json!({"additionalProperties": false}), json!({"additionalProperties": true}), WIDENED),
        (json!({}), json!({"additionalProperties": false}), NARROWED),
        (json!({}), json!({"additionalProperties": short()}), NARROWED),
        (json!({"additionalProperties": short()}), json!({}), WIDENED),
        (json!({"additionalProperties": false}), json!({"additionalProperties": short()}), WIDENED),
        (
            json!({"additionalProperties": short()}),
            json!({"additionalProperties": false}),
            NARROWED,
        ),
        (json!({"additionalProperties": short()}), json!({"additionalProperties": 7}), UNKNOWN),
        (json!({"additionalItems": long()}), json!({"additionalItems": short()}), NARROWED),
        (json!({"items": long()}), json!({"items": short()}), NARROWED),
        (json!({"items": [long()]}), json!({"items": [short()]}), NARROWED),
        (json!({"items": [long()]}), json!({"items": [long(), short()]}), UNKNOWN),
        (json!({"items": [long()]}), json!({"items": false}), UNKNOWN),
        (json!({"items": false}), json!({"items": [long()]}), UNKNOWN),
        (json!({"prefixItems": [long()]}), json!({"prefixItems": [short()]}), NARROWED),
        (json!({}), json!({"prefixItems": [short()]}), UNKNOWN),
        (json!({"allOf": [long()]}), json!({"allOf": [short()]}), NARROWED),
        (json!({"allOf": [long()]}), json!({"allOf": [long(), short()]}), UNKNOWN),
        (json!({}), json!({"anyOf": [short()]}), NARROWED),
        (json!({"anyOf": [short()]}), json!({}), WIDENED),
        (json!({"anyOf": [long()]}), json!({"anyOf": [short()]}), NARROWED),
        (json!({"anyOf": [long()]}), json!({"anyOf": [long(), true]}), WIDENED),
        (json!({"anyOf": [long(), true]}), json!({"anyOf": [long()]}), NARROWED),
        (json!({"anyOf": [true, long()]}), json!({"anyOf": [long()]}), UNKNOWN),
        (json!({"anyOf": [long()]}), json!({"anyOf": [true, long()]}), UNKNOWN),
        (json!({"anyOf": [long()]}), json!({"anyOf": 7}), UNKNOWN),
        (json!({"anyOf": 7}), json!({"anyOf": [long()]}), UNKNOWN),
        (
            json!({"patternProperties": {"^a": long()}}),
            json!({"patternProperties": {"^a": short()}}),
            NARROWED,
        ),
        (
            json!({"patternProperties": {"^a": long()}}),
            json!({"patternProperties": {"^b": long()}}),
            UNKNOWN,
        ),
        (
            json!({"patternProperties": {"^a": long()}}),
            json!({"patternProperties": {"^a": long(), "^b": long()}}),
            UNKNOWN,
        ),
        (json!({}), json!({"patternProperties": {"^a": long()}}), UNKNOWN),
        (json!({"patternProperties": {"^a": long()}}), json!({}), UNKNOWN),
        (json!({"x-other": 1}), json!({"x-other": 2}), UNKNOWN),
        (json!({"default": 1}), json!({"default": 2}), DEFAULT),
        (json!({}), json!({"default": 2}), DEFAULT),
        // What stays is not compared.
        (
            json!({"properties": {"a": false, "b": long(), "c": 7}}),
            json!({"properties": {"a": false, "b": short(), "c": 7}}),
            NARROWED,
        ),
        // One change does not hide another.
        (
            json!({"maxLength": 5, "required": ["a", "b"]}),
            json!({"maxLength": 4, "required": ["b", "a"]}),
            NARROWED_AND_TEXT,
        ),
        (
            json!({"maxLength": 5, "not": {"title": "a"}}),
            json!({"maxLength": 4, "not": {"title": "b"}}),
            NARROWED_AND_TEXT,
        ),
        (
            json!({"maxLength": 5, "title": "a", "minLength": 1}),
            json!({"maxLength": 4, "title": "b", "minLength": 1}),
            NARROWED_AND_TEXT,
        ),
    ]);
    for keyword in
        ["title", "description", "$comment", "examples", "deprecated", "readOnly", "writeOnly"]
    {
        check_changes(&[(json!({ keyword: "a" }), json!({ keyword: "b" }), TEXT)]);
    }
}

#[test]
fn compares_boolean_schemas() {
    let table = [
        (json!(false), json!({"maxLength": 4}), WIDENED),
        (json!({"maxLength": 4}), json!(false), NARROWED),
        (json!(false), json!(true), WIDENED),
        (json!(true), json!(false), NARROWED),
        (json!(true), json!({"maxLength": 4}), NARROWED),
        (json!({"maxLength": 4}), json!(true), WIDENED),
        (json!(true), json!(7), UNKNOWN),
        (json!(7), json!(true), UNKNOWN),
        (json!("a"), json!("b"), UNKNOWN),
    ];
    check_changes(&table);
}

/// Keywords whose subschemas are compared only for changed texts.
#[test]
fn compares_opaque_keywords() {
    let titled = |text: &str| json!({"title": text, "maxLength": 4});
    for keyword in [
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "contentSchema",
    ] {
        check_changes(&[
            (json!({ keyword: titled("a") }), json!({ keyword: titled("b") }), TEXT),
            (json!({ keyword: [titled("a")] }), json!({ keyword: [titled("b")] }), TEXT),
            (json!({ keyword: {"maxLength": 5} }), json!({ keyword: {"maxLength": 4} }), UNKNOWN),
            (
                json!({ keyword: [{"maxLength": 5}] }),
                json!({ keyword: [{"maxLength": 4}] }),
                UNKNOWN,
            ),
            (json!({ keyword: [titled("a")] }), json!({ keyword: [titled("a"), true] }), UNKNOWN),
            (json!({ keyword: [titled("a"), true] }), json!({ keyword: [titled("a")] }), UNKNOWN),
            (json!({}), json!({ keyword: titled("a") }), UNKNOWN),
            (json!({ keyword: titled("a") }), json!({}), UNKNOWN),
        ]);
    }
}

/// Narrowing a definition can widen what refers to it, if that is below a negation or a condition.
#[test]
fn definitions_below_a_negation_are_not_compared() {
    let classify = |old: &Value, new: &Value| {
        (classify_as("inputSchema", old, new), classify_as("outputSchema", old, new))
    };
    let check = |old: Value, new: Value, (input, output): (&str, &str)| {
        assert_eq!(classify(&old, &new), (input.into(), output.into()), "{old} to {new}");
    };
    for defs in ["$defs", "definitions"] {
        let with = |rest: Value, definitions: Value| {
            let mut schema = rest;
            schema[defs] = definitions;
            schema
        };
        let (long, short) = (json!({"a": {"maxLength": 5}}), json!({"a": {"maxLength": 4}}));
        let plain = || json!({"properties": {"x": {"$ref": "#/$defs/a"}}});
        check(with(plain(), long.clone()), with(plain(), short.clone()), NARROWED);
        check(with(plain(), json!({})), with(plain(), long.clone()), TEXT);
        check(with(plain(), long.clone()), with(plain(), json!({})), TEXT);
        check(plain(), with(plain(), long.clone()), TEXT);
        for keyword in
            ["not", "if", "oneOf", "contains", "dependentSchemas", "unevaluatedProperties"]
        {
            let of = |definitions: &Value| with(json!({ keyword: [true] }), definitions.clone());
            check(of(&long), of(&short), NARROWED_AND_UNKNOWN);
            let of = |definitions: &Value| {
                with(json!({"allOf": [{ keyword: [] }]}), definitions.clone())
            };
            check(of(&long), of(&short), NARROWED_AND_UNKNOWN);
            // Only a text changes.
            let titled = json!({"a": {"maxLength": 5, "title": "x"}});
            check(of(&long), of(&titled), TEXT);
            // The keyword is in a definition that comes or goes.
            let mut more = short.clone();
            more["b"] = json!({ keyword: [] });
            check(with(plain(), long.clone()), with(plain(), more), NARROWED_AND_UNKNOWN);
            let mut more = long.clone();
            more["b"] = json!({ keyword: [] });
            check(with(plain(), more), with(plain(), short.clone()), NARROWED_AND_UNKNOWN);
            // The definitions stay.
            let of = |length: u64| with(json!({ keyword: [], "maxLength": length }), long.clone());
            check(of(5), of(4), NARROWED);
        }
    }
}

/// An overlay that declares one more parameter of a closed object accepts arguments that the server rejects.
#[test]
fn overlay_input_is_compared_with_the_server() {
    let rules = |server: Value, overlay: Value| -> Vec<&'static str> {
        let tool = with_value(clean_tool("read"), "/inputSchema", server);
        let admission = admit_with_overlays(&[tool], &[("read", json!({"inputSchema": overlay}))]);
        let reasons = admission.tools[0].reasons.iter().map(|reason| reason.rule);
        reasons.filter(|rule| ["A010", "A011"].contains(rule)).collect()
    };
    let schema = |rest: Value, names: &[&str]| {
        let mut schema = rest;
        schema["type"] = json!("object");
        let property = json!({"type": "string", "description": "A text"});
        schema["properties"] = names
            .iter()
            .map(|name| ((*name).to_owned(), property.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        schema
    };
    let open = || json!({"additionalProperties": true});
    let closed = || json!({"additionalProperties": false});
    let closed_later = || json!({"unevaluatedProperties": false});
    let inner = |schema: Value| {
        json!({
            "type": "object", "additionalProperties": false,
            "properties": {"in": schema}
        })
    };
    assert_eq!(rules(schema(closed(), &["a"]), schema(closed(), &["a", "b"])), ["A010"]);
    assert_eq!(
        rules(schema(closed_later(), &["a"]), schema(closed_later(), &["a", "b"])),
        ["A010"]
    );
    let deep = (schema(closed(), &["a"]), schema(closed(), &["a", "b"]));
    assert_eq!(rules(inner(deep.0), inner(deep.1)), ["A010"]);
    assert_eq!(rules(schema(open(), &["a"]), schema(open(), &["a", "b"])), [""; 0]);
    assert_eq!(rules(schema(json!({}), &["a"]), schema(json!({}), &["a", "b"])), [""; 0]);
    assert_eq!(rules(schema(closed(), &["a"]), schema(open(), &["a"])), ["A010"]);
    assert_eq!(rules(schema(open(), &["a"]), schema(closed(), &["a"])), [""; 0]);
    let odd = |value: u64| schema(json!({"x-odd": value}), &["a"]);
    assert_eq!(rules(odd(1), odd(2)), ["A011"]);
}

//! Mistakes in schemas that are reported, and similar schemas that are accepted.

use lint::lint_all;
use serde_json::json;

use crate::{brief, check, clean, definition, with};

#[test]
fn accepts_required_property_declared_in_any_subschema() {
    for schema in [
        json!({"type": "object", "additionalProperties": false, "properties": {"a": {"const": 1, "description": "A"},
               "b": {"const": 2, "description": "B"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"type": "object", "allOf": [{"$ref": "#/$defs/base"}], "required": ["a"], "unevaluatedProperties": false,
               "$defs": {"base": {"type": "object", "additionalProperties": true,
                                  "properties": {"a": {"const": 1, "description": "A"}}, "required": ["a"],
                                  "unevaluatedProperties": false}}}),
        json!({"type": "object", "additionalProperties": {"type": "string"}, "required": ["a"]}),
    ] {
        let mut whole = clean();
        whole["inputSchema"] = schema;
        whole["examples"] = json!([]);
        check(&definition(whole), &[]);
    }
    check(
        &with(
            "/inputSchema/properties/nested",
            json!({
                "type": "object", "description": "N", "default": {"x": 1}, "required": ["x"],
                "properties": {"y": {"type": "integer", "description": "Y", "default": 1}}, "additionalProperties": true,
            }),
        ),
        &["C011 /inputSchema/properties/nested/required", "C015 /inputSchema/properties/nested"],
    );
}

#[test]
fn accepts_description_at_reference_target() {
    let mut whole = clean();
    whole["inputSchema"]["properties"]["path"] = json!({"$ref": "#/$defs/path"});
    whole["inputSchema"]["$defs"] = json!({"path": {"type": "string", "description": "Where"}});
    check(&definition(whole), &[]);
    check(
        &with(
            "/inputSchema/properties/path",
            json!({"type": "string", "title": "Path", "description": " \u{200b}"}),
        ),
        &["C012 /inputSchema/properties/path", "C022 /inputSchema/properties/path/description"],
    );
}

#[test]
fn checks_nested_and_array_item_properties() {
    check(
        &with(
            "/inputSchema/properties/edits",
            json!({
                "type": "array", "description": "Changes; no default",
                "items": {"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"]},
            }),
        ),
        &[
            "C012 /inputSchema/properties/edits/items/properties/old",
            "C015 /inputSchema/properties/edits/items",
        ],
    );
}

#[test]
fn accepts_optional_parameter_that_describes_its_absence() {
    for (text, expected) in [
        ("Start here", &["C014 /inputSchema/properties/after"][..]),
        ("Start here. No default.", &[]),
        ("Start here; if omitted, at the first", &[]),
        ("Start here (defaults to 0)", &[]),
    ] {
        check(
            &with("/inputSchema/properties/after", json!({"type": "integer", "description": text})),
            expected,
        );
    }
}

#[test]
fn reports_unresolved_and_remote_references() {
    check(
        &with("/inputSchema/properties/path/$ref", json!("#/$defs/nowhere")),
        &["C008 /inputSchema/properties/path/$ref"],
    );
    check(
        &with("/outputSchema/properties/content/$ref", json!("https://example.com/x.json")),
        &["C009 /outputSchema/properties/content/$ref"],
    );
    check(
        &with("/inputSchema/properties/path/$ref", json!("#/$defs/a%2Fb")),
        &["C008 /inputSchema/properties/path/$ref"],
    );
    // Instance data is not checked as a schema.
    check(
        &with(
            "/inputSchema/properties/encoding",
            json!({
                "description": "How", "default": {"x-mcp-header": 1, "required": ["a"], "properties": {"b": {}}},
            }),
        ),
        &[],
    );
}

#[test]
fn reports_headers_that_violate_the_specification() {
    let header = |value| with("/inputSchema/properties/path/x-mcp-header", value);
    let path = "C027 /inputSchema/properties/path/x-mcp-header";
    check(&header(json!("Path")), &[]);
    check(&header(json!("X_!#~")), &[]);
    for bad in [json!(""), json!("a b"), json!("a:b"), json!("é"), json!(1), json!(null)] {
        check(&header(bad), &[path]);
    }
    check(&with("/inputSchema/x-mcp-header", json!("A")), &["C027 /inputSchema/x-mcp-header"]);
    check(
        &with(
            "/inputSchema/properties/n",
            json!({
                "type": "number", "description": "N", "default": 1, "x-mcp-header": "N",
            }),
        ),
        &["C027 /inputSchema/properties/n/x-mcp-header"],
    );
    check(
        &with(
            "/inputSchema/properties/l",
            json!({
                "type": "array", "description": "L", "default": [], "items": {"type": "string", "x-mcp-header": "L"},
            }),
        ),
        &["C027 /inputSchema/properties/l/items/x-mcp-header"],
    );
    let mut twice = clean();
    twice["inputSchema"]["properties"]["path"]["x-mcp-header"] = json!("Path");
    twice["inputSchema"]["properties"]["encoding"]["type"] = json!("string");
    twice["inputSchema"]["properties"]["encoding"]["x-mcp-header"] = json!("PATH");
    check(&definition(twice), &["C027 /inputSchema/properties/encoding/x-mcp-header"]);
}

#[test]
fn reports_contradictory_annotations() {
    check(
        &with("/annotations/destructiveHint", json!(true)),
        &["C025 /annotations/destructiveHint"],
    );
    check(&with("/annotations/idempotentHint", json!(0)), &["C026 /annotations/idempotentHint"]);
    let mut whole = clean();
    whole["constraints"] = json!({
        "access": "files below the root", "sideEffects": "write", "approval": true, "ratePerMinute": 1, "timeoutMs": 1,
        "maxInputBytes": 1, "maxOutputBytes": 1, "idempotent": false, "openWorld": true,
    });
    whole["annotations"] = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
    check(
        &definition(whole.clone()),
        &[
            "C025 /annotations/readOnlyHint",
            "C025 /annotations/destructiveHint",
            "C025 /annotations/idempotentHint",
            "C025 /annotations/openWorldHint",
        ],
    );
    whole["annotations"] =
        json!({"readOnlyHint": false, "destructiveHint": true, "title": "Write"});
    check(&definition(whole), &[]);
}

#[test]
fn reports_examples_and_defaults_that_violate_schemas() {
    check(
        &with(
            "/examples",
            json!([{"input": {}}, {"input": {"path": "a"}, "output": {"content": "a"}}]),
        ),
        &["C020 /examples/0/input", "C020 /examples/1/output"],
    );
    check(
        &with("/inputSchema/properties/encoding/default", json!("latin-1")),
        &["C020 /examples/0/input", "C021 /inputSchema/properties/encoding/default"],
    );
    check(
        &with("/outputSchema/properties/size/examples", json!([1, -1])),
        &["C020 /outputSchema/properties/size/examples/1"],
    );
}

#[test]
fn reports_duplicate_and_look_alike_names() {
    let named = |name: &str| {
        let mut whole = clean();
        whole["name"] = json!(name);
        definition(whole)
    };
    let list =
        ["read_file", "read_file", "Read-File", "read_fi1e", "write_file", "rеad_file"].map(named);
    let findings: Vec<String> = lint_all(&list)
        .iter()
        .map(|finding| format!("{} {}", finding.rule.id, finding.message))
        .collect();
    insta::assert_snapshot!(findings.join("\n"));
    assert_eq!(brief(&lint_all(&list[..1])), [""; 0]);
}

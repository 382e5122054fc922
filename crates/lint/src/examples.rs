//! Examples and defaults against the schemas that they belong to.

use contract::Schema;
use serde_json::{Value, json};

use super::finding::Report;
use super::rules::Id;
use super::subject::{Side, Subject};
use super::tree::Node;

/// Subschemas with a default or examples of their own that are compiled for it.
const MAX_COMPILED: usize = 200;

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    for (index, example) in subject.definition.examples.iter().enumerate() {
        if let Some(Ok(schema)) = subject.input.as_ref().map(|side| &side.compiled) {
            // As a call goes: declared defaults first.
            let mut input = example.input.clone();
            schema.fill_defaults(&mut input);
            compare(schema, &input, format!("/examples/{index}/input"), report);
        }
        if let Some(Ok(schema)) = subject.output.as_ref().map(|side| &side.compiled)
            && let Some(output) = &example.output
        {
            compare(schema, output, format!("/examples/{index}/output"), report);
        }
    }
    subject.sides().for_each(|side| check_inner(side, report));
}

fn compare(schema: &Schema, value: &Value, path: String, report: &mut Report) {
    if let Err(violation) = schema.validate(value) {
        report.add(
            Id::BrokenExample,
            path,
            format!("the example breaks the schema: {violation}"),
            "correct the example, or the schema if the example is what really happens",
        );
    }
}

/// `default` and `examples` inside the schemas.
fn check_inner(side: &Side<'_>, report: &mut Report) {
    if side.compiled.is_err() {
        return;
    }
    let carriers = side.tree.nodes.iter().filter(|node| {
        node.map().is_some_and(|map| map.contains_key("default") || map.contains_key("examples"))
    });
    for node in carriers.take(MAX_COMPILED) {
        let Some(schema) = alone(side, node) else { continue };
        let path = side.tree.path(node);
        if let Some(default) = node.schema.get("default")
            && let Err(violation) = schema.validate(default)
        {
            report.add(
                Id::BrokenDefault,
                format!("{path}/default"),
                format!("the default breaks its own schema: {violation}"),
                "choose a default that a caller could send",
            );
        }
        let examples = node.schema.get("examples").and_then(Value::as_array);
        for (index, example) in examples.into_iter().flatten().enumerate() {
            compare(&schema, example, format!("{path}/examples/{index}"), report);
        }
    }
}

/// The subschema as a document of its own, which it can only be without references.
fn alone(side: &Side<'_>, node: &Node<'_>) -> Option<Schema> {
    if node.step.is_none() || refers(node.schema) {
        let root = node.step.is_none();
        return root.then(|| Schema::compile(side.value.clone()).ok()).flatten();
    }
    let mut schema = node.schema.clone();
    if let (Value::Object(map), Some(draft)) = (&mut schema, side.value.get("$schema")) {
        map.insert("$schema".into(), json!(draft));
    }
    Schema::compile(schema).ok()
}

fn refers(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            map.contains_key("$ref") || map.contains_key("$dynamicRef") || map.values().any(refers)
        }
        Value::Array(list) => list.iter().any(refers),
        _ => false,
    }
}

//! Checks of examples and defaults against their schemas.

use contract::Schema;
use serde_json::{Value, json};

use super::finding::FindingCollector;
use super::rules::RuleId;
use super::schema_tree::SubschemaNode;
use super::subject::{LintSubject, SubjectSchema};

/// Maximum subschemas with a default or examples that are compiled.
const MAX_COMPILED: usize = 200;

pub(super) fn check_examples(subject: &LintSubject<'_>, report: &mut FindingCollector) {
    for (index, example) in subject.definition.examples.iter().enumerate() {
        if let Some(Ok(schema)) = subject.input.as_ref().map(|side| &side.compiled) {
            // As in a call, defaults are filled in before validation.
            let mut input = example.input.clone();
            schema.fill_defaults(&mut input);
            check_example(schema, &input, format!("/examples/{index}/input"), report);
        }
        if let Some(Ok(schema)) = subject.output.as_ref().map(|side| &side.compiled)
            && let Some(output) = &example.output
        {
            check_example(schema, output, format!("/examples/{index}/output"), report);
        }
    }
    subject.schemas().for_each(|side| check_inner_examples(side, report));
}

fn check_example(schema: &Schema, value: &Value, path: String, report: &mut FindingCollector) {
    if let Err(violation) = schema.validate(value) {
        report.add_finding(
            RuleId::BrokenExample,
            path,
            format!("the example violates the schema: {violation}"),
            "correct the example, or the schema if the example shows the actual behavior",
        );
    }
}

/// Checks `default` and `examples` inside a schema.
fn check_inner_examples(side: &SubjectSchema<'_>, report: &mut FindingCollector) {
    if side.compiled.is_err() {
        return;
    }
    let carriers = side.tree.nodes.iter().filter(|node| {
        node.as_object()
            .is_some_and(|map| map.contains_key("default") || map.contains_key("examples"))
    });
    for node in carriers.take(MAX_COMPILED) {
        let Some(schema) = compile_alone(side, node) else { continue };
        let path = side.tree.pointer_to(node);
        if let Some(default) = node.schema.get("default")
            && let Err(violation) = schema.validate(default)
        {
            report.add_finding(
                RuleId::BrokenDefault,
                format!("{path}/default"),
                format!("the default violates its own schema: {violation}"),
                "choose a default that the schema accepts",
            );
        }
        let examples = node.schema.get("examples").and_then(Value::as_array);
        for (index, example) in examples.into_iter().flatten().enumerate() {
            check_example(&schema, example, format!("{path}/examples/{index}"), report);
        }
    }
}

/// Compiles a subschema as a separate document. Returns `None` if it contains references.
fn compile_alone(side: &SubjectSchema<'_>, node: &SubschemaNode<'_>) -> Option<Schema> {
    if node.step.is_none() || has_references(node.schema) {
        let root = node.step.is_none();
        return root.then(|| Schema::compile(side.value.clone()).ok()).flatten();
    }
    let mut schema = node.schema.clone();
    if let (Value::Object(map), Some(draft)) = (&mut schema, side.value.get("$schema")) {
        map.insert("$schema".into(), json!(draft));
    }
    Schema::compile(schema).ok()
}

fn has_references(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            map.contains_key("$ref")
                || map.contains_key("$dynamicRef")
                || map.values().any(has_references)
        }
        Value::Array(list) => list.iter().any(has_references),
        _ => false,
    }
}

//! Checks of the schemas themselves: present, compilable, within bounds, with references that resolve.

use contract::keywords::resolve_reference;
use contract::{MAX_SCHEMA_BYTES, MAX_SCHEMA_COST, MAX_SCHEMA_DEPTH, SchemaError};
use serde_json::Value;

use super::finding::{FindingCollector, quote_name};
use super::rules::RuleId;
use super::subject::{LintSubject, SubjectSchema};

pub(super) fn check_schemas(subject: &LintSubject<'_>, report: &mut FindingCollector) {
    match &subject.input {
        None => report.add_finding(
            RuleId::MissingInputSchema,
            "/inputSchema",
            "the input schema is missing",
            r#"declare one; for a tool without arguments use {"type": "object", "additionalProperties": false}"#,
        ),
        Some(side) => check_input_type(side, report),
    }
    if subject.output.is_none() {
        report.add_finding(
            RuleId::MissingOutputSchema,
            "/outputSchema",
            "the output schema is missing",
            "declare the output of a successful call, or supply an overlay if the tool is not yours",
        );
    }
    for side in subject.schemas() {
        check_references(side, report);
        check_compiles(side, report);
    }
}

fn check_input_type(side: &SubjectSchema<'_>, report: &mut FindingCollector) {
    let found = match side.value.get("type") {
        Some(Value::String(kind)) if kind == "object" => return,
        Some(kind) => format!("has the type {}", quote_name(&kind.to_string())),
        None if side.value.is_object() => "has no `type`".into(),
        None => "is not a JSON object".into(),
    };
    report.add_finding(
        RuleId::InputNotObject,
        side.base,
        format!("the input schema {found}"),
        r#"start it with "type": "object" and name each argument in "properties""#,
    );
}

fn check_references(side: &SubjectSchema<'_>, report: &mut FindingCollector) {
    // With an `$id` inside, the meaning of a reference depends on its location, so the compiler decides.
    let has_ids = side.tree.nodes.iter().any(|node| node.schema.get("$id").is_some());
    for node in &side.tree.nodes {
        for keyword in ["$ref", "$dynamicRef"] {
            let Some(target) = node.schema.get(keyword).and_then(Value::as_str) else { continue };
            let path = || format!("{}/{keyword}", side.tree.pointer_to(node));
            if target.starts_with('#') || target.is_empty() {
                let target = if target.is_empty() { "#" } else { target };
                if !has_ids && resolve_reference(side.value, target).is_none() {
                    report.add_finding(
                        RuleId::UnresolvedReference,
                        path(),
                        format!("{} has no target in this schema", quote_name(target)),
                        "add the definition under `$defs`, or write the schema inline",
                    );
                }
            } else if !has_ids {
                report.add_finding(
                    RuleId::RemoteReference,
                    path(),
                    format!("{} is outside this schema", quote_name(target)),
                    "copy the schema to `$defs` and refer to it there",
                );
            }
        }
    }
}

/// Reports compile errors that no other rule has reported yet.
fn check_compiles(side: &SubjectSchema<'_>, report: &mut FindingCollector) {
    let Err(error) = &side.compiled else { return };
    let message = error.to_string();
    match error {
        SchemaError::TooLarge { .. } | SchemaError::TooDeep | SchemaError::TooCostly => report.add_finding(
            RuleId::OversizedSchema,
            side.base,
            message,
            format!(
                "stay within {MAX_SCHEMA_BYTES} bytes, {MAX_SCHEMA_DEPTH} levels and {MAX_SCHEMA_COST} steps: \
                 describe less, or split the tool"
            ),
        ),
        SchemaError::RemoteReference(_) if report.has_rule(RuleId::RemoteReference) => {}
        SchemaError::RemoteReference(_) => report.add_finding(
            RuleId::RemoteReference,
            side.base,
            message,
            "copy the schema to `$defs` and refer to it there",
        ),
        SchemaError::Invalid { .. } if report.has_rule(RuleId::UnresolvedReference) => {}
        SchemaError::Invalid { path, reason } => report.add_finding(
            RuleId::InvalidSchema,
            format!("{}{path}", side.base),
            describe_error(side.value.pointer(path), path, reason),
            "fix the schema: no value can be checked against a schema that does not compile",
        ),
        SchemaError::UnsupportedDraft(_) => report.add_finding(
            RuleId::InvalidSchema,
            format!("{}/$schema", side.base),
            message,
            "use JSON Schema 2020-12 or draft-07",
        ),
    }
}

/// Returns a plain message for the most common mistake, and the compiler's message for all others.
fn describe_error(value: Option<&Value>, path: &str, reason: &str) -> String {
    match value {
        Some(Value::String(kind)) if path.ends_with("/type") => {
            format!("{} is not a JSON Schema type", quote_name(kind))
        }
        _ => reason.to_owned(),
    }
}

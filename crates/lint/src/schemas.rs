//! The schemas as such: there, compilable, inside their bounds, with references that lead somewhere.

use contract::keywords::resolve;
use contract::{MAX_SCHEMA_BYTES, MAX_SCHEMA_COST, MAX_SCHEMA_DEPTH, SchemaError};
use serde_json::Value;

use super::finding::{Report, quoted};
use super::rules::Id;
use super::subject::{Side, Subject};

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    match &subject.input {
        None => report.add(
            Id::MissingInputSchema,
            "/inputSchema",
            "there is no input schema",
            r#"declare one; for a tool without arguments: {"type": "object", "additionalProperties": false}"#,
        ),
        Some(side) => check_object(side, report),
    }
    if subject.output.is_none() {
        report.add(
            Id::MissingOutputSchema,
            "/outputSchema",
            "there is no output schema",
            "declare what a successful call answers, or supply it as an overlay if the tool is not yours",
        );
    }
    for side in subject.sides() {
        check_references(side, report);
        check_compiles(side, report);
    }
}

fn check_object(side: &Side<'_>, report: &mut Report) {
    let found = match side.value.get("type") {
        Some(Value::String(kind)) if kind == "object" => return,
        Some(kind) => format!("has the type {}", quoted(&kind.to_string())),
        None if side.value.is_object() => "has no `type`".into(),
        None => "is no JSON object".into(),
    };
    report.add(
        Id::InputNotObject,
        side.base,
        format!("the input schema {found}"),
        r#"start it with "type": "object" and name each argument in "properties""#,
    );
}

fn check_references(side: &Side<'_>, report: &mut Report) {
    // With an `$id` inside, what a reference means depends on where it stands: the compiler's answer counts then.
    let has_ids = side.tree.nodes.iter().any(|node| node.schema.get("$id").is_some());
    for node in &side.tree.nodes {
        for keyword in ["$ref", "$dynamicRef"] {
            let Some(target) = node.schema.get(keyword).and_then(Value::as_str) else { continue };
            let path = || format!("{}/{keyword}", side.tree.path(node));
            if target.starts_with('#') || target.is_empty() {
                let target = if target.is_empty() { "#" } else { target };
                if !has_ids && resolve(side.value, target).is_none() {
                    report.add(
                        Id::UnresolvedReference,
                        path(),
                        format!("{} points at nothing in this schema", quoted(target)),
                        "add the definition under `$defs`, or write the schema in place",
                    );
                }
            } else if !has_ids {
                report.add(
                    Id::RemoteReference,
                    path(),
                    format!("{} is outside of this schema", quoted(target)),
                    "copy the schema to `$defs` and point there",
                );
            }
        }
    }
}

/// What the compiler refuses and no other rule has named yet.
fn check_compiles(side: &Side<'_>, report: &mut Report) {
    let Err(error) = &side.compiled else { return };
    let message = error.to_string();
    match error {
        SchemaError::TooLarge { .. } | SchemaError::TooDeep | SchemaError::TooCostly => report.add(
            Id::OversizedSchema,
            side.base,
            message,
            format!(
                "stay within {MAX_SCHEMA_BYTES} bytes, {MAX_SCHEMA_DEPTH} levels and {MAX_SCHEMA_COST} steps: \
                 describe less, or split the tool"
            ),
        ),
        SchemaError::RemoteReference(_) if report.has(Id::RemoteReference) => {}
        SchemaError::RemoteReference(_) => report.add(
            Id::RemoteReference,
            side.base,
            message,
            "copy the schema to `$defs` and point there",
        ),
        SchemaError::Invalid { .. } if report.has(Id::UnresolvedReference) => {}
        SchemaError::Invalid { path, reason } => report.add(
            Id::InvalidSchema,
            format!("{}{path}", side.base),
            mistake(side.value.pointer(path), path, reason),
            "repair it: nothing can be checked against a schema that does not compile",
        ),
        SchemaError::UnsupportedDraft(_) => report.add(
            Id::InvalidSchema,
            format!("{}/$schema", side.base),
            message,
            "use JSON Schema 2020-12 or draft-07",
        ),
    }
}

/// The usual slip in plain words, anything else in the compiler's.
fn mistake(value: Option<&Value>, path: &str, reason: &str) -> String {
    match value {
        Some(Value::String(kind)) if path.ends_with("/type") => {
            format!("{} is not a type that JSON Schema has", quoted(kind))
        }
        _ => reason.to_owned(),
    }
}

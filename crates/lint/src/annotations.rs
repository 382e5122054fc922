//! Annotations: hints that clients act on before they ask anybody.

use contract::{Constraints, SideEffects};
use serde_json::{Map, Value};

use super::finding::{Report, quoted};
use super::rules::Id;
use super::subject::Subject;

const HINTS: &[&str] = &["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    let Some(annotations) = &subject.definition.annotations else { return };
    for hint in HINTS {
        if let Some(value) =
            annotations.get(*hint).filter(|value| !value.is_boolean() && !value.is_null())
        {
            report.add(
                Id::InvalidAnnotation,
                format!("/annotations/{hint}"),
                format!("`{hint}` is {}", quoted(&value.to_string())),
                "a hint is true or false",
            );
        }
    }
    if is(annotations, "readOnlyHint", true) && is(annotations, "destructiveHint", true) {
        contradiction(
            report,
            "destructiveHint",
            "`destructiveHint` is true, but `readOnlyHint` says that nothing is changed".into(),
            "a tool that only reads destroys nothing: correct one of the two",
        );
    }
    if let Some(constraints) = &subject.definition.constraints {
        check_against(annotations, constraints, report);
    }
}

fn check_against(annotations: &Map<String, Value>, constraints: &Constraints, report: &mut Report) {
    let effects = match constraints.side_effects {
        SideEffects::None => "none",
        SideEffects::Append => "append",
        SideEffects::Write => "write",
    };
    let truths = constraints.annotations();
    for hint in HINTS {
        let Some(truth) = truths.get(*hint).and_then(Value::as_bool) else { continue };
        if is(annotations, hint, !truth) {
            let promised = match *hint {
                "idempotentHint" => format!("`idempotent` is {}", constraints.idempotent),
                "openWorldHint" => format!("`openWorld` is {}", constraints.open_world),
                _ => format!("`sideEffects` is `{effects}`"),
            };
            contradiction(
                report,
                hint,
                format!("`{hint}` is {}, but the constraint {promised}", !truth),
                "leave the annotations out and they follow from the constraints",
            );
        }
    }
}

fn is(annotations: &Map<String, Value>, hint: &str, expected: bool) -> bool {
    annotations.get(hint).and_then(Value::as_bool) == Some(expected)
}

fn contradiction(report: &mut Report, hint: &str, message: String, advice: &str) {
    report.add(Id::ContradictoryAnnotation, format!("/annotations/{hint}"), message, advice);
}

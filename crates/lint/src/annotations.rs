//! Checks of annotations: hints that clients act on without asking the user.

use contract::{Constraints, SideEffects};
use serde_json::{Map, Value};

use super::finding::{FindingCollector, quote_name};
use super::rules::RuleId;
use super::subject::LintSubject;

const HINTS: &[&str] = &["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

pub(super) fn check_annotations(subject: &LintSubject<'_>, report: &mut FindingCollector) {
    let Some(annotations) = &subject.definition.annotations else { return };
    for hint in HINTS {
        if let Some(value) =
            annotations.get(*hint).filter(|value| !value.is_boolean() && !value.is_null())
        {
            report.add_finding(
                RuleId::InvalidAnnotation,
                format!("/annotations/{hint}"),
                format!("`{hint}` is {}", quote_name(&value.to_string())),
                "use true or false",
            );
        }
    }
    if has_hint(annotations, "readOnlyHint", true) && has_hint(annotations, "destructiveHint", true)
    {
        report_contradiction(
            report,
            "destructiveHint",
            "`destructiveHint` is true, but `readOnlyHint` says that nothing is changed".into(),
            "a read-only tool is not destructive: correct one of the two hints",
        );
    }
    if let Some(constraints) = &subject.definition.constraints {
        check_against_constraints(annotations, constraints, report);
    }
}

fn check_against_constraints(
    annotations: &Map<String, Value>,
    constraints: &Constraints,
    report: &mut FindingCollector,
) {
    let effects = match constraints.side_effects {
        SideEffects::None => "none",
        SideEffects::Append => "append",
        SideEffects::Write => "write",
    };
    let truths = constraints.to_annotations();
    for hint in HINTS {
        let Some(truth) = truths.get(*hint).and_then(Value::as_bool) else { continue };
        if has_hint(annotations, hint, !truth) {
            let promised = match *hint {
                "idempotentHint" => format!("`idempotent` is {}", constraints.idempotent),
                "openWorldHint" => format!("`openWorld` is {}", constraints.open_world),
                _ => format!("`sideEffects` is `{effects}`"),
            };
            report_contradiction(
                report,
                hint,
                format!("`{hint}` is {}, but the constraint {promised}", !truth),
                "remove the annotations; they are derived from the constraints",
            );
        }
    }
}

fn has_hint(annotations: &Map<String, Value>, hint: &str, expected: bool) -> bool {
    annotations.get(hint).and_then(Value::as_bool) == Some(expected)
}

fn report_contradiction(report: &mut FindingCollector, hint: &str, message: String, advice: &str) {
    report.add_finding(
        RuleId::ContradictoryAnnotation,
        format!("/annotations/{hint}"),
        message,
        advice,
    );
}

//! Decides if a condition failed only because a value that it reads is absent.
//!
//! `decide` treats such a condition as unknown; every other evaluation error denies the call.

use cel::common::ast::IdedExpr;
use contract::PolicySubject;
use serde_json::Value;

use crate::ast::{self, ExpressionUse, FieldPath, MacroBindings, PathStep, RuleVariable};

/// Returns true if a missing key or element of the call explains why `condition` failed.
///
/// Inside a loop or an operand of `&&` and `||`, CEL may report only one of several errors: `filter`, `map` and
/// `exists_one` stop at the first, and an element that they did not visit may be the one that the rule is about.
/// Therefore only paths that the condition always reads count. For `exists` and `all`, this function gets one element
/// at a time.
pub(crate) fn is_explained_by_absence<'e>(
    condition: &'e IdedExpr,
    bound: &MacroBindings<'e>,
    subject: &PolicySubject<'_>,
    result: Option<&Value>,
) -> bool {
    let mut absent = false;
    ast::visit_uses(condition, bound.clone(), &mut |used| {
        if let ExpressionUse::Path { path, folded: false } = used {
            absent |= is_path_absent(&path, subject, result);
        }
    });
    absent
}

/// Returns true if the value at a required step of the path is absent from the call or result.
fn is_path_absent(path: &FieldPath, subject: &PolicySubject<'_>, result: Option<&Value>) -> bool {
    let steps = &path.steps[..path.required.min(path.steps.len())];
    match path.root {
        RuleVariable::Arguments => is_missing_below(subject.arguments, steps),
        RuleVariable::Result => result.is_some_and(|result| is_missing_below(result, steps)),
        RuleVariable::Caller => match steps.first() {
            Some(PathStep::Field(name)) if name == "client" => subject.caller.client.is_none(),
            Some(PathStep::Field(name)) if name == "session" => subject.caller.session.is_none(),
            _ => false,
        },
        RuleVariable::Annotations => match steps.first() {
            Some(PathStep::Field(name)) if name == "title" => {
                !subject.annotations.contains_key(name)
            }
            _ => false,
        },
        RuleVariable::Tool => false,
    }
}

/// Returns true if following the steps from `value` ends at a missing key or element.
fn is_missing_below(value: &Value, steps: &[PathStep]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return false };
    let next = match (step, value) {
        (PathStep::Field(name), Value::Object(fields)) => fields.get(name),
        (PathStep::Index(number), Value::Array(items)) => items.get(*number),
        // The value has another type, or the index is computed, so absence cannot be shown.
        _ => return false,
    };
    next.is_none_or(|next| is_missing_below(next, rest))
}

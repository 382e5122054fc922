//! Validates the variables, fields and functions that an expression uses; anything else is a configuration error.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, operators};

use crate::ast::{self, ExpressionUse, FieldPath, PathStep, RuleVariable};
use crate::{RuleError, RuleSubject, shape};

const CALLER_FIELDS: [&str; 3] = ["principal", "client", "session"];
pub(crate) const ANNOTATION_FIELDS: [&str; 5] =
    ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title"];

/// Type names, for `type(x) == string`.
const TYPE_NAMES: [&str; 10] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// Known functions: name, argument count as a global function, argument count as a method.
const FUNCTIONS: [(&str, Option<usize>, Option<usize>); 16] = [
    ("bool", Some(1), None),
    ("bytes", Some(1), None),
    ("contains", None, Some(1)),
    ("double", Some(1), None),
    ("dyn", Some(1), None),
    ("endsWith", None, Some(1)),
    ("hasValue", None, Some(0)),
    ("int", Some(1), None),
    ("matches", Some(2), Some(1)),
    ("or", None, Some(1)),
    ("orValue", None, Some(1)),
    ("size", Some(1), Some(0)),
    ("startsWith", None, Some(1)),
    ("string", Some(1), None),
    ("type", Some(1), None),
    ("uint", Some(1), None),
];

/// Functions of the `optional` namespace, with their argument counts.
const OPTIONAL_FUNCTIONS: [(&str, usize); 3] = [("none", 0), ("of", 1), ("ofNonZeroValue", 1)];

/// Returns the paths that the expression reads.
///
/// Errors if it uses an unknown name, field or function, or is not a condition.
pub(crate) fn check_expression(
    rule: &str,
    on: RuleSubject,
    condition: &IdedExpr,
) -> Result<Vec<FieldPath>, RuleError> {
    let mut paths = Vec::new();
    let mut wrong = None;
    ast::visit_uses(condition, Vec::new(), &mut |used| {
        let checked = match used {
            ExpressionUse::Path { path, .. } => {
                check_path(rule, on, &path).map(|()| paths.push(path))
            }
            ExpressionUse::Name(name) if TYPE_NAMES.contains(&name) => Ok(()),
            ExpressionUse::Name(name) | ExpressionUse::Struct(name) => {
                Err(unknown_name_error(rule, on, name))
            }
            ExpressionUse::Call(call) => check_function(rule, call),
        };
        // Only the first error is reported.
        if let (Err(error), None) = (checked, &wrong) {
            wrong = Some(error);
        }
    });
    match wrong {
        Some(error) => Err(error),
        None => shape::check_condition(rule, condition).map(|()| paths),
    }
}

fn unknown_name_error(rule: &str, on: RuleSubject, name: &str) -> RuleError {
    let known = RuleVariable::ALL
        .iter()
        .filter(|root| on == RuleSubject::Result || **root != RuleVariable::Result);
    RuleError::UnknownName {
        rule: rule.into(),
        name: name.into(),
        on: if on == RuleSubject::Call { "calls" } else { "results" },
        known: known.map(|root| root.name()).collect::<Vec<_>>().join(", "),
    }
}

/// Errors if no call of any tool can have this path.
fn check_path(rule: &str, on: RuleSubject, path: &FieldPath) -> Result<(), RuleError> {
    let known: &[&str] = match path.root {
        RuleVariable::Result if on == RuleSubject::Call => {
            return Err(unknown_name_error(rule, on, path.root.name()));
        }
        RuleVariable::Arguments | RuleVariable::Result => return Ok(()),
        RuleVariable::Tool => &[],
        RuleVariable::Caller => &CALLER_FIELDS,
        RuleVariable::Annotations => &ANNOTATION_FIELDS,
    };
    let (first, beyond) = match (path.root, path.steps.split_first()) {
        (RuleVariable::Tool, _) => (None, path.steps.first()),
        (_, Some((first, rest))) => (Some(first), rest.first()),
        (_, None) => (None, None),
    };
    let unknown_field = match first {
        Some(PathStep::Field(field)) if !known.contains(&field.as_str()) => Some(field.clone()),
        Some(PathStep::Index(number)) => Some(number.to_string()),
        // A macro iterates over all keys, and a computed key can be any of them.
        Some(PathStep::Field(_) | PathStep::Each) | None => None,
    };
    if let Some(field) = unknown_field {
        let (of, known) = (path.root.name(), known.join(", "));
        return Err(RuleError::UnknownField { rule: rule.into(), of, field, known });
    }
    match beyond {
        None => Ok(()),
        Some(_) => {
            let part = |steps: usize| {
                FieldPath { steps: path.steps[..steps].to_vec(), ..path.clone() }.to_string()
            };
            let taken = usize::from(first.is_some());
            Err(RuleError::NoFields { rule: rule.into(), path: part(taken + 1), of: part(taken) })
        }
    }
}

/// Errors if the function does not exist or is called in another form or with another number of arguments.
fn check_function(rule: &str, call: &CallExpr) -> Result<(), RuleError> {
    let CallExpr { func_name: name, target, args } = call;
    // Names that the parser generates for operators and macros.
    let operator = name.contains('_') && !name.chars().any(char::is_alphanumeric);
    let operator = operator || name.starts_with('@') || name == operators::LOGICAL_NOT;
    let known = match target {
        Some(target) if ast::is_optional_namespace(target) => {
            OPTIONAL_FUNCTIONS.contains(&(name, args.len()))
        }
        // `x.optMap(y, …)` expands to calls of `value`.
        Some(_) if name == "value" => args.is_empty(),
        Some(_) => FUNCTIONS.iter().any(|(known, _, on)| known == name && *on == Some(args.len())),
        None if operator => true,
        None => {
            FUNCTIONS.iter().any(|(known, alone, _)| known == name && *alone == Some(args.len()))
        }
    };
    let function = match target {
        Some(target) if ast::is_optional_namespace(target) => format!("optional.{name}"),
        _ => name.clone(),
    };
    known.then_some(()).ok_or(RuleError::UnknownFunction { rule: rule.into(), function })
}

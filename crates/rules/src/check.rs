//! What an expression may use: variables, their fields, functions. Anything else is a mistake of the one who wrote it.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, operators};

use crate::ast::{self, Path, Root, Step, Use};
use crate::{On, RuleError, shape};

const CALLER: [&str; 3] = ["principal", "client", "session"];
pub(crate) const HINTS: [&str; 5] =
    ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "title"];

/// Names of types, for `type(x) == string`.
const TYPES: [&str; 10] =
    ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// Functions: the name, and with how many arguments it is called alone and on a value.
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

/// Functions that begin with `optional.`.
const OPTIONAL: [(&str, usize); 3] = [("none", 0), ("of", 1), ("ofNonZeroValue", 1)];

/// What the expression reads, if all that it uses exists and it is a condition.
pub(crate) fn check(rule: &str, on: On, condition: &IdedExpr) -> Result<Vec<Path>, RuleError> {
    let mut paths = Vec::new();
    let mut wrong = None;
    ast::visit(condition, Vec::new(), &mut |used| {
        let judged = match used {
            Use::Path { path, .. } => judge(rule, on, &path).map(|()| paths.push(path)),
            Use::Name(name) if TYPES.contains(&name) => Ok(()),
            Use::Name(name) | Use::Struct(name) => Err(unknown(rule, on, name)),
            Use::Call(call) => function(rule, call),
        };
        // The first mistake is the one to correct first.
        if let (Err(error), None) = (judged, &wrong) {
            wrong = Some(error);
        }
    });
    match wrong {
        Some(error) => Err(error),
        None => shape::check(rule, condition).map(|()| paths),
    }
}

fn unknown(rule: &str, on: On, name: &str) -> RuleError {
    let known = Root::ALL.iter().filter(|root| on == On::Result || **root != Root::Result);
    RuleError::UnknownName {
        rule: rule.into(),
        name: name.into(),
        on: if on == On::Call { "calls" } else { "results" },
        known: known.map(|root| root.name()).collect::<Vec<_>>().join(", "),
    }
}

/// Fields that no call can have, whichever tool it is for.
fn judge(rule: &str, on: On, path: &Path) -> Result<(), RuleError> {
    let known: &[&str] = match path.root {
        Root::Result if on == On::Call => return Err(unknown(rule, on, path.root.name())),
        Root::Arguments | Root::Result => return Ok(()),
        Root::Tool => &[],
        Root::Caller => &CALLER,
        Root::Annotations => &HINTS,
    };
    let (first, beyond) = match (path.root, path.steps.split_first()) {
        (Root::Tool, _) => (None, path.steps.first()),
        (_, Some((first, rest))) => (Some(first), rest.first()),
        (_, None) => (None, None),
    };
    let unknown_field = match first {
        Some(Step::Field(field)) if !known.contains(&field.as_str()) => Some(field.clone()),
        Some(Step::Index(number)) => Some(number.to_string()),
        // A macro goes through the keys, and a computed key may be any.
        Some(Step::Field(_) | Step::Each) | None => None,
    };
    if let Some(field) = unknown_field {
        let (of, known) = (path.root.name(), known.join(", "));
        return Err(RuleError::UnknownField { rule: rule.into(), of, field, known });
    }
    match beyond {
        None => Ok(()),
        Some(_) => {
            let part = |steps: usize| {
                Path { steps: path.steps[..steps].to_vec(), ..path.clone() }.to_string()
            };
            let taken = usize::from(first.is_some());
            Err(RuleError::NoFields { rule: rule.into(), path: part(taken + 1), of: part(taken) })
        }
    }
}

fn function(rule: &str, call: &CallExpr) -> Result<(), RuleError> {
    let CallExpr { func_name: name, target, args } = call;
    // What an operator or a macro became: the parser makes no others.
    let operator = name.contains('_') && !name.chars().any(char::is_alphanumeric);
    let operator = operator || name.starts_with('@') || name == operators::LOGICAL_NOT;
    let known = match target {
        Some(target) if ast::is_namespace(target) => OPTIONAL.contains(&(name, args.len())),
        // `x.optMap(y, …)` makes calls of `value`, too.
        Some(_) if name == "value" => args.is_empty(),
        Some(_) => FUNCTIONS.iter().any(|(known, _, on)| known == name && *on == Some(args.len())),
        None if operator => true,
        None => {
            FUNCTIONS.iter().any(|(known, alone, _)| known == name && *alone == Some(args.len()))
        }
    };
    let function = match target {
        Some(target) if ast::is_namespace(target) => format!("optional.{name}"),
        _ => name.clone(),
    };
    known.then_some(()).ok_or(RuleError::UnknownFunction { rule: rule.into(), function })
}

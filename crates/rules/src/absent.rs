//! Whether a condition could not be evaluated because something that it reads is not there, and for no other reason.

use cel::common::ast::IdedExpr;
use contract::PolicySubject;
use serde_json::Value;

use crate::ast::{self, Bound, Path, Root, Step, Use};

/// `condition` failed for want of a key or an element. True if that is one which the call may leave out.
///
/// In a loop or beside another condition it may be one error of several, the one that CEL reports: `filter`, `map` and
/// `exists_one` stop at the first, and what they have not seen could be the one that the rule is about. So only what
/// the condition reads in any case counts. `exists` and `all` get here with one element at a time.
pub(crate) fn explains<'e>(
    condition: &'e IdedExpr,
    bound: &Bound<'e>,
    subject: &PolicySubject<'_>,
    result: Option<&Value>,
) -> bool {
    let mut absent = false;
    ast::visit(condition, bound.clone(), &mut |used| {
        if let Use::Path { path, folded: false } = used {
            absent |= is_absent(&path, subject, result);
        }
    });
    absent
}

fn is_absent(path: &Path, subject: &PolicySubject<'_>, result: Option<&Value>) -> bool {
    let steps = &path.steps[..path.required.min(path.steps.len())];
    match path.root {
        Root::Arguments => lacks(subject.arguments, steps),
        Root::Result => result.is_some_and(|result| lacks(result, steps)),
        Root::Caller => match steps.first() {
            Some(Step::Field(name)) if name == "client" => subject.caller.client.is_none(),
            Some(Step::Field(name)) if name == "session" => subject.caller.session.is_none(),
            _ => false,
        },
        Root::Annotations => match steps.first() {
            Some(Step::Field(name)) if name == "title" => !subject.annotations.contains_key(name),
            _ => false,
        },
        Root::Tool => false,
    }
}

fn lacks(value: &Value, steps: &[Step]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return false };
    let next = match (step, value) {
        (Step::Field(name), Value::Object(fields)) => fields.get(name),
        (Step::Index(number), Value::Array(items)) => items.get(*number),
        // Not absent, but of another kind, or nobody can tell which element is meant.
        _ => return false,
    };
    next.is_none_or(|next| lacks(next, rest))
}

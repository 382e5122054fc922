//! Whether a condition could not be evaluated because something that it reads is not there, and for no other reason.

use cel::common::ast::{Expr, IdedExpr, operators};
use serde_json::Value;

use crate::ast::{self, Path, Root, Step, Use};
use crate::decide::Subject;

/// `condition` failed for want of a key or an element. True if that is one which the call may leave out.
///
/// A key that is missing in an element is another matter: `exists` and `all` have looked at every element before they
/// say so, but `filter`, `map` and `exists_one` stop at the first, and what they have not seen could be the one that
/// the rule is about.
pub(crate) fn explains(
    condition: &IdedExpr,
    subject: &Subject<'_>,
    result: Option<&Value>,
) -> bool {
    let complete = goes_through_all(condition);
    let mut absent = false;
    ast::visit(condition, &mut |used| {
        if let Use::Path(path) = used {
            absent |= is_absent(&path, subject, result, complete);
        }
    });
    absent
}

fn goes_through_all(condition: &IdedExpr) -> bool {
    let Expr::Comprehension(inner) = &condition.expr else { return false };
    matches!(&inner.loop_step.expr, Expr::Call(step)
        if matches!(step.func_name.as_str(), operators::LOGICAL_AND | operators::LOGICAL_OR))
}

fn is_absent(
    path: &Path,
    subject: &Subject<'_>,
    result: Option<&Value>,
    in_elements: bool,
) -> bool {
    let steps = &path.steps[..path.required.min(path.steps.len())];
    match path.root {
        Root::Arguments => lacks(subject.arguments, steps, in_elements),
        Root::Result => result.is_some_and(|result| lacks(result, steps, in_elements)),
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

fn lacks(value: &Value, steps: &[Step], in_elements: bool) -> bool {
    let Some((step, rest)) = steps.split_first() else { return false };
    let next = match (step, value) {
        (Step::Field(name), Value::Object(fields)) => fields.get(name),
        (Step::Index(number), Value::Array(items)) => items.get(*number),
        (Step::Each, Value::Array(items)) => {
            return in_elements && items.iter().any(|item| lacks(item, rest, true));
        }
        // Not absent, but of another kind.
        _ => return false,
    };
    next.is_none_or(|next| lacks(next, rest, in_elements))
}

//! The verdict on one call or one result.
//!
//! Globs are looked at before anything is converted: a call that no rule is for costs no allocation. `&&`, `||`, `!`,
//! `?:`, `exists` and `all` are taken apart here rather than by CEL, which reports one error where several happened: an
//! argument that is absent must not hide another that cannot be judged.

use std::sync::Arc;

use cel::common::ast::{Expr, IdedExpr, operators};
use cel::common::types::CelBool;
use cel::{Context, ExecutionError, Value as Cel};
use contract::{CallPolicy, PolicySubject, PolicyVerdict};
use serde_json::Value;

use crate::ast::{self, Bound, Fold, Root, Step};
use crate::{Compiled, Effect, On, Rules, absent, value};

impl CallPolicy for Rules {
    fn on_call(&self, subject: &PolicySubject<'_>) -> PolicyVerdict {
        self.verdict(On::Call, subject, None)
    }

    fn on_result(&self, subject: &PolicySubject<'_>, result: &Value) -> PolicyVerdict {
        self.verdict(On::Result, subject, Some(result))
    }
}

impl Rules {
    fn verdict(
        &self,
        on: On,
        subject: &PolicySubject<'_>,
        result: Option<&Value>,
    ) -> PolicyVerdict {
        let mut scene = None;
        for rule in self.rules.iter().filter(|rule| rule.on == on && rule.is_for(subject.tool)) {
            let scene = scene.get_or_insert_with(|| Scene {
                context: Context::with_env(Arc::clone(&self.env)),
                bound: Vec::new(),
                subject,
                result,
            });
            match scene.judge(rule) {
                Truth::True => {
                    let (rule, effect) = (Arc::clone(&rule.name), rule.effect);
                    return match effect {
                        Effect::Allow => PolicyVerdict::Allow,
                        Effect::Approve => PolicyVerdict::Approve { rule },
                        Effect::Deny => PolicyVerdict::Deny { rule, reason: None },
                    };
                }
                Truth::False | Truth::Unknown => {}
                Truth::Broken(why) => {
                    let reason = format!("rule `{}` could not be evaluated: {why}", rule.name);
                    return PolicyVerdict::Deny {
                        rule: Arc::clone(&rule.name),
                        reason: Some(reason),
                    };
                }
            }
        }
        PolicyVerdict::Allow
    }
}

enum Truth {
    True,
    False,
    /// Something that is read is not there.
    Unknown,
    /// Could not be judged, with the reason.
    Broken(String),
}

impl From<bool> for Truth {
    fn from(truth: bool) -> Self {
        if truth { Self::True } else { Self::False }
    }
}

impl Truth {
    /// Of two conditions in `&&` or `||`, neither of which decides alone.
    fn undecided(self, other: Self) -> Self {
        match (self, other) {
            (Self::Broken(why), _) | (_, Self::Broken(why)) => Self::Broken(why),
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (_, other) => other,
        }
    }
}

/// What names stand for at some place in a condition.
struct Scope<'s, 'e, 'v> {
    context: &'s Context<'s, 'v>,
    bound: Bound<'e>,
}

/// One call, with its values as far as rules have asked for them.
struct Scene<'a> {
    context: Context<'a, 'a>,
    bound: Vec<Root>,
    subject: &'a PolicySubject<'a>,
    result: Option<&'a Value>,
}

impl<'a> Scene<'a> {
    fn judge(&mut self, rule: &Compiled) -> Truth {
        for root in Root::ALL.into_iter().filter(|root| rule.reads(*root)) {
            if !self.bound.contains(&root) {
                self.bind(root);
            }
        }
        let scope = Scope { context: &self.context, bound: Vec::new() };
        self.truth(&rule.condition, &scope)
    }

    fn bind(&mut self, root: Root) {
        let PolicySubject { tool, arguments, caller, annotations } = *self.subject;
        let value = match root {
            Root::Tool => value::of_text(tool),
            Root::Arguments => value::of(arguments),
            Root::Caller => value::of_caller(caller),
            Root::Annotations => value::of_annotations(annotations),
            // A rule on calls that reads it does not compile.
            Root::Result => value::of(self.result.unwrap_or(&Value::Null)),
        };
        self.context.add_variable_as_val(root.name(), value);
        self.bound.push(root);
    }

    fn truth<'e>(&self, expr: &'e IdedExpr, scope: &Scope<'_, 'e, 'a>) -> Truth {
        use Truth::{False, True};
        if let Some(fold) = Fold::of(expr) {
            return self.fold(&fold, scope);
        }
        let Expr::Call(call) = &expr.expr else { return self.leaf(expr, scope) };
        match (call.func_name.as_str(), &call.args[..]) {
            (operators::LOGICAL_NOT, [operand]) => match self.truth(operand, scope) {
                True => False,
                False => True,
                other => other,
            },
            (operators::LOGICAL_AND, [left, right]) => match self.truth(left, scope) {
                False => False,
                left => match self.truth(right, scope) {
                    False => False,
                    right => left.undecided(right),
                },
            },
            (operators::LOGICAL_OR, [left, right]) => match self.truth(left, scope) {
                True => True,
                left => match self.truth(right, scope) {
                    True => True,
                    right => left.undecided(right),
                },
            },
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                match self.truth(condition, scope) {
                    True => self.truth(then, scope),
                    False => self.truth(otherwise, scope),
                    other => other,
                }
            }
            _ => self.leaf(expr, scope),
        }
    }

    fn fold<'e>(&self, fold: &Fold<'e>, scope: &Scope<'_, 'e, 'a>) -> Truth {
        let range = match Cel::resolve_val(fold.range, scope.context) {
            Ok(range) => range,
            Err(error) => return self.failed(fold.range, &error, scope),
        };
        let Some(elements) = range.as_iterable() else {
            return Truth::Broken(format!("expected a list, found {}", range.get_type().name()));
        };
        let path = ast::path(fold.range, scope.bound.clone());
        let mut elements = elements.iter();
        let mut truth = Truth::from(!fold.decisive);
        let mut number = 0;
        while let Some(element) = elements.next() {
            let mut context = scope.context.new_inner_scope();
            context.add_variable_as_val(fold.element, element.clone_as_boxed());
            let mut bound = scope.bound.clone();
            bound.push((
                fold.element,
                path.clone().map(|path| path.then(Step::Index(number), false)),
            ));
            match self.truth(fold.condition, &Scope { context: &context, bound }) {
                Truth::True if fold.decisive => return Truth::True,
                Truth::False if !fold.decisive => return Truth::False,
                other => truth = truth.undecided(other),
            }
            number += 1;
        }
        truth
    }

    fn leaf<'e>(&self, expr: &'e IdedExpr, scope: &Scope<'_, 'e, 'a>) -> Truth {
        match Cel::resolve_val(expr, scope.context) {
            Ok(value) => match value.downcast_ref::<CelBool>() {
                Some(truth) => (*truth.inner()).into(),
                None => Truth::Broken(format!(
                    "the condition is of the type {}, neither true nor false",
                    value.get_type().name()
                )),
            },
            Err(error) => self.failed(expr, &error, scope),
        }
    }

    fn failed<'e>(
        &self,
        expr: &'e IdedExpr,
        error: &ExecutionError,
        scope: &Scope<'_, 'e, 'a>,
    ) -> Truth {
        match error {
            ExecutionError::NoSuchKey(_) | ExecutionError::IndexOutOfBounds(_)
                if absent::explains(expr, &scope.bound, self.subject, self.result) =>
            {
                Truth::Unknown
            }
            error => Truth::Broken(reason(error)),
        }
    }
}

/// What went wrong, without values: they may be the very thing that must not be seen.
fn reason(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchOverload(overload) => {
            let types = overload.argument_types().join(", ");
            format!("`{}` does not apply to ({types})", overload.function())
        }
        ExecutionError::UnexpectedType { got, want } => format!("expected {want}, found {got}"),
        ExecutionError::NoSuchKey(_) => "an element lacks a field".to_owned(),
        ExecutionError::IndexOutOfBounds(_) => "there are fewer elements".to_owned(),
        ExecutionError::UnsupportedBinaryOperator(operator, ..) => {
            format!("`{operator}` does not apply to these values")
        }
        ExecutionError::FunctionError { function, .. } => format!("`{function}` failed"),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "division by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "a number is too large".to_owned(),
        _ => "its values do not fit together".to_owned(),
    }
}

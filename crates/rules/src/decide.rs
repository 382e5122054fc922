//! The verdict on one call or one result.
//!
//! Globs are looked at before anything is converted: a call that no rule is for costs no allocation. `&&`, `||`, `!` and
//! `?:` are taken apart here rather than by CEL, which reports one error where several happened: an argument that is
//! absent must not hide another that cannot be judged.

use std::sync::Arc;

use cel::common::ast::{Expr, IdedExpr, operators};
use cel::common::types::CelBool;
use cel::{Context, ExecutionError, Value as Cel};
use contract::Caller;
use serde_json::{Map, Value};

use crate::ast::Root;
use crate::{Compiled, Effect, On, Rules, absent, value};

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The name in the catalog.
    pub tool: &'a str,
    pub arguments: &'a Value,
    pub caller: &'a Caller,
    pub annotations: &'a Map<String, Value>,
}

/// What the rules say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Deny {
        /// The rule that decided.
        rule: Arc<str>,
        /// Why, where the rule could not be evaluated: it names the rule and kinds of values, never a value.
        reason: Option<String>,
    },
    /// A person decides.
    Approve {
        rule: Arc<str>,
    },
}

impl Rules {
    /// Before the call runs.
    pub fn on_call(&self, subject: &Subject<'_>) -> Verdict {
        self.verdict(On::Call, subject, None)
    }

    /// When there is an answer, before anybody sees it.
    pub fn on_result(&self, subject: &Subject<'_>, result: &Value) -> Verdict {
        self.verdict(On::Result, subject, Some(result))
    }

    fn verdict(&self, on: On, subject: &Subject<'_>, result: Option<&Value>) -> Verdict {
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
                        Effect::Allow => Verdict::Allow,
                        Effect::Approve => Verdict::Approve { rule },
                        Effect::Deny => Verdict::Deny { rule, reason: None },
                    };
                }
                Truth::False | Truth::Unknown => {}
                Truth::Broken(why) => {
                    let reason = format!("rule `{}` could not be evaluated: {why}", rule.name);
                    return Verdict::Deny { rule: Arc::clone(&rule.name), reason: Some(reason) };
                }
            }
        }
        Verdict::Allow
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

/// One call, with its values as far as rules have asked for them.
struct Scene<'a> {
    context: Context<'a, 'a>,
    bound: Vec<Root>,
    subject: &'a Subject<'a>,
    result: Option<&'a Value>,
}

impl<'a> Scene<'a> {
    fn judge(&mut self, rule: &Compiled) -> Truth {
        for root in Root::ALL.into_iter().filter(|root| rule.reads(*root)) {
            if !self.bound.contains(&root) {
                self.bind(root);
            }
        }
        self.truth(&rule.condition)
    }

    fn bind(&mut self, root: Root) {
        let Subject { tool, arguments, caller, annotations } = *self.subject;
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

    fn truth(&self, expr: &IdedExpr) -> Truth {
        use Truth::{Broken, False, True, Unknown};
        let Expr::Call(call) = &expr.expr else { return self.leaf(expr) };
        match (call.func_name.as_str(), &call.args[..]) {
            (operators::LOGICAL_NOT, [operand]) => match self.truth(operand) {
                True => False,
                False => True,
                other => other,
            },
            (operators::LOGICAL_AND, [left, right]) => match (self.truth(left), right) {
                (False, _) => False,
                (True, right) => self.truth(right),
                (left, right) => match (left, self.truth(right)) {
                    (_, False) => False,
                    (Broken(why), _) | (_, Broken(why)) => Broken(why),
                    _ => Unknown,
                },
            },
            (operators::LOGICAL_OR, [left, right]) => match (self.truth(left), right) {
                (True, _) => True,
                (False, right) => self.truth(right),
                (left, right) => match (left, self.truth(right)) {
                    (_, True) => True,
                    (Broken(why), _) | (_, Broken(why)) => Broken(why),
                    _ => Unknown,
                },
            },
            (operators::CONDITIONAL, [condition, then, otherwise]) => match self.truth(condition) {
                True => self.truth(then),
                False => self.truth(otherwise),
                other => other,
            },
            _ => self.leaf(expr),
        }
    }

    fn leaf(&self, expr: &IdedExpr) -> Truth {
        match Cel::resolve_val(expr, &self.context) {
            Ok(value) => match value.downcast_ref::<CelBool>() {
                Some(truth) => (*truth.inner()).into(),
                None => Truth::Broken(format!(
                    "the condition is of the type {}, neither true nor false",
                    value.get_type().name()
                )),
            },
            Err(ExecutionError::NoSuchKey(_) | ExecutionError::IndexOutOfBounds(_))
                if absent::explains(expr, self.subject, self.result) =>
            {
                Truth::Unknown
            }
            Err(error) => Truth::Broken(reason(&error)),
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

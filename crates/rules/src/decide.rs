//! The verdict on one call or one result.
//!
//! Globs are matched before any value is converted, so a call without a matching rule costs no allocation. `&&`, `||`,
//! `!`, `?:`, `exists` and `all` are evaluated here rather than by CEL. CEL reports only one of several errors, and an
//! absent argument must not hide another one that cannot be evaluated.

use std::sync::Arc;

use cel::common::ast::{Expr, IdedExpr, operators};
use cel::common::types::CelBool;
use cel::{Context, ExecutionError, Value as Cel};
use contract::{CallPolicy, PolicySubject, PolicyVerdict};
use serde_json::Value;

use crate::ast::{self, MacroBindings, PathStep, QuantifierExpr, RuleVariable};
use crate::{CompiledRule, RuleEffect, RuleSubject, Rules, absent, value};

impl CallPolicy for Rules {
    fn on_call(&self, subject: &PolicySubject<'_>) -> PolicyVerdict {
        self.decide_verdict(RuleSubject::Call, subject, None)
    }

    fn on_result(&self, subject: &PolicySubject<'_>, result: &Value) -> PolicyVerdict {
        self.decide_verdict(RuleSubject::Result, subject, Some(result))
    }
}

impl Rules {
    /// Returns the verdict of the first rule that matches, or `Allow` if none does.
    fn decide_verdict(
        &self,
        on: RuleSubject,
        subject: &PolicySubject<'_>,
        result: Option<&Value>,
    ) -> PolicyVerdict {
        let mut evaluation = None;
        for rule in self.rules.iter().filter(|rule| rule.on == on && rule.applies_to(subject.tool))
        {
            let evaluation = evaluation.get_or_insert_with(|| CallEvaluation {
                context: Context::with_env(Arc::clone(&self.env)),
                bound: Vec::new(),
                subject,
                result,
            });
            match evaluation.evaluate_rule(rule) {
                ConditionOutcome::True => {
                    let (rule, effect) = (Arc::clone(&rule.name), rule.effect);
                    return match effect {
                        RuleEffect::Allow => PolicyVerdict::Allow,
                        RuleEffect::Approve => PolicyVerdict::Approve { rule },
                        RuleEffect::Deny => PolicyVerdict::Deny { rule, reason: None },
                    };
                }
                ConditionOutcome::False | ConditionOutcome::Unknown => {}
                ConditionOutcome::Failed(why) => {
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

/// The result of a condition, in three-valued logic plus errors.
enum ConditionOutcome {
    True,
    False,
    /// A value that the condition reads is absent.
    Unknown,
    /// The condition could not be evaluated, with the reason.
    Failed(String),
}

impl From<bool> for ConditionOutcome {
    fn from(truth: bool) -> Self {
        if truth { Self::True } else { Self::False }
    }
}

impl ConditionOutcome {
    /// Combines two operands of `&&` or `||`, neither of which decides alone.
    fn combine_undecided(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed(why), _) | (_, Self::Failed(why)) => Self::Failed(why),
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (_, other) => other,
        }
    }
}

/// The variables and bound names at one point of a condition.
struct EvaluationScope<'s, 'e, 'v> {
    context: &'s Context<'s, 'v>,
    bound: MacroBindings<'e>,
}

/// The evaluation of rules on one call; each variable is converted when a rule first reads it.
struct CallEvaluation<'a> {
    context: Context<'a, 'a>,
    bound: Vec<RuleVariable>,
    subject: &'a PolicySubject<'a>,
    result: Option<&'a Value>,
}

impl<'a> CallEvaluation<'a> {
    fn evaluate_rule(&mut self, rule: &CompiledRule) -> ConditionOutcome {
        for root in RuleVariable::ALL.into_iter().filter(|root| rule.reads_variable(*root)) {
            if !self.bound.contains(&root) {
                self.bind_variable(root);
            }
        }
        let scope = EvaluationScope { context: &self.context, bound: Vec::new() };
        self.evaluate_condition(&rule.condition, &scope)
    }

    fn bind_variable(&mut self, root: RuleVariable) {
        let PolicySubject { tool, arguments, caller, annotations } = *self.subject;
        let value = match root {
            RuleVariable::Tool => value::text_to_cel(tool),
            RuleVariable::Arguments => value::value_to_cel(arguments),
            RuleVariable::Caller => value::caller_to_cel(caller),
            RuleVariable::Annotations => value::annotations_to_cel(annotations),
            // A rule on calls that reads `result` does not compile.
            RuleVariable::Result => value::value_to_cel(self.result.unwrap_or(&Value::Null)),
        };
        self.context.add_variable_as_val(root.name(), value);
        self.bound.push(root);
    }

    fn evaluate_condition<'e>(
        &self,
        expr: &'e IdedExpr,
        scope: &EvaluationScope<'_, 'e, 'a>,
    ) -> ConditionOutcome {
        use ConditionOutcome::{False, True};
        if let Some(fold) = QuantifierExpr::from_expression(expr) {
            return self.evaluate_quantifier(&fold, scope);
        }
        let Expr::Call(call) = &expr.expr else { return self.evaluate_leaf(expr, scope) };
        match (call.func_name.as_str(), &call.args[..]) {
            (operators::LOGICAL_NOT, [operand]) => match self.evaluate_condition(operand, scope) {
                True => False,
                False => True,
                other => other,
            },
            (operators::LOGICAL_AND, [left, right]) => match self.evaluate_condition(left, scope) {
                False => False,
                left => match self.evaluate_condition(right, scope) {
                    False => False,
                    right => left.combine_undecided(right),
                },
            },
            (operators::LOGICAL_OR, [left, right]) => match self.evaluate_condition(left, scope) {
                True => True,
                left => match self.evaluate_condition(right, scope) {
                    True => True,
                    right => left.combine_undecided(right),
                },
            },
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                match self.evaluate_condition(condition, scope) {
                    True => self.evaluate_condition(then, scope),
                    False => self.evaluate_condition(otherwise, scope),
                    other => other,
                }
            }
            _ => self.evaluate_leaf(expr, scope),
        }
    }

    fn evaluate_quantifier<'e>(
        &self,
        fold: &QuantifierExpr<'e>,
        scope: &EvaluationScope<'_, 'e, 'a>,
    ) -> ConditionOutcome {
        let range = match Cel::resolve_val(fold.range, scope.context) {
            Ok(range) => range,
            Err(error) => return self.classify_error(fold.range, &error, scope),
        };
        let Some(elements) = range.as_iterable() else {
            return ConditionOutcome::Failed(format!(
                "expected a list, found {}",
                range.get_type().name()
            ));
        };
        let path = ast::resolve_path(fold.range, scope.bound.clone());
        let mut elements = elements.iter();
        let mut truth = ConditionOutcome::from(!fold.decisive);
        let mut number = 0;
        while let Some(element) = elements.next() {
            let mut context = scope.context.new_inner_scope();
            context.add_variable_as_val(fold.element, element.clone_as_boxed());
            let mut bound = scope.bound.clone();
            bound.push((
                fold.element,
                path.clone().map(|path| path.with_step(PathStep::Index(number), false)),
            ));
            match self
                .evaluate_condition(fold.condition, &EvaluationScope { context: &context, bound })
            {
                ConditionOutcome::True if fold.decisive => return ConditionOutcome::True,
                ConditionOutcome::False if !fold.decisive => return ConditionOutcome::False,
                other => truth = truth.combine_undecided(other),
            }
            number += 1;
        }
        truth
    }

    fn evaluate_leaf<'e>(
        &self,
        expr: &'e IdedExpr,
        scope: &EvaluationScope<'_, 'e, 'a>,
    ) -> ConditionOutcome {
        match Cel::resolve_val(expr, scope.context) {
            Ok(value) => match value.downcast_ref::<CelBool>() {
                Some(truth) => (*truth.inner()).into(),
                None => ConditionOutcome::Failed(format!(
                    "expected a boolean condition, found {}",
                    value.get_type().name()
                )),
            },
            Err(error) => self.classify_error(expr, &error, scope),
        }
    }

    /// Returns `Unknown` if an absent value explains the error, and the error otherwise.
    fn classify_error<'e>(
        &self,
        expr: &'e IdedExpr,
        error: &ExecutionError,
        scope: &EvaluationScope<'_, 'e, 'a>,
    ) -> ConditionOutcome {
        match error {
            ExecutionError::NoSuchKey(_) | ExecutionError::IndexOutOfBounds(_)
                if absent::is_explained_by_absence(
                    expr,
                    &scope.bound,
                    self.subject,
                    self.result,
                ) =>
            {
                ConditionOutcome::Unknown
            }
            error => ConditionOutcome::Failed(describe_error(error)),
        }
    }
}

/// Describes an evaluation error without any values, because they may be secret.
fn describe_error(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchOverload(overload) => {
            let types = overload.argument_types().join(", ");
            format!("`{}` does not apply to ({types})", overload.function())
        }
        ExecutionError::UnexpectedType { got, want } => format!("expected {want}, found {got}"),
        ExecutionError::NoSuchKey(_) => "missing field".to_owned(),
        ExecutionError::IndexOutOfBounds(_) => "index out of bounds".to_owned(),
        ExecutionError::UnsupportedBinaryOperator(operator, ..) => {
            format!("`{operator}` does not apply to these values")
        }
        ExecutionError::FunctionError { function, .. } => format!("`{function}` failed"),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "division by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        _ => "incompatible values".to_owned(),
    }
}

//! Rejects expressions that can never be boolean, such as `"x"`, `1 + 1` and `size(y)`.
//!
//! The type of a field is known only when a call is made; `decide` checks it then.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};

use crate::RuleError;
use crate::ast::child_expressions;

/// The static type of an expression, as far as it is known.
enum ExpressionShape {
    /// Boolean, or unknown until a call is made.
    Condition,
    /// Not boolean; holds a phrase for error messages.
    Other(&'static str),
}
use ExpressionShape::{Condition, Other};

/// Errors if the expression, or an operand that must be boolean, can never be boolean.
pub(crate) fn check_condition(rule: &str, condition: &IdedExpr) -> Result<(), RuleError> {
    expect_condition(rule, condition)?;
    check_operands(rule, condition)
}

fn expect_condition(rule: &str, expr: &IdedExpr) -> Result<(), RuleError> {
    match infer_shape(expr) {
        Condition => Ok(()),
        Other(what) => Err(RuleError::NotACondition { rule: rule.into(), what: what.into() }),
    }
}

/// Errors if an operand of `&&`, `||`, `!` or `?:` can never be boolean, at any depth.
fn check_operands(rule: &str, expr: &IdedExpr) -> Result<(), RuleError> {
    if let Expr::Call(call) = &expr.expr {
        let conditions = match call.func_name.as_str() {
            operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT => {
                &call.args[..]
            }
            operators::CONDITIONAL => call.args.get(..1).unwrap_or_default(),
            _ => &[],
        };
        conditions.iter().try_for_each(|operand| expect_condition(rule, operand))?;
    }
    child_expressions(expr).into_iter().try_for_each(|child| check_operands(rule, child))
}

fn infer_shape(expr: &IdedExpr) -> ExpressionShape {
    match &expr.expr {
        Expr::Literal(literal) => match literal {
            LiteralValue::Boolean(_) => Condition,
            LiteralValue::String(_) => Other("a string"),
            LiteralValue::Bytes(_) => Other("bytes"),
            LiteralValue::Null => Other("null"),
            LiteralValue::Double(_) | LiteralValue::Int(_) | LiteralValue::UInt(_) => {
                Other("a number")
            }
        },
        Expr::List(_) => Other("a list"),
        Expr::Map(_) | Expr::Struct(_) => Other("a map"),
        Expr::Ident(name) => match name.as_str() {
            "tool" => Other("`tool`, a string"),
            "arguments" | "caller" | "annotations" => Other("an object"),
            _ => Condition,
        },
        Expr::Select(select) => match &select.operand.expr {
            Expr::Ident(name) if !select.test && name == "caller" => Other("a string"),
            _ => Condition,
        },
        Expr::Comprehension(inner) => match &inner.result.expr {
            Expr::Ident(name) if *name == inner.accu_var => infer_shape(&inner.accu_init),
            _ => infer_shape(&inner.result),
        },
        Expr::Call(call) => infer_call_shape(call),
        Expr::Unspecified => Other("an empty expression"),
    }
}

fn infer_call_shape(call: &CallExpr) -> ExpressionShape {
    match call.func_name.as_str() {
        operators::ADD
        | operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO
        | operators::NEGATE => Other("an arithmetic expression"),
        operators::OPT_INDEX | operators::OPT_SELECT | "or" | "of" | "none" | "ofNonZeroValue" => {
            Other("an optional value")
        }
        "size" | "int" | "uint" | "double" => Other("a number"),
        "string" => Other("a string"),
        "bytes" => Other("bytes"),
        "type" => Other("a type"),
        operators::CONDITIONAL => match call.args.get(1).map(infer_shape) {
            Some(Other(what)) => Other(what),
            _ => call.args.get(2).map_or(Condition, infer_shape),
        },
        "orValue" => call.args.first().map_or(Condition, infer_shape),
        _ => Condition,
    }
}

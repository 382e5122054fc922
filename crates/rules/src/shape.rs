//! Whether an expression can be true or false, as far as its shape says: `"x"`, `1 + 1` and `size(y)` never are.
//!
//! What a field holds is known only when a call is made; see `decide`.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};

use crate::RuleError;
use crate::ast::children;

/// What an expression gives.
enum Shape {
    /// True or false, or unknown until a call is made.
    Condition,
    /// Something else, in words.
    Other(&'static str),
}
use Shape::{Condition, Other};

pub(crate) fn check(rule: &str, condition: &IdedExpr) -> Result<(), RuleError> {
    must_be_condition(rule, condition)?;
    operands(rule, condition)
}

fn must_be_condition(rule: &str, expr: &IdedExpr) -> Result<(), RuleError> {
    match shape(expr) {
        Condition => Ok(()),
        Other(what) => Err(RuleError::NotACondition { rule: rule.into(), what: what.into() }),
    }
}

/// What is combined with `&&`, `||`, `!` and `?` must be conditions as well, wherever that is.
fn operands(rule: &str, expr: &IdedExpr) -> Result<(), RuleError> {
    if let Expr::Call(call) = &expr.expr {
        let conditions = match call.func_name.as_str() {
            operators::LOGICAL_AND | operators::LOGICAL_OR | operators::LOGICAL_NOT => {
                &call.args[..]
            }
            operators::CONDITIONAL => call.args.get(..1).unwrap_or_default(),
            _ => &[],
        };
        conditions.iter().try_for_each(|operand| must_be_condition(rule, operand))?;
    }
    children(expr).into_iter().try_for_each(|child| operands(rule, child))
}

fn shape(expr: &IdedExpr) -> Shape {
    match &expr.expr {
        Expr::Literal(literal) => match literal {
            LiteralValue::Boolean(_) => Condition,
            LiteralValue::String(_) => Other("a text"),
            LiteralValue::Bytes(_) => Other("a sequence of bytes"),
            LiteralValue::Null => Other("null"),
            LiteralValue::Double(_) | LiteralValue::Int(_) | LiteralValue::UInt(_) => {
                Other("a number")
            }
        },
        Expr::List(_) => Other("a list"),
        Expr::Map(_) | Expr::Struct(_) => Other("a map"),
        Expr::Ident(name) => match name.as_str() {
            "tool" => Other("`tool`, a text,"),
            "arguments" | "caller" | "annotations" => Other("an object"),
            _ => Condition,
        },
        Expr::Select(select) => match &select.operand.expr {
            Expr::Ident(name) if !select.test && name == "caller" => Other("a text"),
            _ => Condition,
        },
        Expr::Comprehension(inner) => match &inner.result.expr {
            Expr::Ident(name) if *name == inner.accu_var => shape(&inner.accu_init),
            _ => shape(&inner.result),
        },
        Expr::Call(call) => of_call(call),
        Expr::Unspecified => Other("nothing"),
    }
}

fn of_call(call: &CallExpr) -> Shape {
    match call.func_name.as_str() {
        operators::ADD
        | operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO
        | operators::NEGATE => Other("arithmetic"),
        operators::OPT_INDEX | operators::OPT_SELECT | "or" | "of" | "none" | "ofNonZeroValue" => {
            Other("an optional value")
        }
        "size" | "int" | "uint" | "double" => Other("a number"),
        "string" => Other("a text"),
        "bytes" => Other("a sequence of bytes"),
        "type" => Other("a type"),
        operators::CONDITIONAL => match call.args.get(1).map(shape) {
            Some(Other(what)) => Other(what),
            _ => call.args.get(2).map_or(Condition, shape),
        },
        "orValue" => call.args.first().map_or(Condition, shape),
        _ => Condition,
    }
}

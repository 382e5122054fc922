//! Mutants of operators with two operands.

use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprBinary, Lit};

use crate::edit::Side;

use super::{MutantFinder, other_operator, switch};

impl MutantFinder<'_> {
    pub(super) fn visit_binary(
        &mut self,
        expression: &Expr,
        binary: &ExprBinary,
        is_covered: bool,
    ) {
        match &binary.op {
            BinOp::And(_) | BinOp::Or(_) => {
                let mut parts = Vec::new();
                split_same(expression, &binary.op, &mut parts);
                for part in parts {
                    if matches!(binary.op, BinOp::And(_)) {
                        self.make_true(part);
                    } else {
                        self.make_false(part);
                    }
                    self.visit_expression(part, true);
                }
                return;
            }
            BinOp::Eq(_) | BinOp::Ne(_) => self.negate(expression, is_covered),
            BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                self.negate(expression, is_covered);
                // Comparing borrowed operands leaves them usable, as the operator does.
                self.replace_operator(expression, binary, "(match (&(", "), &(");
            }
            BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_) => self.replace_assignment(expression, binary),
            _ if !is_text(&binary.left) && !is_text(&binary.right) => {
                self.replace_operator(expression, binary, "(match ((", "), (");
            }
            _ => {}
        }
        self.visit_expression(&binary.left, false);
        self.visit_expression(&binary.right, false);
    }

    /// Writes both operators after operands that are computed once.
    fn replace_operator(
        &mut self,
        expression: &Expr,
        binary: &ExprBinary,
        open: &str,
        between: &str,
    ) {
        let Some((old, new)) = other_operator(&binary.op) else { return };
        let range = expression.span().byte_range();
        let mutation = format!("{old} becomes {new} in {}", self.quote(&range));
        if let Some(id) = self.add(&range, mutation) {
            let on = switch(id);
            let (l, r) = ("mutant_left", "mutant_right");
            let close = format!(
                ")) {{ ({l}, {r}) => if {on} {{ {l} {new} {r} }} else {{ {l} {old} {r} }} }})"
            );
            self.edits.insert(id, range.start, Side::Open, open.to_owned());
            self.edits.replace(id, binary.op.span().byte_range(), between);
            self.edits.insert(id, range.end, Side::Close, close);
        }
    }

    fn replace_assignment(&mut self, expression: &Expr, binary: &ExprBinary) {
        let Some((old, new)) = other_operator(&binary.op) else { return };
        let range = expression.span().byte_range();
        let mutation = format!("{old} becomes {new} in {}", self.quote(&range));
        let left = self.source[binary.left.span().byte_range()].to_owned();
        let right = self.source[binary.right.span().byte_range()].to_owned();
        let before = |on: &str| format!("if {on} {{ {left} {new} {right} }} else {{ ");
        self.wrap(&range, mutation, before, " }");
    }
}

/// Splits a chain of one operator into its parts.
fn split_same<'e>(expression: &'e Expr, operator: &BinOp, parts: &mut Vec<&'e Expr>) {
    match expression {
        Expr::Binary(binary)
            if std::mem::discriminant(&binary.op) == std::mem::discriminant(operator) =>
        {
            split_same(&binary.left, operator, parts);
            split_same(&binary.right, operator, parts);
        }
        part => parts.push(part),
    }
}

fn is_text(expression: &Expr) -> bool {
    matches!(expression, Expr::Lit(literal) if matches!(literal.lit, Lit::Str(_) | Lit::ByteStr(_)))
        || matches!(expression, Expr::Reference(_) | Expr::Macro(_))
}

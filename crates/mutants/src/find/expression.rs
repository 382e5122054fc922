//! Mutants of expressions: conditions, match arms, calls and literals.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprMatch, ExprMethodCall, Lit, Pat};

use crate::cfg::is_compiled;
use crate::edit::Side;

use super::{MutantFinder, switch};

/// Methods that return whether something holds.
const PREDICATES: [&str; 22] = [
    "all",
    "any",
    "contains",
    "contains_key",
    "ends_with",
    "eq",
    "exists",
    "insert",
    "is_absolute",
    "is_dir",
    "is_empty",
    "is_err",
    "is_file",
    "is_match",
    "is_none",
    "is_none_or",
    "is_ok",
    "is_some",
    "is_some_and",
    "is_symlink",
    "ne",
    "starts_with",
];

/// Methods that take a condition.
const CONDITIONAL: [&str; 14] = [
    "all",
    "any",
    "filter",
    "find",
    "is_none_or",
    "is_ok_and",
    "is_some_and",
    "partition",
    "partition_point",
    "position",
    "retain",
    "rposition",
    "skip_while",
    "take_while",
];

impl MutantFinder<'_> {
    /// Finds the mutants of an expression. The result of a covered expression is changed by a mutant around it already.
    pub(super) fn visit_expression(&mut self, expression: &Expr, is_covered: bool) {
        match expression {
            Expr::Paren(inner) => self.visit_expression(&inner.expr, is_covered),
            Expr::Binary(binary) => self.visit_binary(expression, binary, is_covered),
            Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Not(_)) => {
                self.negate(expression, is_covered);
                self.visit_expression(&unary.expr, true);
            }
            Expr::Lit(literal) if matches!(literal.lit, Lit::Bool(_)) => {
                self.negate(expression, is_covered);
            }
            Expr::Macro(mac) if mac.mac.path.is_ident("matches") => {
                self.negate(expression, is_covered);
            }
            Expr::If(branch) => {
                self.visit_condition(&branch.cond, true);
                self.visit_block(&branch.then_branch);
                if let Some((_, otherwise)) = &branch.else_branch {
                    self.visit_expression(otherwise, true);
                }
            }
            Expr::While(repeat) => {
                // A loop without an end is found by any test, after a long time.
                self.visit_condition(&repeat.cond, false);
                self.visit_block(&repeat.body);
            }
            Expr::Match(choice) => self.visit_match(choice),
            Expr::MethodCall(call) => self.visit_method_call(expression, call, is_covered),
            Expr::Call(call) => {
                if let (Expr::Path(path), Some(limit)) = (&*call.func, call.args.first())
                    && let Some(name) = path.path.segments.last()
                {
                    match &*name.ident.to_string() {
                        "timeout" | "park_timeout" => {
                            self.add_helper(limit, "remove the time limit", "endless");
                        }
                        "timeout_at" => {
                            self.add_helper(limit, "remove the time limit", "a_day_later");
                        }
                        _ => {}
                    }
                }
                visit::visit_expr_call(self, call);
            }
            Expr::Path(path) => self.visit_constant(expression, &path.path),
            Expr::Assign(assigned) if matches!(*assigned.left, Expr::Infer(_)) => {
                self.visit_expression(&assigned.right, true);
            }
            Expr::Closure(closure) => self.visit_expression(&closure.body, is_covered),
            Expr::Repeat(repeat) => self.visit_expression(&repeat.expr, false),
            _ => visit::visit_expr(self, expression),
        }
    }

    pub(super) fn negate(&mut self, expression: &Expr, is_covered: bool) {
        if !is_covered {
            let range = expression.span().byte_range();
            let mutation = format!("negate {}", self.quote(&range));
            if let Some(id) = self.add(&range, mutation) {
                let after = format!(") != {})", switch(id));
                self.edits.wrap(id, &range, "((".to_owned(), &after);
            }
        }
    }

    pub(super) fn make_true(&mut self, expression: &Expr) {
        let range = expression.span().byte_range();
        let mutation = format!("{} is always true", self.quote(&range));
        self.wrap(&range, mutation, |on| format!("({on} || ("), "))");
    }

    pub(super) fn make_false(&mut self, expression: &Expr) {
        let range = expression.span().byte_range();
        let mutation = format!("{} is always false", self.quote(&range));
        self.wrap(&range, mutation, |on| format!("(!{on} && ("), "))");
    }

    /// Passes the value of an expression through a function of the switches.
    fn add_helper(&mut self, expression: &Expr, what: &str, function: &str) {
        let range = expression.span().byte_range();
        let mutation = format!("{what} {}", self.quote(&range));
        if let Some(id) = self.add(&range, mutation) {
            let before = format!("::mutant_switch::{function}({id}, ");
            self.edits.wrap(id, &range, before, ")");
        }
    }

    fn visit_condition(&mut self, condition: &Expr, may_be_true: bool) {
        let mut parts = Vec::new();
        split_chain(condition, &mut parts);
        if !parts.iter().any(|part| matches!(part, Expr::Let(_))) {
            if may_be_true {
                self.make_true(condition);
            }
            self.make_false(condition);
            return self.visit_expression(condition, true);
        }
        let range = condition.span().byte_range();
        let mutation = format!("{} is always false", self.quote(&range));
        if let Some(id) = self.add(&range, mutation) {
            self.edits.insert(id, range.start, Side::Open, format!("!{} && ", switch(id)));
        }
        for part in parts {
            match part {
                Expr::Let(part) => self.visit_expression(&part.expr, false),
                part => {
                    self.make_true(part);
                    self.visit_expression(part, true);
                }
            }
        }
    }

    fn visit_match(&mut self, choice: &ExprMatch) {
        self.visit_expression(&choice.expr, false);
        let fallback = choice.arms.last().filter(|arm| match &arm.pat {
            Pat::Wild(_) => true,
            Pat::Ident(binding) => {
                binding.subpat.is_none()
                    && binding.ident.to_string().starts_with(|first: char| first.is_lowercase())
            }
            _ => false,
        });
        let fallback = fallback.map(|arm| self.quote(&arm.body.span().byte_range()));
        for (index, arm) in choice.arms.iter().enumerate() {
            if !is_compiled(&arm.attrs) {
                continue;
            }
            if let Pat::Guard(guarded) = &arm.pat {
                self.make_true(&guarded.guard);
                self.make_false(&guarded.guard);
                self.visit_expression(&guarded.guard, true);
            } else if let Some(fallback) = &fallback
                && index + 1 < choice.arms.len()
                && self.quote(&arm.body.span().byte_range()) != *fallback
            {
                let range = arm.pat.span().byte_range();
                let mutation = format!("delete the arm {}", self.quote(&range));
                if let Some(id) = self.add(&range, mutation) {
                    self.edits.insert(id, range.end, Side::Close, format!(" if !{}", switch(id)));
                }
            }
            self.visit_expression(&arm.body, false);
        }
    }

    fn visit_method_call(&mut self, expression: &Expr, call: &ExprMethodCall, is_covered: bool) {
        let method = call.method.to_string();
        if PREDICATES.contains(&&*method) && !(method == "insert" && call.args.len() != 1) {
            self.negate(expression, is_covered);
        }
        if let (Some(argument), 1) = (call.args.first(), call.args.len()) {
            match &*method {
                "min" | "max" => self.remove_bound(expression, call),
                "take" => self.add_helper(argument, "remove the limit of take", "unlimited"),
                "timeout" | "recv_timeout" => {
                    self.add_helper(argument, "remove the time limit", "endless");
                }
                _ => {}
            }
        }
        self.visit_expression(&call.receiver, false);
        for argument in &call.args {
            match argument {
                Expr::Closure(closure)
                    if CONDITIONAL.contains(&&*method)
                        && !matches!(*closure.body, Expr::Block(_)) =>
                {
                    self.make_true(&closure.body);
                    self.make_false(&closure.body);
                    self.visit_expression(&closure.body, true);
                }
                argument => self.visit_expression(argument, false),
            }
        }
    }

    /// `a.min(b)` becomes `a`.
    fn remove_bound(&mut self, expression: &Expr, call: &ExprMethodCall) {
        let range = expression.span().byte_range();
        let mutation = format!("remove .{}() of {}", call.method, self.quote(&range));
        if let Some(id) = self.add(&range, mutation) {
            let value = "mutant_value";
            let on = switch(id);
            let bind = format!(" {{ {value} => if {on} {{ {value} }} else {{ {value}");
            self.edits.insert(id, range.start, Side::Open, "(match ".to_owned());
            self.edits.insert(id, call.receiver.span().byte_range().end, Side::Close, bind);
            self.edits.insert(id, range.end, Side::Close, " } })".to_owned());
        }
    }

    /// A use of a constant of this crate becomes one larger, by one mutant for all uses.
    fn visit_constant(&mut self, expression: &Expr, path: &syn::Path) {
        let Some(name) = path.segments.last().map(|last| last.ident.to_string()) else { return };
        if self.function.is_some()
            && let Some(id) = self.constants.find_mutant(self.file, &name)
        {
            let range = expression.span().byte_range();
            self.edits.add_use(id, &range);
            self.edits.wrap(id, &range, format!("::mutant_switch::plus_one({id}, "), ")");
        }
    }
}

/// Splits `a && b && c` into its parts.
fn split_chain<'e>(expression: &'e Expr, parts: &mut Vec<&'e Expr>) {
    match expression {
        Expr::Binary(binary) if matches!(binary.op, syn::BinOp::And(_)) => {
            split_chain(&binary.left, parts);
            split_chain(&binary.right, parts);
        }
        part => parts.push(part),
    }
}

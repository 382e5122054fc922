//! Field paths, names and functions that a CEL expression uses.
//!
//! Paths are followed from a variable through fields, indices and macros: `arguments.items.exists(i, i.path == "x")`
//! reads `arguments.items[].path`. This module does not judge them: `check` validates names and functions, `schema`
//! compares paths with contracts, and `absent` compares them with the values of a call.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators};

/// A variable that an expression can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleVariable {
    Tool,
    Arguments,
    Caller,
    Annotations,
    Result,
}

impl RuleVariable {
    pub(crate) const ALL: [Self; 5] =
        [Self::Tool, Self::Arguments, Self::Caller, Self::Annotations, Self::Result];

    /// Returns the name of the variable in CEL.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Arguments => "arguments",
            Self::Caller => "caller",
            Self::Annotations => "annotations",
            Self::Result => "result",
        }
    }
}

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathStep {
    Field(String),
    /// An element at a constant index.
    Index(usize),
    /// Any element: the range of a macro, or a computed index.
    Each,
}

/// A path that an expression reads, such as `arguments.items[].path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldPath {
    pub(crate) root: RuleVariable,
    pub(crate) steps: Vec<PathStep>,
    /// Number of leading steps that must exist; the next step is only tested, as in `has()`, `in` or `.?`.
    pub(crate) required: usize,
}

impl FieldPath {
    /// Returns the path extended by a step; `tested` is true if the step may be absent.
    pub(crate) fn with_step(mut self, step: PathStep, tested: bool) -> Self {
        // No step is required after one that is only tested.
        if !tested && self.required == self.steps.len() {
            self.required += 1;
        }
        self.steps.push(step);
        self
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.root.name())?;
        for step in &self.steps {
            match step {
                PathStep::Field(name) => write!(f, ".{name}")?,
                PathStep::Index(number) => write!(f, "[{number}]")?,
                PathStep::Each => write!(f, "[]")?,
            }
        }
        Ok(())
    }
}

/// A path, name, function or struct that an expression uses.
#[derive(Debug)]
pub(crate) enum ExpressionUse<'e> {
    Path {
        path: FieldPath,
        /// True inside a loop or an operand of `&&` and `||`, where CEL reports only one of several errors.
        folded: bool,
    },
    /// A name that is neither a variable nor bound by a macro.
    Name(&'e str),
    Call(&'e CallExpr),
    Struct(&'e str),
}

/// Names that macros bind, innermost last, each with the path that it stands for, if any.
pub(crate) type MacroBindings<'e> = Vec<(&'e str, Option<FieldPath>)>;

/// Calls `found` for everything that an expression uses; `bound` are the names that enclosing macros bind.
pub(crate) fn visit_uses<'e>(
    expr: &'e IdedExpr,
    bound: MacroBindings<'e>,
    found: &mut dyn FnMut(ExpressionUse<'e>),
) {
    ExpressionVisitor { bound, folded: false, found }.visit_expression(expr);
}

/// Returns the path that an expression spells, or `None` if it is not a path.
pub(crate) fn resolve_path<'e>(expr: &'e IdedExpr, bound: MacroBindings<'e>) -> Option<FieldPath> {
    ExpressionVisitor { bound, folded: false, found: &mut |_| {} }.resolve_path(expr)
}

/// An `exists` or `all` macro: an `||` or `&&` over the elements of a range.
pub(crate) struct QuantifierExpr<'e> {
    pub(crate) range: &'e IdedExpr,
    /// Name of the element in the condition.
    pub(crate) element: &'e str,
    pub(crate) condition: &'e IdedExpr,
    /// Result for one element that decides the whole macro: true for `exists`, false for `all`.
    pub(crate) decisive: bool,
}

impl<'e> QuantifierExpr<'e> {
    /// Returns the parts of an `exists` or `all`, or `None` for any other expression.
    pub(crate) fn from_expression(expr: &'e IdedExpr) -> Option<Self> {
        let Expr::Comprehension(inner) = &expr.expr else { return None };
        let Expr::Call(step) = &inner.loop_step.expr else { return None };
        let decisive = match step.func_name.as_str() {
            operators::LOGICAL_OR => true,
            operators::LOGICAL_AND => false,
            _ => return None,
        };
        let is_result =
            |expr: &IdedExpr| matches!(&expr.expr, Expr::Ident(name) if *name == inner.accu_var);
        match &step.args[..] {
            [so_far, condition]
                if is_result(so_far) && is_result(&inner.result) && inner.iter_var2.is_none() =>
            {
                let (range, element) = (&inner.iter_range, inner.iter_var.as_str());
                Some(Self { range, element, condition, decisive })
            }
            _ => None,
        }
    }
}

/// Traversal state of [`visit_uses`].
struct ExpressionVisitor<'e, 'f> {
    bound: MacroBindings<'e>,
    folded: bool,
    found: &'f mut dyn FnMut(ExpressionUse<'e>),
}

impl<'e> ExpressionVisitor<'e, '_> {
    fn visit_expression(&mut self, expr: &'e IdedExpr) {
        if let Some(path) = self.resolve_path(expr) {
            (self.found)(ExpressionUse::Path { path, folded: self.folded });
            self.visit_indices(expr);
            return;
        }
        match &expr.expr {
            Expr::Ident(name) => {
                if !self.bound.iter().any(|(bound, _)| bound == name) {
                    (self.found)(ExpressionUse::Name(name));
                }
            }
            Expr::Call(call) => self.visit_call(call),
            Expr::Comprehension(inner) => {
                self.visit_expression(&inner.iter_range);
                self.visit_expression(&inner.accu_init);
                let depth = self.bound.len();
                let element = self
                    .resolve_path(&inner.iter_range)
                    .map(|path| path.with_step(PathStep::Each, false));
                let start = self.resolve_path(&inner.accu_init);
                self.bound.push((&inner.iter_var, element));
                self.bound.extend(inner.iter_var2.as_deref().map(|name| (name, None)));
                self.bound.push((&inner.accu_var, start));
                self.visit_folded(|this| {
                    this.visit_expression(&inner.loop_cond);
                    this.visit_expression(&inner.loop_step);
                });
                self.visit_expression(&inner.result);
                self.bound.truncate(depth);
            }
            Expr::Struct(literal) => {
                (self.found)(ExpressionUse::Struct(&literal.type_name));
            }
            _ => child_expressions(expr).into_iter().for_each(|child| self.visit_expression(child)),
        }
    }

    fn visit_call(&mut self, call: &'e CallExpr) {
        (self.found)(ExpressionUse::Call(call));
        // `optional.of(x)`: `optional` is a namespace, not a variable.
        let namespace = call.target.as_deref().is_some_and(is_optional_namespace);
        if let (Some(target), false) = (call.target.as_deref(), namespace) {
            self.visit_expression(target);
        }
        if call.func_name == operators::IN
            && let [key, container] = &call.args[..]
            && let (Some(key), Some(path)) = (as_string_literal(key), self.resolve_path(container))
        {
            let path = path.with_step(PathStep::Field(key.to_owned()), true);
            (self.found)(ExpressionUse::Path { path, folded: self.folded });
            self.visit_indices(container);
            return;
        }
        // Arguments from this index on may stay unevaluated, or may hide another error.
        let folded = match call.func_name.as_str() {
            operators::LOGICAL_AND | operators::LOGICAL_OR => 0,
            operators::CONDITIONAL => 1,
            _ => call.args.len(),
        };
        let (read, folded) = call.args.split_at(folded.min(call.args.len()));
        read.iter().for_each(|argument| self.visit_expression(argument));
        self.visit_folded(|this| {
            folded.iter().for_each(|argument| this.visit_expression(argument))
        });
    }

    fn visit_folded(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.folded, true);
        visit(self);
        self.folded = before;
    }

    fn resolve_path(&self, expr: &'e IdedExpr) -> Option<FieldPath> {
        match &expr.expr {
            Expr::Ident(name) => match self.bound.iter().rev().find(|(bound, _)| bound == name) {
                Some((_, path)) => path.clone(),
                None => {
                    let root = RuleVariable::ALL.into_iter().find(|root| root.name() == name)?;
                    Some(FieldPath { root, steps: Vec::new(), required: 0 })
                }
            },
            Expr::Select(select) => Some(
                self.resolve_path(&select.operand)?
                    .with_step(PathStep::Field(select.field.clone()), select.test),
            ),
            Expr::Call(call) => match (call.func_name.as_str(), &call.args[..]) {
                (operators::INDEX, [of, index]) => {
                    Some(self.resolve_path(of)?.with_step(step_from_index(index), false))
                }
                (operators::OPT_INDEX | operators::OPT_SELECT, [of, index]) => {
                    Some(self.resolve_path(of)?.with_step(step_from_index(index), true))
                }
                // The value of an optional has the path of the optional.
                ("value", []) => self.resolve_path(call.target.as_deref()?),
                _ => None,
            },
            _ => None,
        }
    }

    /// Visits the computed indices inside an expression that spells a path.
    fn visit_indices(&mut self, expr: &'e IdedExpr) {
        match &expr.expr {
            Expr::Select(select) => self.visit_indices(&select.operand),
            Expr::Call(call) => {
                call.target.iter().for_each(|target| self.visit_indices(target));
                let [of, index] = &call.args[..] else { return };
                self.visit_indices(of);
                self.visit_expression(index);
            }
            _ => {}
        }
    }
}

/// Converts an index expression into a path step.
fn step_from_index(index: &IdedExpr) -> PathStep {
    match &index.expr {
        Expr::Literal(LiteralValue::String(name)) => PathStep::Field(name.inner().to_owned()),
        Expr::Literal(LiteralValue::Int(number)) => {
            usize::try_from(*number.inner()).map_or(PathStep::Each, PathStep::Index)
        }
        _ => PathStep::Each,
    }
}

/// Returns the value of a string literal, or `None` for any other expression.
pub(crate) fn as_string_literal(expr: &IdedExpr) -> Option<&str> {
    match &expr.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

/// Returns true for the `optional` in `optional.of(x)`.
pub(crate) fn is_optional_namespace(target: &IdedExpr) -> bool {
    matches!(&target.expr, Expr::Ident(name) if name == "optional")
}

/// Returns the direct subexpressions.
pub(crate) fn child_expressions(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(inner) => vec![
            &inner.iter_range,
            &inner.accu_init,
            &inner.loop_cond,
            &inner.loop_step,
            &inner.result,
        ],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => {
            map.entries.iter().flat_map(|entry| entry_expressions(&entry.expr)).collect()
        }
        Expr::Struct(literal) => {
            literal.entries.iter().flat_map(|entry| entry_expressions(&entry.expr)).collect()
        }
        Expr::Select(select) => vec![&select.operand],
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
    }
}

fn entry_expressions(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

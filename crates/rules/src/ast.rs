//! What an expression reads: its variables, followed from the root through fields, indices and macros.
//!
//! `arguments.items.exists(i, i.path == "x")` reads `arguments.items[].path`. Judging what is found is for `check`
//! (names and functions), `schema` (contracts) and `absent` (a call's values).

use cel::IdedExpr;
use cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators};

/// The variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Root {
    Tool,
    Arguments,
    Caller,
    Annotations,
    Result,
}

impl Root {
    pub(crate) const ALL: [Self; 5] =
        [Self::Tool, Self::Arguments, Self::Caller, Self::Annotations, Self::Result];

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Field(String),
    /// An element by its number.
    Index(usize),
    /// Whatever a macro goes through, or an index that is computed.
    Each,
}

/// Something that an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) root: Root,
    pub(crate) steps: Vec<Step>,
    /// How many of the steps must lead somewhere; the next one is only asked for, as by `has()`, `in` or `.?`.
    pub(crate) required: usize,
}

impl Path {
    pub(crate) fn then(mut self, step: Step, tested: bool) -> Self {
        // After a step that is only asked for, nothing is required any more.
        if !tested && self.required == self.steps.len() {
            self.required += 1;
        }
        self.steps.push(step);
        self
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.root.name())?;
        for step in &self.steps {
            match step {
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(number) => write!(f, "[{number}]")?,
                Step::Each => write!(f, "[]")?,
            }
        }
        Ok(())
    }
}

/// Something that an expression uses.
#[derive(Debug)]
pub(crate) enum Use<'e> {
    Path {
        path: Path,
        /// In a loop, or in `&&` and `||`: there CEL reports one error where several happened.
        folded: bool,
    },
    /// A name that is neither a variable nor bound by a macro.
    Name(&'e str),
    Call(&'e CallExpr),
    Struct(&'e str),
}

/// What macros bind, innermost last, with the path that it stands for where that is one.
pub(crate) type Bound<'e> = Vec<(&'e str, Option<Path>)>;

/// Tells `found` of everything that an expression uses, where macros around it have bound `bound`.
pub(crate) fn visit<'e>(expr: &'e IdedExpr, bound: Bound<'e>, found: &mut dyn FnMut(Use<'e>)) {
    Visit { bound, folded: false, found }.expression(expr);
}

/// The path that an expression spells, if it spells one.
pub(crate) fn path<'e>(expr: &'e IdedExpr, bound: Bound<'e>) -> Option<Path> {
    Visit { bound, folded: false, found: &mut |_| {} }.path(expr)
}

/// An `exists` or `all`: an `||` or `&&` over elements.
pub(crate) struct Fold<'e> {
    pub(crate) range: &'e IdedExpr,
    /// What an element is called in the condition.
    pub(crate) element: &'e str,
    pub(crate) condition: &'e IdedExpr,
    /// What one element needs to be for it to decide alone: true for `exists`, false for `all`.
    pub(crate) decisive: bool,
}

impl<'e> Fold<'e> {
    pub(crate) fn of(expr: &'e IdedExpr) -> Option<Self> {
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

struct Visit<'e, 'f> {
    bound: Bound<'e>,
    folded: bool,
    found: &'f mut dyn FnMut(Use<'e>),
}

impl<'e> Visit<'e, '_> {
    fn expression(&mut self, expr: &'e IdedExpr) {
        if let Some(path) = self.path(expr) {
            (self.found)(Use::Path { path, folded: self.folded });
            self.indices(expr);
            return;
        }
        match &expr.expr {
            Expr::Ident(name) => {
                if !self.bound.iter().any(|(bound, _)| bound == name) {
                    (self.found)(Use::Name(name));
                }
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(inner) => {
                self.expression(&inner.iter_range);
                self.expression(&inner.accu_init);
                let depth = self.bound.len();
                let element = self.path(&inner.iter_range).map(|path| path.then(Step::Each, false));
                let start = self.path(&inner.accu_init);
                self.bound.push((&inner.iter_var, element));
                self.bound.extend(inner.iter_var2.as_deref().map(|name| (name, None)));
                self.bound.push((&inner.accu_var, start));
                self.in_fold(|this| {
                    this.expression(&inner.loop_cond);
                    this.expression(&inner.loop_step);
                });
                self.expression(&inner.result);
                self.bound.truncate(depth);
            }
            Expr::Struct(literal) => {
                (self.found)(Use::Struct(&literal.type_name));
            }
            _ => children(expr).into_iter().for_each(|child| self.expression(child)),
        }
    }

    fn call(&mut self, call: &'e CallExpr) {
        (self.found)(Use::Call(call));
        // `optional.of(x)`: a name with a dot, not a function of a variable.
        let namespace = call.target.as_deref().is_some_and(is_namespace);
        if let (Some(target), false) = (call.target.as_deref(), namespace) {
            self.expression(target);
        }
        if call.func_name == operators::IN
            && let [key, container] = &call.args[..]
            && let (Some(key), Some(path)) = (text(key), self.path(container))
        {
            let path = path.then(Step::Field(key.to_owned()), true);
            (self.found)(Use::Path { path, folded: self.folded });
            self.indices(container);
            return;
        }
        // What may be left unread, or be one of several errors.
        let folded = match call.func_name.as_str() {
            operators::LOGICAL_AND | operators::LOGICAL_OR => 0,
            operators::CONDITIONAL => 1,
            _ => call.args.len(),
        };
        let (read, folded) = call.args.split_at(folded.min(call.args.len()));
        read.iter().for_each(|argument| self.expression(argument));
        self.in_fold(|this| folded.iter().for_each(|argument| this.expression(argument)));
    }

    fn in_fold(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.folded, true);
        visit(self);
        self.folded = before;
    }

    fn path(&self, expr: &'e IdedExpr) -> Option<Path> {
        match &expr.expr {
            Expr::Ident(name) => match self.bound.iter().rev().find(|(bound, _)| bound == name) {
                Some((_, path)) => path.clone(),
                None => {
                    let root = Root::ALL.into_iter().find(|root| root.name() == name)?;
                    Some(Path { root, steps: Vec::new(), required: 0 })
                }
            },
            Expr::Select(select) => Some(
                self.path(&select.operand)?.then(Step::Field(select.field.clone()), select.test),
            ),
            Expr::Call(call) => match (call.func_name.as_str(), &call.args[..]) {
                (operators::INDEX, [of, index]) => Some(self.path(of)?.then(step(index), false)),
                (operators::OPT_INDEX | operators::OPT_SELECT, [of, index]) => {
                    Some(self.path(of)?.then(step(index), true))
                }
                // What an optional holds stands where the optional does.
                ("value", []) => self.path(call.target.as_deref()?),
                _ => None,
            },
            _ => None,
        }
    }

    /// The computed indices in something that spells a path.
    fn indices(&mut self, expr: &'e IdedExpr) {
        match &expr.expr {
            Expr::Select(select) => self.indices(&select.operand),
            Expr::Call(call) => {
                call.target.iter().for_each(|target| self.indices(target));
                let [of, index] = &call.args[..] else { return };
                self.indices(of);
                self.expression(index);
            }
            _ => {}
        }
    }
}

fn step(index: &IdedExpr) -> Step {
    match &index.expr {
        Expr::Literal(LiteralValue::String(name)) => Step::Field(name.inner().to_owned()),
        Expr::Literal(LiteralValue::Int(number)) => {
            usize::try_from(*number.inner()).map_or(Step::Each, Step::Index)
        }
        _ => Step::Each,
    }
}

pub(crate) fn text(expr: &IdedExpr) -> Option<&str> {
    match &expr.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

pub(crate) fn is_namespace(target: &IdedExpr) -> bool {
    matches!(&target.expr, Expr::Ident(name) if name == "optional")
}

/// The expressions right below one.
pub(crate) fn children(expr: &IdedExpr) -> Vec<&IdedExpr> {
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
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entries(&entry.expr)).collect(),
        Expr::Struct(literal) => {
            literal.entries.iter().flat_map(|entry| entries(&entry.expr)).collect()
        }
        Expr::Select(select) => vec![&select.operand],
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
    }
}

fn entries(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

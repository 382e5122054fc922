//! Finds the mutants of one parsed file: where code can be changed, and how a switch is written there.
//!
//! Code inside macros, constants, patterns and types is left alone, as a switch cannot be compiled there.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, Pat, Signature, Stmt};

use crate::cfg::is_compiled;
use crate::constants::Constants;
use crate::defaults::default_values;
use crate::edit::{FileEdits, NewMutant, Side};

mod expression;
mod operator;

/// Longest quotation of code in the description of a mutant.
const MAX_QUOTE: usize = 72;

/// Walks through the syntax tree of one file.
pub(crate) struct MutantFinder<'a> {
    pub(crate) crate_name: &'a str,
    pub(crate) file: &'a str,
    pub(crate) source: &'a str,
    pub(crate) constants: &'a Constants,
    pub(crate) edits: FileEdits,
    self_type: Option<String>,
    function: Option<(String, Range<usize>)>,
}

impl<'a> MutantFinder<'a> {
    pub(crate) fn new(
        crate_name: &'a str,
        file: &'a str,
        source: &'a str,
        constants: &'a Constants,
    ) -> Self {
        let edits = FileEdits::default();
        Self { crate_name, file, source, constants, edits, self_type: None, function: None }
    }

    /// Adds a mutant of the current function. Code outside of functions is not changed.
    fn add(&mut self, range: &Range<usize>, mutation: String) -> Option<u64> {
        let (function, function_range) = self.function.as_ref()?;
        let line = self.source[..range.start].matches('\n').count() + 1;
        Some(self.edits.add(NewMutant {
            crate_name: self.crate_name,
            file: self.file,
            function,
            mutation,
            line,
            range: range.clone(),
            function_range: function_range.clone(),
        }))
    }

    /// Adds a mutant that is written around a range.
    fn wrap(
        &mut self,
        range: &Range<usize>,
        mutation: String,
        before: impl Fn(&str) -> String,
        after: &str,
    ) {
        if let Some(id) = self.add(range, mutation) {
            self.edits.wrap(id, range, before(&switch(id)), after);
        }
    }

    /// Returns the code of a range in one line.
    fn quote(&self, range: &Range<usize>) -> String {
        let words: Vec<&str> = self.source[range.clone()].split_whitespace().collect();
        let code = words.join(" ");
        match code.char_indices().nth(MAX_QUOTE) {
            Some((end, _)) => format!("`{}…`", &code[..end]),
            None => format!("`{code}`"),
        }
    }

    fn visit_function(&mut self, attributes: &[Attribute], signature: &Signature, body: &Block) {
        if signature.constness.is_some() || !is_compiled(attributes) {
            return;
        }
        let name = match &self.self_type {
            Some(self_type) => format!("{self_type}::{}", signature.ident),
            None => signature.ident.to_string(),
        };
        let name = match &self.function {
            Some((outer, _)) => format!("{outer}::{}", signature.ident),
            None => name,
        };
        let outer = self.function.replace((name, body.span().byte_range()));
        self.add_early_returns(signature, body);
        self.visit_block(body);
        self.function = outer;
    }

    /// Adds a mutant for each plain value that the function could return at once.
    fn add_early_returns(&mut self, signature: &Signature, body: &Block) {
        let Some(first) = body.stmts.first() else { return };
        let start = first.span().byte_range().start;
        let values = default_values(&signature.output);
        let is_only_value = |value: &str| matches!(&body.stmts[..], [Stmt::Expr(tail, None)] if self.quote(&tail.span().byte_range()) == format!("`{value}`"));
        let values: Vec<_> = values.into_iter().filter(|value| !is_only_value(value)).collect();
        for value in &values {
            let range = body.span().byte_range();
            if let Some(id) = self.add(&range, format!("return {value}")) {
                let text = format!("if {} {{ return {value}; }} ", switch(id));
                self.edits.insert(id, start, Side::Open, text);
            }
        }
        // The last step of several, such as a sync, is the value of the function and no statement.
        if let [_, .., Stmt::Expr(tail, None)] = &body.stmts[..]
            && values.iter().any(|value| value == "Ok(())")
            && is_fallible_step(tail)
        {
            let range = tail.span().byte_range();
            let mutation = format!("delete {}", self.quote(&range));
            self.wrap(&range, mutation, |on| format!("(if {on} {{ Ok(()) }} else {{ "), " })");
        }
    }

    fn visit_statement(&mut self, statement: &Stmt) {
        let is_deletable = match statement {
            Stmt::Expr(expression, Some(_)) => is_effect(expression),
            Stmt::Local(local) => {
                matches!(local.pat, Pat::Wild(_))
                    && local.init.as_ref().is_some_and(|init| init.diverge.is_none())
            }
            _ => false,
        };
        if is_deletable {
            let range = statement.span().byte_range();
            let mutation = format!("delete {}", self.quote(&range));
            self.wrap(&range, mutation, |on| format!("if !{on} {{ "), " }");
        }
        match statement {
            // The value of a statement is not used, so a mutant of the value would make no difference.
            Stmt::Expr(expression, Some(_)) => self.visit_expression(expression, true),
            _ => visit::visit_stmt(self, statement),
        }
    }
}

/// Returns whether a statement does something that a test could miss.
fn is_effect(expression: &Expr) -> bool {
    match expression {
        Expr::Call(call) => {
            !matches!(&*call.func, Expr::Path(path) if path.path.is_ident("drop") || path.path.is_ident("Err"))
        }
        Expr::MethodCall(_) | Expr::Assign(_) => true,
        Expr::Try(tried) => is_effect(&tried.expr),
        Expr::Await(awaited) => is_effect(&awaited.base),
        _ => false,
    }
}

/// Returns whether the value of an expression is the result of a step, not a plain `Ok` or `Err`.
fn is_fallible_step(expression: &Expr) -> bool {
    match expression {
        Expr::Call(call) => {
            !matches!(&*call.func, Expr::Path(path) if path.path.is_ident("Ok") || path.path.is_ident("Err"))
        }
        Expr::MethodCall(_) => true,
        Expr::Await(awaited) => is_fallible_step(&awaited.base),
        _ => false,
    }
}

/// Returns the code that asks whether a mutant is active.
fn switch(id: u64) -> String {
    format!("::mutant_switch::on({id})")
}

impl<'ast> Visit<'ast> for MutantFinder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.visit_function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.visit_function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.visit_function(&item.attrs, &item.sig, body);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let is_debug = item.trait_.as_ref().is_some_and(|(path, _)| {
            path.segments.last().is_some_and(|segment| segment.ident == "Debug")
        });
        if is_debug || !is_compiled(&item.attrs) {
            return;
        }
        let self_type = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let name = match (&item.trait_, self_type) {
            (Some((path, _)), Some(self_type)) => {
                path.segments.last().map(|last| format!("<{self_type} as {}>", last.ident))
            }
            (_, self_type) => self_type,
        };
        let outer = std::mem::replace(&mut self.self_type, name);
        for item in &item.items {
            self.visit_impl_item(item);
        }
        self.self_type = outer;
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        if is_compiled(&item.attrs) {
            let outer = self.self_type.replace(item.ident.to_string());
            for item in &item.items {
                self.visit_trait_item(item);
            }
            self.self_type = outer;
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if is_compiled(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let attributes = match statement {
            Stmt::Local(local) => &local.attrs[..],
            Stmt::Expr(Expr::Block(block), _) => &block.attrs,
            _ => &[],
        };
        if is_compiled(attributes) {
            self.visit_statement(statement);
        }
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        self.visit_expression(expression, false);
    }

    // Code in these places is evaluated at compile time, or is no code of its own.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_item_struct(&mut self, _: &'ast syn::ItemStruct) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_path(&mut self, _: &'ast syn::Path) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}
    fn visit_signature(&mut self, _: &'ast Signature) {}
}

/// Returns the operator that a mutant uses instead, for operators whose operands are computed in any case.
fn other_operator(operator: &BinOp) -> Option<(&'static str, &'static str)> {
    Some(match operator {
        BinOp::Lt(_) => ("<", "<="),
        BinOp::Le(_) => ("<=", "<"),
        BinOp::Gt(_) => (">", ">="),
        BinOp::Ge(_) => (">=", ">"),
        BinOp::Add(_) => ("+", "-"),
        BinOp::Sub(_) => ("-", "+"),
        BinOp::Mul(_) => ("*", "+"),
        BinOp::Div(_) => ("/", "*"),
        BinOp::Rem(_) => ("%", "/"),
        BinOp::BitAnd(_) => ("&", "|"),
        BinOp::BitOr(_) => ("|", "&"),
        BinOp::BitXor(_) => ("^", "|"),
        BinOp::Shl(_) => ("<<", ">>"),
        BinOp::Shr(_) => (">>", "<<"),
        BinOp::AddAssign(_) => ("+=", "-="),
        BinOp::SubAssign(_) => ("-=", "+="),
        BinOp::MulAssign(_) => ("*=", "+="),
        BinOp::DivAssign(_) => ("/=", "*="),
        BinOp::BitAndAssign(_) => ("&=", "|="),
        BinOp::BitOrAssign(_) => ("|=", "&="),
        _ => return None,
    })
}

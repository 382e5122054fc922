//! Integer constants of one crate. A constant is evaluated by the compiler, so its mutant changes each use of it.

use std::collections::HashMap;

use syn::visit::{self, Visit};
use syn::{ItemConst, Type};

use crate::cfg::is_compiled;

/// A constant and the place of its definition.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) file: String,
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) mutant: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Constants {
    by_name: HashMap<String, Vec<Constant>>,
}

impl Constants {
    pub(crate) fn add_file(&mut self, file: &str, syntax: &syn::File) {
        let mut finder = ConstantFinder { found: Vec::new() };
        finder.visit_file(syntax);
        for (name, line) in finder.found {
            let constant = Constant { file: file.to_owned(), name, line, mutant: None };
            self.by_name.entry(constant.name.clone()).or_default().push(constant);
        }
    }

    /// Returns the constants that a file defines.
    pub(crate) fn defined_in(&self, file: &str) -> Vec<Constant> {
        let mut found: Vec<Constant> =
            self.by_name.values().flatten().filter(|c| c.file == file).cloned().collect();
        found.sort_by_key(|constant| constant.line);
        found
    }

    pub(crate) fn set_mutant(&mut self, constant: &Constant, mutant: u64) {
        for known in self.by_name.get_mut(&constant.name).into_iter().flatten() {
            if known.file == constant.file && known.line == constant.line {
                known.mutant = Some(mutant);
            }
        }
    }

    /// Returns the mutant of the constant that a name in a file means: the one of the same file, or the only one of
    /// the crate.
    pub(crate) fn find_mutant(&self, file: &str, name: &str) -> Option<u64> {
        let known = self.by_name.get(name)?;
        let mut own = known.iter().filter(|constant| constant.file == file);
        match (own.next(), own.next(), &known[..]) {
            (Some(own), None, _) => own.mutant,
            (None, None, [only]) => only.mutant,
            _ => None,
        }
    }
}

struct ConstantFinder {
    found: Vec<(String, usize)>,
}

impl ConstantFinder {
    fn add(&mut self, name: &syn::Ident, kind: &Type) {
        let is_integer = |path: &syn::TypePath| {
            ["u8", "u16", "u32", "u64", "usize", "i32", "i64"]
                .iter()
                .any(|name| path.path.is_ident(name))
        };
        if matches!(kind, Type::Path(path) if is_integer(path)) {
            self.found.push((name.to_string(), name.span().start().line));
        }
    }
}

impl<'ast> Visit<'ast> for ConstantFinder {
    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        if is_compiled(&item.attrs) {
            self.add(&item.ident, &item.ty);
        }
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.add(&item.ident, &item.ty);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if is_compiled(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

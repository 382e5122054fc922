//! Extraction of imports from a syntax tree, as written. `resolve.rs` maps them to files.

mod c;
mod ecma;
mod go;
mod java;
mod python;
mod rust;
mod solidity;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::language::Language;

/// Maximum number of imports listed per file, for example in generated files.
const MAX_IMPORTS: usize = 2000;

/// One imported item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// As written: `./router.js`, `..routing`, `crate::routing::Router`, `net/http`, `vector.h`, `<vector>`.
    pub specifier: String,
    pub kind: ImportKind,
    /// 1-based line number.
    pub line: u32,
    /// Names imported from the specifier, for Python's `from specifier import names`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Inline modules of the same file that contain the import (Rust).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// Explicit file of a module (Rust's `#[path]`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `true` if the import is visible to other crates (Rust's `pub mod`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub public: bool,
}

/// The syntax of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportKind {
    Import,
    /// `import type`, `import("…")` as a type.
    Type,
    /// `export … from`.
    Export,
    /// `require("…")`.
    Require,
    /// `import("…")`.
    Dynamic,
    /// `/// <reference path="…" />`.
    Reference,
    /// Rust's `mod name;`.
    Module,
    /// Rust's `use`.
    Use,
    /// Rust's `extern crate`.
    Crate,
    /// `#include`, `include!`, `include_str!`.
    Include,
}

impl ImportKind {
    pub const ALL: [Self; 10] = [
        Self::Import,
        Self::Type,
        Self::Export,
        Self::Require,
        Self::Dynamic,
        Self::Reference,
        Self::Module,
        Self::Use,
        Self::Crate,
        Self::Include,
    ];

    /// Returns the name used in tool output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Type => "type",
            Self::Export => "export",
            Self::Require => "require",
            Self::Dynamic => "dynamic",
            Self::Reference => "reference",
            Self::Module => "module",
            Self::Use => "use",
            Self::Crate => "crate",
            Self::Include => "include",
        }
    }
}

impl Import {
    fn new(specifier: impl Into<String>, kind: ImportKind, node: Node<'_>) -> Self {
        Self {
            specifier: specifier.into(),
            kind,
            line: node.start_position().row as u32 + 1,
            names: Vec::new(),
            within: Vec::new(),
            path: None,
            public: false,
        }
    }
}

/// Collects the imports of a text in source order, without duplicates and within limits.
#[derive(Default)]
pub(crate) struct ImportCollector {
    pub(crate) imports: Vec<Import>,
    /// Number of imports not listed because a count, length or depth limit was exceeded.
    pub(crate) left_out: u32,
    /// Digests of the collected imports, which bound the memory used per import.
    seen: HashSet<u64>,
}

impl ImportCollector {
    fn push(&mut self, import: Import) {
        let Import { specifier, kind, names, within, path, .. } = &import;
        let mut digest = DefaultHasher::new();
        (specifier, kind, names, within, path).hash(&mut digest);
        if specifier.is_empty() || !self.seen.insert(digest.finish()) {
            return;
        }
        if self.imports.len() < MAX_IMPORTS && specifier.len() <= guard::MAX_PATH_BYTES {
            self.imports.push(import);
        } else {
            self.left_out += 1;
        }
    }
}

/// Returns the imports in a syntax tree.
pub(crate) fn collect_imports(language: Language, root: Node<'_>, text: &str) -> ImportCollector {
    let mut collector = ImportCollector::default();
    let collect = match language {
        Language::TypeScript | Language::Tsx | Language::JavaScript => ecma::collect_imports,
        Language::Python => python::collect_imports,
        Language::Rust => rust::collect_imports,
        Language::Go => go::collect_imports,
        Language::Java => java::collect_imports,
        Language::Solidity => solidity::collect_imports,
        Language::C | Language::Cpp => c::collect_imports,
        Language::Markdown | Language::Plain(_) => return collector,
    };
    collect(root, text, &mut collector);
    collector
}

/// Tells a tree walk to visit or skip the children of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkAction {
    Descend,
    Skip,
}

/// Visits all nodes in order, each with its ancestors, outermost first.
///
/// The walk is iterative because trees can be deep. It tracks the ancestors itself because `Node::parent` searches from
/// the root on each call.
fn walk_tree<'tree>(
    root: Node<'tree>,
    mut visitor: impl FnMut(Node<'tree>, &[Node<'tree>]) -> WalkAction,
) {
    let mut cursor = root.walk();
    let mut ancestors = Vec::new();
    loop {
        let node = cursor.node();
        if visitor(node, &ancestors) == WalkAction::Descend && cursor.goto_first_child() {
            ancestors.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            ancestors.pop();
        }
    }
}

fn node_text<'text>(node: Node<'_>, text: &'text str) -> &'text str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// Returns the text of a string literal, or `None` if it has escapes or interpolations and so is not a plain path.
fn unquote_literal<'text>(node: Node<'_>, text: &'text str) -> Option<&'text str> {
    let text = node_text(node, text);
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
    let inner = text.get(1..)?.strip_suffix(quote)?;
    let composed = quote == '`' && inner.contains("${");
    (!composed && !inner.contains(['\\', '\n', quote])).then_some(inner)
}

//! What a text says it needs from elsewhere, as it says it. Which files that means is for the resolver.

mod c;
mod ecma;
mod go;
mod java;
mod python;
mod rust;
mod solidity;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::language::Language;

/// Of one file; a generated one can hold any number.
const MAX_IMPORTS: usize = 2000;

/// One thing imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// As written: `./router.js`, `..routing`, `crate::routing::Router`, `net/http`, `vector.h`, `<vector>`.
    pub specifier: String,
    pub kind: ImportKind,
    /// Counted from 1.
    pub line: u32,
    /// What is taken from it, where the language says so apart: Python's `from specifier import names`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The modules of the same file that the import stands in (Rust).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// The file that the text itself names for a module (Rust's `#[path]`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Other crates may see it (Rust's `pub mod`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub public: bool,
}

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
    /// Rust's `mod name;`, which makes the file part of the crate.
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

    /// The word for it in answers.
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

/// All imports of a text, in the order in which they stand there, each once.
pub(crate) fn of_tree(language: Language, root: Node<'_>, text: &str) -> Vec<Import> {
    let mut imports = match language {
        Language::TypeScript | Language::Tsx | Language::JavaScript => ecma::imports(root, text),
        Language::Python => python::imports(root, text),
        Language::Rust => rust::imports(root, text),
        Language::Go => go::imports(root, text),
        Language::Java => java::imports(root, text),
        Language::Solidity => solidity::imports(root, text),
        Language::C | Language::Cpp => c::imports(root, text),
        Language::Markdown | Language::Plain(_) => Vec::new(),
    };
    let mut seen = std::collections::HashSet::new();
    imports.retain(|import| {
        let Import { specifier, kind, names, within, path, .. } = import;
        let key = (specifier.clone(), *kind, names.clone(), within.clone(), path.clone());
        !specifier.is_empty() && specifier.len() <= guard::MAX_PATH_BYTES && seen.insert(key)
    });
    imports.truncate(MAX_IMPORTS);
    imports
}

/// Whether the walk goes on below a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Below {
    Visit,
    Skip,
}

/// Visits all nodes in order, without a stack of its own: trees can be deep.
fn visit<'tree>(root: Node<'tree>, mut see: impl FnMut(Node<'tree>) -> Below) {
    let mut cursor = root.walk();
    loop {
        if see(cursor.node()) == Below::Visit && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

fn text_of<'text>(node: Node<'_>, text: &'text str) -> &'text str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The text between the quotes of a string, if it is plain: what is put together or escaped is not a path.
fn literal<'text>(node: Node<'_>, text: &'text str) -> Option<&'text str> {
    let text = text_of(node, text);
    let quote = text.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
    let inner = text.get(1..)?.strip_suffix(quote)?;
    let composed = quote == '`' && inner.contains("${");
    (!composed && !inner.contains(['\\', '\n', quote])).then_some(inner)
}

//! What a text says it needs from elsewhere, as it says it. Which files that means is for the resolver.

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

/// The imports of a text, in the order in which they stand there, each once and within bounds.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) imports: Vec<Import>,
    /// Those that are not listed: too many, too long, too deep.
    pub(crate) left_out: u32,
    /// Digests, which stay small whatever is imported.
    seen: HashSet<u64>,
}

impl Found {
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

pub(crate) fn of_tree(language: Language, root: Node<'_>, text: &str) -> Found {
    let mut found = Found::default();
    let read = match language {
        Language::TypeScript | Language::Tsx | Language::JavaScript => ecma::imports,
        Language::Python => python::imports,
        Language::Rust => rust::imports,
        Language::Go => go::imports,
        Language::Java => java::imports,
        Language::Solidity => solidity::imports,
        Language::C | Language::Cpp => c::imports,
        Language::Markdown | Language::Plain(_) => return found,
    };
    read(root, text, &mut found);
    found
}

/// Whether the walk goes on below a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Below {
    Visit,
    Skip,
}

/// Visits all nodes in order, each with those it stands in, the outermost first. Not by calls in calls: trees can be
/// deep. Nor by asking a node what it stands in: that goes down from the root each time.
fn visit<'tree>(root: Node<'tree>, mut see: impl FnMut(Node<'tree>, &[Node<'tree>]) -> Below) {
    let mut cursor = root.walk();
    let mut above = Vec::new();
    loop {
        let node = cursor.node();
        if see(node, &above) == Below::Visit && cursor.goto_first_child() {
            above.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            above.pop();
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

//! Outlines: a text split into chunks, with its imports.
//!
//! Texts with a grammar are split at functions and types, other texts at headings and blank lines. Chunks cover the
//! whole text and do not overlap. Doc comments, decorators and attributes belong to the definition that follows them.
//!
//! `fragments.rs` splits along the syntax tree, `definitions.rs` names fragments, `prose.rs` splits text without a
//! grammar, and `pack.rs` merges small fragments into chunks and limits their number.

mod definitions;
mod fragments;
mod node_class;
mod pack;
mod prose;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use self::node_class::{NodeClass, NodeClassTable};
use crate::import::{self, Import};
use crate::language::Language;
use crate::line_starts::LineStarts;
use crate::parse::{self, ParseFailure};

/// The chunks and imports of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    pub chunks: Vec<Chunk>,
    pub imports: Vec<Import>,
    /// Number of imports not listed because a count, length or depth limit was exceeded.
    pub left_out: u32,
    /// Set if the text has a syntax error or takes too long to parse. Not set if the text is too long to be parsed.
    pub stopped: Option<ParseFailure>,
}

/// A searchable section of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    pub bytes: Range<u32>,
    /// 1-based line range with an exclusive end.
    pub lines: Range<u32>,
    pub kind: ChunkKind,
    /// Qualified name of the main definition (`Router::route`, `Router.route`) or a heading.
    pub name: Option<String>,
    /// Unqualified names of all definitions in the chunk.
    pub defines: Vec<String>,
}

/// The kind of definition or text in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChunkKind {
    Function,
    Type,
    Module,
    Constant,
    Imports,
    /// A section of a document.
    Section,
    /// Unnamed statements or text.
    Text,
}

/// Splits `text` into chunks and lists its imports.
pub fn build_outline(language: Option<Language>, text: &str) -> Outline {
    let lines = LineStarts::new(text);
    let language = language.unwrap_or(Language::Plain("text"));
    if text.is_empty() {
        return Outline::default();
    }
    if pack::is_dense(text, &lines) {
        // Minified code or data: boundaries from the syntax tree are not useful for search.
        let fragments = prose::split_by_size(text);
        return Outline {
            chunks: pack::pack_chunks(text, &lines, fragments),
            ..extract_imports(language, text)
        };
    }
    let mut outline = Outline::default();
    let fragments = match parse::parse_text(language, text) {
        Some(Ok(tree)) => {
            let root = tree.root_node();
            let table = NodeClassTable::for_language(language, root);
            outline.set_imports(language, table, root, text);
            fragments::split_tree(table, root, text)
        }
        Some(Err(stopped)) => {
            outline.stopped = Some(stopped);
            prose::split_at_blank_lines(text, &lines)
        }
        None if language == Language::Markdown => prose::split_at_headings(text, &lines),
        None => prose::split_at_blank_lines(text, &lines),
    };
    outline.chunks = pack::pack_chunks(text, &lines, fragments);
    outline
}

/// Lists the imports of `text`. Returns an [`Outline`] without chunks.
pub fn extract_imports(language: Language, text: &str) -> Outline {
    let mut outline = Outline::default();
    match parse::parse_text(language, text) {
        Some(Ok(tree)) => {
            let root = tree.root_node();
            outline.set_imports(language, NodeClassTable::for_language(language, root), root, text);
        }
        Some(Err(stopped)) => outline.stopped = Some(stopped),
        None => {}
    }
    outline
}

impl Outline {
    fn set_imports(
        &mut self,
        language: Language,
        table: &NodeClassTable,
        root: Node<'_>,
        text: &str,
    ) {
        let found = import::collect_imports(language, root, text);
        self.stopped = find_parse_failure(table, root, &found.imports);
        self.imports = found.imports;
        self.left_out = found.left_out;
    }
}

/// Returns the first syntax error of a tree.
///
/// The failure covers the whole text if the tree has no import, no definition and no complete statement: the remaining
/// nodes are then guesses of error recovery.
fn find_parse_failure(
    table: &NodeClassTable,
    root: Node<'_>,
    imports: &[Import],
) -> Option<ParseFailure> {
    let line = parse::first_error_line(root)?;
    let mut cursor = root.walk();
    let mut children = root.named_children(&mut cursor);
    let has_valid_code = !imports.is_empty()
        || children.any(|child| {
            !child.has_error()
                && !child.is_extra()
                && (!root.is_error() || table.classify(child) != NodeClass::Other)
        });
    Some(ParseFailure { line, whole: !has_valid_code })
}

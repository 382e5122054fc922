//! A file cut into chunks: at functions and types where there is a grammar, at headings and blank lines elsewhere.
//!
//! Chunks cover the text from its first byte to its last and do not overlap. What stands before a definition – doc
//! comment, decorator, attribute – belongs to it. `pieces.rs` cuts along the syntax tree, `names.rs` says what a piece
//! is called, `prose.rs` cuts text without a grammar, `pack.rs` joins what is small and bounds their number.

mod names;
mod pack;
mod pieces;
mod prose;
mod table;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use self::table::{Class, Table};
use crate::import::{self, Import};
use crate::language::Language;
use crate::lines::Lines;
use crate::parse::{self, Stopped};

/// What a text is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    pub chunks: Vec<Chunk>,
    pub imports: Vec<Import>,
    /// Imports that are not listed: too many, too long, too deep.
    pub left_out: u32,
    /// Set where the text is not what its language allows, or takes too long to parse. A text that is too long to
    /// begin with is not parsed, and says nothing about it.
    pub stopped: Option<Stopped>,
}

/// A piece of a file worth finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    pub bytes: Range<u32>,
    /// Counted from 1; the end is the line after the last.
    pub lines: Range<u32>,
    pub kind: ChunkKind,
    /// What it defines, with what that is part of: `Router::route`, `Router.route`, a heading.
    pub name: Option<String>,
    /// The names that are defined in it, without what they are part of.
    pub defines: Vec<String>,
}

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
    /// Statements, or text, without a name.
    Text,
}

/// Cuts `text` into chunks and lists what it imports.
pub fn outline(language: Option<Language>, text: &str) -> Outline {
    let lines = Lines::of(text);
    let language = language.unwrap_or(Language::Plain("text"));
    if text.is_empty() {
        return Outline::default();
    }
    if pack::is_dense(text, &lines) {
        // Minified or data: its syntax says nothing that a reader would look for.
        let pieces = prose::by_size(text);
        return Outline { chunks: pack::pack(text, &lines, pieces), ..imports(language, text) };
    }
    let mut outline = Outline::default();
    let pieces = match parse::parse(language, text) {
        Some(Ok(tree)) => {
            let root = tree.root_node();
            let table = Table::of(language, root);
            outline.set_imports(language, table, root, text);
            pieces::of_tree(table, root, text)
        }
        Some(Err(stopped)) => {
            outline.stopped = Some(stopped);
            prose::by_blank_lines(text, &lines)
        }
        None if language == Language::Markdown => prose::by_headings(text, &lines),
        None => prose::by_blank_lines(text, &lines),
    };
    outline.chunks = pack::pack(text, &lines, pieces);
    outline
}

/// What `text` imports, without cutting it into chunks: an [`Outline`] that has none.
pub fn imports(language: Language, text: &str) -> Outline {
    let mut outline = Outline::default();
    match parse::parse(language, text) {
        Some(Ok(tree)) => {
            let root = tree.root_node();
            outline.set_imports(language, Table::of(language, root), root, text);
        }
        Some(Err(stopped)) => outline.stopped = Some(stopped),
        None => {}
    }
    outline
}

impl Outline {
    fn set_imports(&mut self, language: Language, table: &Table, root: Node<'_>, text: &str) {
        let found = import::of_tree(language, root, text);
        self.stopped = stopped(table, root, &found.imports);
        self.imports = found.imports;
        self.left_out = found.left_out;
    }
}

/// Where the grammar could not go on. It read nothing at all if no import, no definition and no whole statement was
/// seen: what it then made of the words is a guess.
fn stopped(table: &Table, root: Node<'_>, imports: &[Import]) -> Option<Stopped> {
    let line = parse::first_error(root)?;
    let mut cursor = root.walk();
    let mut children = root.named_children(&mut cursor);
    let read = !imports.is_empty()
        || children.any(|child| {
            !child.has_error()
                && !child.is_extra()
                && (!root.is_error() || table.class(child) != Class::Other)
        });
    Some(Stopped { line, whole: !read })
}

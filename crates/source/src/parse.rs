//! Tree-sitter, bounded: one parse of one text, and where it stopped.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::language::Language;

/// Longer texts are not parsed. As much as `read_file` reads.
pub(crate) const MAX_PARSED_BYTES: usize = 1024 * 1024;
/// A parser's steps come in hundreds, and a text takes about one hundred for each 60 bytes; a text made to be slow
/// takes many more. Counting them, and not the time, makes the same text give the same outline on any machine.
const FREE_STEPS: usize = 20_000;

thread_local! {
    /// A parser keeps its buffers between texts.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Where a parser met what it could not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// The first such line, counted from 1.
    pub line: u32,
    /// Nothing of the text could be parsed.
    pub whole: bool,
}

/// The syntax tree, or where the parser gave up.
pub(crate) fn parse(language: Language, text: &str) -> Option<Result<Tree, Stopped>> {
    let grammar = grammar(language)?;
    if text.len() > MAX_PARSED_BYTES {
        return None;
    }
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(grammar).ok()?;
        let bytes = text.as_bytes();
        let mut steps = FREE_STEPS + bytes.len() / 4;
        let mut reached = 0;
        let mut progress = |state: &tree_sitter::ParseState| {
            reached = state.current_byte_offset();
            steps = steps.saturating_sub(1);
            if steps == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let mut input = |at: usize, _| bytes.get(at..).unwrap_or_default();
        match parser.parse_with_options(&mut input, None, Some(options)) {
            Some(tree) => Some(Ok(tree)),
            None => {
                // Else the next parse would go on with this text.
                parser.reset();
                let before = &bytes[..reached.min(bytes.len())];
                let line = before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
                Some(Err(Stopped { line, whole: true }))
            }
        }
    })
}

fn grammar(language: Language) -> Option<&'static tree_sitter::Language> {
    macro_rules! cached {
        ($grammar:expr) => {{
            static GRAMMAR: OnceLock<tree_sitter::Language> = OnceLock::new();
            GRAMMAR.get_or_init(|| tree_sitter::Language::new($grammar))
        }};
    }
    Some(match language {
        Language::TypeScript => cached!(tree_sitter_typescript::LANGUAGE_TYPESCRIPT),
        Language::Tsx => cached!(tree_sitter_typescript::LANGUAGE_TSX),
        Language::JavaScript => cached!(tree_sitter_javascript::LANGUAGE),
        Language::Python => cached!(tree_sitter_python::LANGUAGE),
        Language::Rust => cached!(tree_sitter_rust::LANGUAGE),
        Language::Go => cached!(tree_sitter_go::LANGUAGE),
        Language::Java => cached!(tree_sitter_java::LANGUAGE),
        Language::Solidity => cached!(tree_sitter_solidity::LANGUAGE),
        Language::C => cached!(tree_sitter_c::LANGUAGE),
        Language::Cpp => cached!(tree_sitter_cpp::LANGUAGE),
        Language::Markdown | Language::Plain(_) => return None,
    })
}

/// The first line that the grammar could not read.
pub(crate) fn first_error(root: Node<'_>) -> Option<u32> {
    let mut node = root;
    let mut cursor = root.walk();
    // Down the leftmost path of errors; each step is one level of the tree.
    while !node.is_missing() {
        let mut children = node.children(&mut cursor);
        match children.find(|child| child.has_error() || child.is_missing()) {
            Some(child) => node = child,
            None if node.is_error() => break,
            None => return None,
        }
    }
    // What is never closed is wrong from its beginning to the end of the text, and the end is where that shows.
    let place = if node == root { node.end_position() } else { node.start_position() };
    Some(place.row as u32 + 1)
}

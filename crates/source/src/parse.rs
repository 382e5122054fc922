//! Bounded parsing with tree-sitter.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

use crate::language::Language;

/// Maximum size of a parsed text; longer texts are not parsed. Equal to the limit of `read_file`.
pub(crate) const MAX_PARSED_BYTES: usize = 1024 * 1024;
/// Base budget of parser progress callbacks, in addition to one for each 4 bytes of text.
///
/// The parser calls back once per hundred steps, and a normal text takes about one hundred steps for each 60 bytes.
/// A text crafted to be slow takes many more. A step limit, unlike a time limit, gives the same outline on any machine.
const FREE_STEPS: usize = 20_000;

thread_local! {
    /// Reused between texts, because a parser keeps its buffers.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Location of the first syntax error, or the point where the parser exceeded its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParseFailure {
    /// 1-based line of the error.
    pub line: u32,
    /// `true` if no part of the text could be parsed.
    pub whole: bool,
}

/// Parses a text within a step budget.
///
/// Returns `None` if the language has no grammar or the text is too long, and an error if the budget is exceeded.
pub(crate) fn parse_text(language: Language, text: &str) -> Option<Result<Tree, ParseFailure>> {
    let grammar = grammar_for(language)?;
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
                // Without a reset, the next parse would resume this text.
                parser.reset();
                let before = &bytes[..reached.min(bytes.len())];
                let line = before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
                Some(Err(ParseFailure { line, whole: true }))
            }
        }
    })
}

fn grammar_for(language: Language) -> Option<&'static tree_sitter::Language> {
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

/// Returns the 1-based line of the first syntax error, or `None` if there is no error.
pub(crate) fn first_error_line(root: Node<'_>) -> Option<u32> {
    let mut node = root;
    let mut cursor = root.walk();
    // Descends along the leftmost error, one tree level per iteration.
    while !node.is_missing() {
        let mut children = node.children(&mut cursor);
        match children.find(|child| child.has_error() || child.is_missing()) {
            Some(child) => node = child,
            None if node.is_error() => break,
            None => return None,
        }
    }
    // An unclosed construct makes the root an error node; the error becomes visible at the end of the text.
    let position = if node == root { node.end_position() } else { node.start_position() };
    Some(position.row as u32 + 1)
}

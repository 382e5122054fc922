//! C and C++ imports: `#include`, including conditional ones. A `<…>` specifier keeps its brackets.
//!
//! `#import` is treated as `#include`. The specifier of `#include_next` keeps the directive, because the included file
//! depends on the search path of the build.

use tree_sitter::Node;

use super::{Import, ImportCollector, ImportKind, WalkAction, node_text, walk_tree};

pub(super) fn collect_imports(root: Node<'_>, text: &str, collector: &mut ImportCollector) {
    walk_tree(root, |node, _| match node.kind() {
        "preproc_include" => {
            let path =
                node.child_by_field_name("path").and_then(|path| parse_include_path(path, text));
            if let Some(path) = path {
                collector.push(Import::new(path, ImportKind::Include, node));
            }
            WalkAction::Skip
        }
        "preproc_call" => {
            let directive = node.child_by_field_name("directive");
            let argument = node.child_by_field_name("argument");
            let path = argument.and_then(|path| parse_include_path(path, text));
            match (directive.map(|name| node_text(name, text)), path) {
                (Some("#import"), Some(path)) => {
                    collector.push(Import::new(path, ImportKind::Include, node));
                }
                (Some(next @ "#include_next"), Some(path)) => {
                    collector.push(Import::new(
                        format!("{next} {path}"),
                        ImportKind::Include,
                        node,
                    ));
                }
                _ => {}
            }
            WalkAction::Skip
        }
        "string_literal" | "comment" | "parameter_list" | "argument_list" => WalkAction::Skip,
        _ => WalkAction::Descend,
    });
}

/// Returns `a.h` for `"a.h"`, where a backslash is not an escape, and `<a.h>` unchanged.
///
/// Returns `None` for a macro, which only the preprocessor can expand.
fn parse_include_path<'text>(path: Node<'_>, text: &'text str) -> Option<&'text str> {
    let path = node_text(path, text).trim();
    match path.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(path, _)| path),
        None if path.starts_with('<') => path.find('>').map(|end| &path[..=end]),
        None => None,
    }
}

//! C and C++: `#include`, also inside conditions; `<…>` keeps its brackets.
//!
//! `#import` includes once. `#include_next` stays as written: which file comes next only the build knows.

use tree_sitter::Node;

use super::{Below, Found, Import, ImportKind, text_of, visit};

pub(super) fn imports(root: Node<'_>, text: &str, found: &mut Found) {
    visit(root, |node, _| match node.kind() {
        "preproc_include" => {
            let path = node.child_by_field_name("path").and_then(|path| path_in(path, text));
            if let Some(path) = path {
                found.push(Import::new(path, ImportKind::Include, node));
            }
            Below::Skip
        }
        "preproc_call" => {
            let directive = node.child_by_field_name("directive");
            let argument = node.child_by_field_name("argument");
            let path = argument.and_then(|path| path_in(path, text));
            match (directive.map(|name| text_of(name, text)), path) {
                (Some("#import"), Some(path)) => {
                    found.push(Import::new(path, ImportKind::Include, node));
                }
                (Some(next @ "#include_next"), Some(path)) => {
                    found.push(Import::new(format!("{next} {path}"), ImportKind::Include, node));
                }
                _ => {}
            }
            Below::Skip
        }
        "string_literal" | "comment" | "parameter_list" | "argument_list" => Below::Skip,
        _ => Below::Visit,
    });
}

/// `a.h` in `"a.h"`, where a backslash is a character like any other; `<a.h>` as it is. A macro names a file that only
/// the preprocessor knows.
fn path_in<'text>(path: Node<'_>, text: &'text str) -> Option<&'text str> {
    let path = text_of(path, text).trim();
    match path.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(path, _)| path),
        None if path.starts_with('<') => path.find('>').map(|end| &path[..=end]),
        None => None,
    }
}

//! C and C++: `#include`, also inside conditions; `<…>` keeps its brackets.

use tree_sitter::Node;

use super::{Below, Found, Import, ImportKind, literal, text_of, visit};

pub(super) fn imports(root: Node<'_>, text: &str, found: &mut Found) {
    visit(root, |node, _| match node.kind() {
        "preproc_include" => {
            if let Some(path) = node.child_by_field_name("path") {
                let specifier = match path.kind() {
                    "system_lib_string" => Some(text_of(path, text)),
                    "string_literal" => literal(path, text),
                    // A macro names the file: only the preprocessor knows which.
                    _ => None,
                };
                if let Some(specifier) = specifier {
                    found.push(Import::new(specifier, ImportKind::Include, node));
                }
            }
            Below::Skip
        }
        "string_literal" | "comment" | "parameter_list" | "argument_list" => Below::Skip,
        _ => Below::Visit,
    });
}

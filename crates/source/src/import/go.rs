//! Go: single imports and blocks of them.

use tree_sitter::Node;

use super::{Below, Found, Import, ImportKind, literal, visit};

pub(super) fn imports(root: Node<'_>, text: &str, found: &mut Found) {
    visit(root, |node, _| match node.kind() {
        "import_spec" => {
            if let Some(path) = node.child_by_field_name("path")
                && let Some(specifier) = literal(path, text)
            {
                found.push(Import::new(specifier, ImportKind::Import, node));
            }
            Below::Skip
        }
        "source_file" | "import_declaration" | "import_spec_list" | "ERROR" => Below::Visit,
        _ => Below::Skip,
    });
}

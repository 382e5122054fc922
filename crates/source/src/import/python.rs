//! Python: `import` and `from … import`, wherever they stand.

use tree_sitter::Node;

use super::{Below, Found, Import, ImportKind, text_of, visit};

pub(super) fn imports(root: Node<'_>, text: &str, found: &mut Found) {
    visit(root, |node, _| match node.kind() {
        "import_statement" => {
            for name in names(node, text) {
                found.push(Import::new(name, ImportKind::Import, node));
            }
            Below::Skip
        }
        "import_from_statement" => {
            if let Some(module) = node.child_by_field_name("module_name") {
                let mut import = Import::new(dotted(module, text), ImportKind::Import, node);
                import.names = names(node, text);
                found.push(import);
            }
            Below::Skip
        }
        "future_import_statement"
        | "expression_statement"
        | "return_statement"
        | "comment"
        | "string" => Below::Skip,
        _ => Below::Visit,
    });
}

fn names(node: Node<'_>, text: &str) -> Vec<String> {
    let mut cursor = node.walk();
    let names = node.children_by_field_name("name", &mut cursor).map(|name| {
        let name = name.child_by_field_name("name").unwrap_or(name);
        dotted(name, text)
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// Spaces and line breaks may stand around the dots.
fn dotted(node: Node<'_>, text: &str) -> String {
    text_of(node, text).split_whitespace().filter(|part| *part != "\\").collect()
}

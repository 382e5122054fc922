//! Python imports: `import` and `from … import`, at any nesting level.

use tree_sitter::Node;

use super::{Import, ImportCollector, ImportKind, WalkAction, node_text, walk_tree};

pub(super) fn collect_imports(root: Node<'_>, text: &str, collector: &mut ImportCollector) {
    walk_tree(root, |node, _| match node.kind() {
        "import_statement" => {
            for name in imported_names(node, text) {
                collector.push(Import::new(name, ImportKind::Import, node));
            }
            WalkAction::Skip
        }
        "import_from_statement" => {
            if let Some(module) = node.child_by_field_name("module_name") {
                let mut import = Import::new(dotted_name(module, text), ImportKind::Import, node);
                import.names = imported_names(node, text);
                collector.push(import);
            }
            WalkAction::Skip
        }
        "future_import_statement"
        | "expression_statement"
        | "return_statement"
        | "comment"
        | "string" => WalkAction::Skip,
        _ => WalkAction::Descend,
    });
}

fn imported_names(node: Node<'_>, text: &str) -> Vec<String> {
    let mut cursor = node.walk();
    let names = node.children_by_field_name("name", &mut cursor).map(|name| {
        let name = name.child_by_field_name("name").unwrap_or(name);
        dotted_name(name, text)
    });
    names.filter(|name| !name.is_empty()).collect()
}

/// Returns a dotted name without the whitespace and line continuations allowed around its dots.
fn dotted_name(node: Node<'_>, text: &str) -> String {
    node_text(node, text).split_whitespace().filter(|part| *part != "\\").collect()
}

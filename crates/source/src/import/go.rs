//! Go imports: single declarations and blocks.

use tree_sitter::Node;

use super::{Import, ImportCollector, ImportKind, WalkAction, unquote_literal, walk_tree};

pub(super) fn collect_imports(root: Node<'_>, text: &str, collector: &mut ImportCollector) {
    walk_tree(root, |node, _| match node.kind() {
        "import_spec" => {
            if let Some(path) = node.child_by_field_name("path")
                && let Some(specifier) = unquote_literal(path, text)
            {
                collector.push(Import::new(specifier, ImportKind::Import, node));
            }
            WalkAction::Skip
        }
        "source_file" | "import_declaration" | "import_spec_list" | "ERROR" => WalkAction::Descend,
        _ => WalkAction::Skip,
    });
}

//! Solidity imports: `import "…"`, `import * as x from "…"`, `import {…} from "…"`.

use tree_sitter::Node;

use super::{Import, ImportCollector, ImportKind, WalkAction, unquote_literal, walk_tree};

pub(super) fn collect_imports(root: Node<'_>, text: &str, collector: &mut ImportCollector) {
    walk_tree(root, |node, _| match node.kind() {
        "import_directive" => {
            let mut cursor = node.walk();
            let source = node
                .child_by_field_name("source")
                .or_else(|| node.named_children(&mut cursor).find(|c| c.kind() == "string"));
            if let Some(source) = source
                && let Some(specifier) = unquote_literal(source, text)
            {
                collector.push(Import::new(specifier, ImportKind::Import, node));
            }
            WalkAction::Skip
        }
        "source_file" | "ERROR" => WalkAction::Descend,
        _ => WalkAction::Skip,
    });
}

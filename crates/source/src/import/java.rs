//! Java imports: classes, static members (`a.b.C.member`), packages (`a.b.*`) and modules.

use tree_sitter::Node;

use super::{Import, ImportCollector, ImportKind, WalkAction, node_text, walk_tree};

pub(super) fn collect_imports(root: Node<'_>, text: &str, collector: &mut ImportCollector) {
    walk_tree(root, |node, _| match node.kind() {
        "import_declaration" => {
            let mut words =
                node_text(node, text).trim_end_matches(';').split_whitespace().peekable();
            words.next_if_eq(&"import");
            words.next_if(|word| matches!(*word, "static" | "module"));
            let specifier: String = words.collect();
            collector.push(Import::new(specifier, ImportKind::Import, node));
            WalkAction::Skip
        }
        "program" | "ERROR" => WalkAction::Descend,
        _ => WalkAction::Skip,
    });
}

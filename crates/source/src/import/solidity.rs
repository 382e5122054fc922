//! Solidity: `import "…"`, `import * as x from "…"`, `import {…} from "…"`.

use tree_sitter::Node;

use super::{Below, Found, Import, ImportKind, literal, visit};

pub(super) fn imports(root: Node<'_>, text: &str, found: &mut Found) {
    visit(root, |node, _| match node.kind() {
        "import_directive" => {
            let mut cursor = node.walk();
            let source = node
                .child_by_field_name("source")
                .or_else(|| node.named_children(&mut cursor).find(|c| c.kind() == "string"));
            if let Some(source) = source
                && let Some(specifier) = literal(source, text)
            {
                found.push(Import::new(specifier, ImportKind::Import, node));
            }
            Below::Skip
        }
        "source_file" | "ERROR" => Below::Visit,
        _ => Below::Skip,
    });
}

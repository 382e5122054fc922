//! Java: classes, static members (`a.b.C.member`) and whole packages (`a.b.*`).

use tree_sitter::Node;

use super::{Below, Found, Import, ImportKind, text_of, visit};

pub(super) fn imports(root: Node<'_>, text: &str, found: &mut Found) {
    visit(root, |node, _| match node.kind() {
        "import_declaration" => {
            let words = text_of(node, text).trim_end_matches(';');
            let words = words.strip_prefix("import").unwrap_or(words).trim_start();
            let words = words.strip_prefix("static ").unwrap_or(words);
            let specifier: String = words.split_whitespace().collect();
            found.push(Import::new(specifier, ImportKind::Import, node));
            Below::Skip
        }
        "program" | "ERROR" => Below::Visit,
        _ => Below::Skip,
    });
}

//! Java: classes, static members (`a.b.C.member`), whole packages (`a.b.*`) and modules.

use tree_sitter::Node;

use super::{Below, Found, Import, ImportKind, text_of, visit};

pub(super) fn imports(root: Node<'_>, text: &str, found: &mut Found) {
    visit(root, |node, _| match node.kind() {
        "import_declaration" => {
            let mut words = text_of(node, text).trim_end_matches(';').split_whitespace().peekable();
            words.next_if_eq(&"import");
            words.next_if(|word| matches!(*word, "static" | "module"));
            let specifier: String = words.collect();
            found.push(Import::new(specifier, ImportKind::Import, node));
            Below::Skip
        }
        "program" | "ERROR" => Below::Visit,
        _ => Below::Skip,
    });
}

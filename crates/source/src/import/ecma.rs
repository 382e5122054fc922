//! TypeScript and JavaScript.

use tree_sitter::Node;

use super::{Below, Found, Import, ImportKind, literal, text_of, visit};

pub(super) fn imports(root: Node<'_>, text: &str, found: &mut Found) {
    // Only these can stand below a statement, and most texts have none.
    let deep = text.contains("import(") || text.contains("require") || text.contains("import (");
    let mut code = false;
    visit(root, |node, above| match node.kind() {
        "import_statement" => {
            code = true;
            let source = node.child_by_field_name("source").or_else(|| required(node));
            push(source, kind_of(node, ImportKind::Import), text, found);
            Below::Skip
        }
        "export_statement" => {
            code = true;
            let source = node.child_by_field_name("source");
            push(source, kind_of(node, ImportKind::Export), text, found);
            if source.is_some() { Below::Skip } else { Below::Visit }
        }
        "call_expression" => {
            push_call(node, above, text, found);
            Below::Visit
        }
        "comment" => {
            if !code {
                push_reference(node, text, found);
            }
            Below::Skip
        }
        "program" | "ambient_declaration" | "module" | "internal_module" => Below::Visit,
        "statement_block" | "expression_statement" => {
            if deep || above.last().is_some_and(is_module) { Below::Visit } else { Below::Skip }
        }
        "string" | "template_string" | "regex" | "identifier" => Below::Skip,
        _ if deep => Below::Visit,
        _ if node.has_error() => Below::Visit,
        _ => Below::Skip,
    });
}

/// `declare module "x" { … }` and namespaces hold statements in a block.
fn is_module(node: &Node<'_>) -> bool {
    matches!(node.kind(), "module" | "internal_module" | "program")
}

/// `import x = require("…")`.
fn required(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    let clause = node.named_children(&mut cursor).find(|c| c.kind() == "import_require_clause")?;
    clause.child_by_field_name("source")
}

fn kind_of(node: Node<'_>, kind: ImportKind) -> ImportKind {
    let mut cursor = node.walk();
    let type_only = node.children(&mut cursor).any(|child| child.kind() == "type");
    match kind {
        ImportKind::Import if type_only => ImportKind::Type,
        kind if required(node).is_none() => kind,
        _ => ImportKind::Require,
    }
}

fn push_call(node: Node<'_>, above: &[Node<'_>], text: &str, found: &mut Found) {
    let Some(function) = node.child_by_field_name("function") else { return };
    let kind = match function.kind() {
        "import" if is_type(node, above) => ImportKind::Type,
        "import" => ImportKind::Dynamic,
        "identifier" if text_of(function, text) == "require" => ImportKind::Require,
        "member_expression" if text_of(function, text) == "require.resolve" => ImportKind::Require,
        _ => return,
    };
    let argument = node.child_by_field_name("arguments").and_then(|list| {
        let mut cursor = list.walk();
        list.named_children(&mut cursor).find(|child| !child.is_extra())
    });
    push(argument, kind, text, found);
}

/// `import("…")` where a type stands, with the names that are taken from it.
fn is_type(call: Node<'_>, above: &[Node<'_>]) -> bool {
    let around = above.iter().rev().find(|node| node.kind() != "member_expression");
    around.is_some_and(|around| match around.kind() {
        "as_expression" | "satisfies_expression" => call.start_byte() > around.start_byte(),
        "type_assertion" => false,
        "constraint" | "implements_clause" => true,
        kind => kind.contains("type"),
    })
}

fn push(source: Option<Node<'_>>, kind: ImportKind, text: &str, found: &mut Found) {
    if let Some(source) = source
        && matches!(source.kind(), "string" | "template_string")
        && let Some(specifier) = literal(source, text)
    {
        found.push(Import::new(specifier, kind, source));
    }
}

/// `/// <reference path="…" />` before the first statement.
fn push_reference(node: Node<'_>, text: &str, found: &mut Found) {
    let comment = text_of(node, text);
    let path = comment
        .strip_prefix("///")
        .map(str::trim_start)
        .and_then(|rest| rest.strip_prefix("<reference"))
        .and_then(|rest| rest.trim_start().strip_prefix("path"))
        .and_then(|rest| rest.trim_start().strip_prefix('='))
        .map(str::trim_start);
    let Some(quoted) = path else { return };
    let Some(quote) = quoted.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else {
        return;
    };
    if let Some((path, _)) = quoted[1..].split_once(quote) {
        found.push(Import::new(path, ImportKind::Reference, node));
    }
}

//! TypeScript and JavaScript imports.

use tree_sitter::Node;

use super::{
    Import, ImportCollector, ImportKind, WalkAction, node_text, unquote_literal, walk_tree,
};

pub(super) fn collect_imports(root: Node<'_>, text: &str, collector: &mut ImportCollector) {
    // Only these calls can be nested in statements. Most texts have none, so most subtrees are skipped.
    let deep = text.contains("import(") || text.contains("require") || text.contains("import (");
    let mut code = false;
    walk_tree(root, |node, ancestors| match node.kind() {
        "import_statement" => {
            code = true;
            let source = node.child_by_field_name("source").or_else(|| require_source(node));
            push_specifier(source, import_kind(node, ImportKind::Import), text, collector);
            WalkAction::Skip
        }
        "export_statement" => {
            code = true;
            let source = node.child_by_field_name("source");
            push_specifier(source, import_kind(node, ImportKind::Export), text, collector);
            if source.is_some() { WalkAction::Skip } else { WalkAction::Descend }
        }
        "call_expression" => {
            push_call(node, ancestors, text, collector);
            WalkAction::Descend
        }
        "comment" => {
            if !code {
                push_reference(node, text, collector);
            }
            WalkAction::Skip
        }
        "program" | "ambient_declaration" | "module" | "internal_module" => WalkAction::Descend,
        "statement_block" | "expression_statement" => {
            if deep || ancestors.last().is_some_and(has_statement_block) {
                WalkAction::Descend
            } else {
                WalkAction::Skip
            }
        }
        "string" | "template_string" | "regex" | "identifier" => WalkAction::Skip,
        _ if deep => WalkAction::Descend,
        _ if node.has_error() => WalkAction::Descend,
        _ => WalkAction::Skip,
    });
}

/// Returns `true` for nodes with a statement block, such as `declare module "x" { … }` and namespaces.
fn has_statement_block(node: &Node<'_>) -> bool {
    matches!(node.kind(), "module" | "internal_module" | "program")
}

/// Returns the source of `import x = require("…")`.
fn require_source(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    let clause = node.named_children(&mut cursor).find(|c| c.kind() == "import_require_clause")?;
    clause.child_by_field_name("source")
}

fn import_kind(node: Node<'_>, kind: ImportKind) -> ImportKind {
    let mut cursor = node.walk();
    let type_only = node.children(&mut cursor).any(|child| child.kind() == "type");
    match kind {
        ImportKind::Import if type_only => ImportKind::Type,
        kind if require_source(node).is_none() => kind,
        _ => ImportKind::Require,
    }
}

fn push_call(node: Node<'_>, ancestors: &[Node<'_>], text: &str, collector: &mut ImportCollector) {
    let Some(function) = node.child_by_field_name("function") else { return };
    let kind = match function.kind() {
        "import" if is_type_position(node, ancestors) => ImportKind::Type,
        "import" => ImportKind::Dynamic,
        "identifier" if node_text(function, text) == "require" => ImportKind::Require,
        "member_expression" if node_text(function, text) == "require.resolve" => {
            ImportKind::Require
        }
        _ => return,
    };
    let argument = node.child_by_field_name("arguments").and_then(|list| {
        let mut cursor = list.walk();
        list.named_children(&mut cursor).find(|child| !child.is_extra())
    });
    push_specifier(argument, kind, text, collector);
}

/// Returns `true` if `import("…")` is in a type position, optionally followed by member names.
fn is_type_position(call: Node<'_>, ancestors: &[Node<'_>]) -> bool {
    let around = ancestors.iter().rev().find(|node| node.kind() != "member_expression");
    around.is_some_and(|around| match around.kind() {
        "as_expression" | "satisfies_expression" => call.start_byte() > around.start_byte(),
        "type_assertion" => false,
        "constraint" | "implements_clause" => true,
        kind => kind.contains("type"),
    })
}

fn push_specifier(
    source: Option<Node<'_>>,
    kind: ImportKind,
    text: &str,
    collector: &mut ImportCollector,
) {
    if let Some(source) = source
        && matches!(source.kind(), "string" | "template_string")
        && let Some(specifier) = unquote_literal(source, text)
    {
        collector.push(Import::new(specifier, kind, source));
    }
}

/// Collects `/// <reference path="…" />` before the first statement.
fn push_reference(node: Node<'_>, text: &str, collector: &mut ImportCollector) {
    let comment = node_text(node, text);
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
        collector.push(Import::new(path, ImportKind::Reference, node));
    }
}

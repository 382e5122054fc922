//! Rust imports: `mod name;`, `use`, `extern crate`, `include!`.
//!
//! Many crates declare modules inside macros (`cfg_rt! { mod runtime; }`). The grammar yields only tokens there, so the
//! tokens are searched for `mod name ;` as well.

use tree_sitter::Node;

use super::{
    Import, ImportCollector, ImportKind, WalkAction, node_text, unquote_literal, walk_tree,
};

/// Maximum nesting depth of inline modules and of groups in a `use`.
const MAX_DEPTH: usize = 64;
/// Maximum length of an attribute that is searched for a path.
const MAX_ATTRIBUTE_BYTES: usize = 2 * guard::MAX_PATH_BYTES;

pub(super) fn collect_imports(root: Node<'_>, text: &str, collector: &mut ImportCollector) {
    let mut modules = InlineModules::default();
    walk_tree(root, |node, ancestors| {
        modules.leave_modules(ancestors.len());
        match node.kind() {
            "mod_item" if node.child_by_field_name("body").is_some() => {
                modules.enter_module(ancestors.len(), field_text(node, "name", text));
                return WalkAction::Descend;
            }
            "mod_item" => {
                let name = strip_raw_prefix(field_text(node, "name", text));
                let mut import = Import::new(name, ImportKind::Module, node);
                import.public = node_text(node, text).starts_with("pub mod");
                let paths = path_attributes(node, text);
                modules.push_import(import, paths, collector);
            }
            "use_declaration" => {
                if let Some(argument) = node.child_by_field_name("argument") {
                    let mut leaf = |path: Option<String>, leaf: Node<'_>| match path {
                        Some(path) => {
                            let import = Import::new(path, ImportKind::Use, leaf);
                            modules.push_import(import, Vec::new(), collector);
                        }
                        None => collector.left_out += 1,
                    };
                    flatten_use_tree(argument, "", text, 0, &mut leaf);
                }
            }
            "extern_crate_declaration" => {
                collector.push(Import::new(
                    field_text(node, "name", text),
                    ImportKind::Crate,
                    node,
                ));
            }
            "macro_invocation" => collect_from_macro(node, ancestors, text, &modules, collector),
            "macro_definition" | "attribute_item" | "line_comment" | "block_comment"
            | "string_literal" => {}
            _ => return WalkAction::Descend,
        }
        WalkAction::Skip
    });
}

fn field_text<'text>(node: Node<'_>, name: &str, text: &'text str) -> &'text str {
    node.child_by_field_name(name).map(|field| node_text(field, text)).unwrap_or_default()
}

/// The inline modules around the current node, each with its depth in the tree.
#[derive(Default)]
struct InlineModules {
    open: Vec<(usize, String)>,
}

impl InlineModules {
    fn enter_module(&mut self, depth: usize, name: &str) {
        self.open.push((depth, strip_raw_prefix(name).to_owned()));
    }

    fn leave_modules(&mut self, depth: usize) {
        while self.open.pop_if(|(opened, _)| *opened >= depth).is_some() {}
    }

    /// Adds an import inside the current modules, once for each candidate file:
    /// `#[cfg_attr(unix, path = "unix.rs")]` is one of several.
    fn push_import(&self, import: Import, paths: Vec<String>, collector: &mut ImportCollector) {
        let bytes = || self.open.iter().map(|(_, name)| name.len()).sum::<usize>();
        if self.open.len() > MAX_DEPTH || bytes() > guard::MAX_PATH_BYTES {
            collector.left_out += 1;
            return;
        }
        let within = self.open.iter().map(|(_, name)| name.clone()).collect();
        let import = Import { within, ..import };
        if paths.is_empty() {
            return collector.push(import);
        }
        for path in paths {
            collector.push(Import { path: Some(path), ..import.clone() });
        }
    }
}

/// Returns the paths in `#[path = "…"]` and `#[cfg_attr(…, path = "…")]` attributes before a node.
fn path_attributes(node: Node<'_>, text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut before = node.prev_sibling();
    while let Some(attribute) = before {
        match attribute.kind() {
            "attribute_item" => {
                let inner = node_text(attribute, text).strip_prefix('#');
                paths.extend(inner.and_then(parse_path_attribute).map(str::to_owned));
            }
            "line_comment" | "block_comment" => {}
            _ => break,
        }
        before = attribute.prev_sibling();
    }
    paths.reverse();
    paths
}

/// Returns the path in `[path = "…"]` or `[cfg_attr(…, path = "…")]`.
fn parse_path_attribute(attribute: &str) -> Option<&str> {
    if attribute.len() > MAX_ATTRIBUTE_BYTES {
        return None;
    }
    let inner = attribute.strip_prefix('[')?.trim_start();
    let inner = match inner.strip_prefix("cfg_attr") {
        // The condition may contain strings too, so only the last `path` after a comma is used.
        Some(conditional) => {
            let at = conditional.rfind("path")?;
            conditional[..at].trim_end().ends_with(',').then(|| &conditional[at..])?
        }
        None => inner,
    };
    let quoted = inner.strip_prefix("path")?.trim_start().strip_prefix('=')?;
    quoted.trim_start().strip_prefix('"')?.split_once('"').map(|(path, _)| path)
}

/// Passes the full path of each leaf of a `use` tree to `leaf`, or `None` if it exceeds the depth or length limit.
fn flatten_use_tree<'tree>(
    node: Node<'tree>,
    prefix: &str,
    text: &str,
    depth: usize,
    leaf: &mut impl FnMut(Option<String>, Node<'tree>),
) {
    match node.kind() {
        "line_comment" | "block_comment" => {}
        _ if depth > MAX_DEPTH || prefix.len() > guard::MAX_PATH_BYTES => leaf(None, node),
        "use_as_clause" => {
            if let Some(path) = node.child_by_field_name("path") {
                flatten_use_tree(path, prefix, text, depth + 1, leaf);
            }
        }
        "scoped_use_list" => {
            let prefix = join_path(prefix, &normalize_path(field_text(node, "path", text)));
            if let Some(list) = node.child_by_field_name("list") {
                flatten_use_tree(list, &prefix, text, depth + 1, leaf);
            }
        }
        "use_list" => {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                flatten_use_tree(child, prefix, text, depth + 1, leaf);
            }
        }
        "self" if !prefix.is_empty() => leaf(Some(prefix.to_owned()), node),
        _ => leaf(Some(join_path(prefix, &normalize_path(node_text(node, text)))), node),
    }
}

fn join_path(prefix: &str, path: &str) -> String {
    match (prefix, path) {
        ("", path) => path.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, path) => format!("{prefix}::{path}"),
    }
}

fn normalize_path(path: &str) -> String {
    path.split_whitespace().map(|part| part.replace("r#", "")).collect()
}

fn strip_raw_prefix(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

fn collect_from_macro(
    node: Node<'_>,
    ancestors: &[Node<'_>],
    text: &str,
    modules: &InlineModules,
    collector: &mut ImportCollector,
) {
    let mut cursor = node.walk();
    let Some(tokens) = node.named_children(&mut cursor).find(|c| c.kind() == "token_tree") else {
        return;
    };
    if matches!(field_text(node, "macro", text), "include" | "include_str" | "include_bytes") {
        if let Some(file) = tokens.named_child(0).and_then(|first| unquote_literal(first, text)) {
            collector.push(Import::new(file, ImportKind::Include, node));
        }
        return;
    }
    // Only macros in item position can declare modules.
    let item_position = match ancestors {
        [.., parent] if matches!(parent.kind(), "source_file" | "declaration_list") => true,
        [root, parent] => root.kind() == "source_file" && parent.kind() == "expression_statement",
        _ => false,
    };
    if item_position {
        collect_from_tokens(tokens, text, modules, collector);
    }
}

/// Collects `mod name ;`, with its `#[path]`, anywhere in a token tree.
fn collect_from_tokens(
    tokens: Node<'_>,
    text: &str,
    modules: &InlineModules,
    collector: &mut ImportCollector,
) {
    let mut paths = Vec::new();
    let mut state = ModTokenState::Start;
    walk_tree(tokens, |node, _| {
        if node.kind() == "token_tree" && node != tokens {
            // A nested token tree is either an attribute that may set the module's file, or items and expressions.
            if let Some(path) = parse_path_attribute(node_text(node, text)) {
                paths.push(path.to_owned());
                return WalkAction::Skip;
            }
            state = ModTokenState::Start;
            return WalkAction::Descend;
        }
        if node.child_count() > 0 {
            return WalkAction::Descend;
        }
        let token = node_text(node, text);
        state = match (&state, token) {
            (_, "mod") => ModTokenState::AfterMod,
            (ModTokenState::AfterMod, name) if node.kind() == "identifier" => {
                ModTokenState::AfterName(name.to_owned(), node)
            }
            (ModTokenState::AfterName(name, at), ";") => {
                let mut import = Import::new(strip_raw_prefix(name), ImportKind::Module, *at);
                // The visibility tokens are ignored, because the macro may change the visibility.
                import.public = true;
                modules.push_import(import, std::mem::take(&mut paths), collector);
                ModTokenState::Start
            }
            (_, ";" | "}") => {
                paths.clear();
                ModTokenState::Start
            }
            _ => ModTokenState::Start,
        };
        WalkAction::Skip
    });
}

enum ModTokenState<'tree> {
    Start,
    AfterMod,
    AfterName(String, Node<'tree>),
}

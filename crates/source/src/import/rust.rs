//! Rust: `mod name;`, `use`, `extern crate`, `include!`.
//!
//! Many crates declare modules inside macros (`cfg_rt! { mod runtime; }`). The grammar sees only tokens there, so these
//! are read for `mod name ;` as well.

use tree_sitter::Node;

use super::{Below, Import, ImportKind, literal, text_of, visit};

/// A `use` of groups in groups, or a list without end, is cut here.
const MAX_LEAVES: usize = 500;

pub(super) fn imports(root: Node<'_>, text: &str) -> Vec<Import> {
    let mut imports = Vec::new();
    visit(root, |node| {
        match node.kind() {
            "mod_item" => {
                if node.child_by_field_name("body").is_some() {
                    return Below::Visit;
                }
                if let Some(name) = node.child_by_field_name("name") {
                    let mut import =
                        Import::new(plain(text_of(name, text)), ImportKind::Module, node);
                    import.public = text_of(node, text).starts_with("pub mod");
                    let paths = path_attributes(node, text);
                    imports.extend(with_paths(within(import, node, text), paths));
                }
            }
            "use_declaration" => {
                let mut leaves = Vec::new();
                if let Some(argument) = node.child_by_field_name("argument") {
                    flatten(argument, "", text, &mut leaves);
                }
                for (path, leaf) in leaves {
                    imports.push(within(Import::new(path, ImportKind::Use, leaf), node, text));
                }
            }
            "extern_crate_declaration" => {
                if let Some(name) = node.child_by_field_name("name") {
                    imports.push(Import::new(text_of(name, text), ImportKind::Crate, node));
                }
            }
            "macro_invocation" => {
                push_macro(node, text, &mut imports);
                return Below::Skip;
            }
            "macro_definition" | "attribute_item" | "line_comment" | "block_comment"
            | "string_literal" => {}
            _ => return Below::Visit,
        }
        Below::Skip
    });
    imports
}

/// Adds the inline modules around a node.
fn within(mut import: Import, node: Node<'_>, text: &str) -> Import {
    let mut above = node.parent();
    while let Some(node) = above {
        if node.kind() == "mod_item"
            && let Some(name) = node.child_by_field_name("name")
        {
            import.within.push(plain(text_of(name, text)).to_owned());
        }
        above = node.parent();
    }
    import.within.reverse();
    import
}

/// One import for each file that may be meant: `#[cfg_attr(unix, path = "unix.rs")]` names one of several.
fn with_paths(import: Import, paths: Vec<String>) -> Vec<Import> {
    if paths.is_empty() {
        return vec![import];
    }
    paths.into_iter().map(|path| Import { path: Some(path), ..import.clone() }).collect()
}

/// `#[path = "…"]` and `#[cfg_attr(…, path = "…")]` among the attributes before a node.
fn path_attributes(node: Node<'_>, text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut before = node.prev_sibling();
    while let Some(attribute) = before {
        match attribute.kind() {
            "attribute_item" => paths.extend(path_of(text_of(attribute, text)).map(str::to_owned)),
            "line_comment" | "block_comment" => {}
            _ => break,
        }
        before = attribute.prev_sibling();
    }
    paths.reverse();
    paths
}

fn path_of(attribute: &str) -> Option<&str> {
    let inner = attribute.strip_prefix("#[")?.trim_start();
    let inner = match inner.strip_prefix("cfg_attr") {
        // The condition may hold strings too, so the last `path` counts, and only as a word of its own.
        Some(conditional) => {
            let at = conditional.rfind("path")?;
            conditional[..at].trim_end().ends_with(',').then(|| &conditional[at..])?
        }
        None => inner,
    };
    let quoted = inner.strip_prefix("path")?.trim_start().strip_prefix('=')?;
    quoted.trim_start().strip_prefix('"')?.split_once('"').map(|(path, _)| path)
}

/// The leaves of a `use` tree as whole paths.
fn flatten<'tree>(
    node: Node<'tree>,
    prefix: &str,
    text: &str,
    leaves: &mut Vec<(String, Node<'tree>)>,
) {
    if leaves.len() >= MAX_LEAVES {
        return;
    }
    match node.kind() {
        "use_as_clause" => {
            if let Some(path) = node.child_by_field_name("path") {
                flatten(path, prefix, text, leaves);
            }
        }
        "scoped_use_list" => {
            let path = node.child_by_field_name("path").map(|path| squeeze(text_of(path, text)));
            // `::{…}` names crates.
            let prefix = join(prefix, &path.unwrap_or_default());
            if let Some(list) = node.child_by_field_name("list") {
                flatten(list, &prefix, text, leaves);
            }
        }
        "use_list" => {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                flatten(child, prefix, text, leaves);
            }
        }
        "use_wildcard" => {
            let path = squeeze(text_of(node, text));
            leaves.push((join(prefix, &path), node));
        }
        "line_comment" | "block_comment" => {}
        "self" if !prefix.is_empty() => leaves.push((prefix.to_owned(), node)),
        _ => {
            let path = squeeze(text_of(node, text));
            leaves.push((join(prefix, &path), node));
        }
    }
}

fn join(prefix: &str, path: &str) -> String {
    match (prefix, path) {
        ("", path) => path.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, path) => format!("{prefix}::{path}"),
    }
}

fn squeeze(path: &str) -> String {
    path.split_whitespace().map(|part| part.replace("r#", "")).collect()
}

fn plain(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}

fn push_macro(node: Node<'_>, text: &str, imports: &mut Vec<Import>) {
    let name =
        node.child_by_field_name("macro").map(|name| text_of(name, text)).unwrap_or_default();
    let mut cursor = node.walk();
    let Some(tokens) = node.named_children(&mut cursor).find(|c| c.kind() == "token_tree") else {
        return;
    };
    if matches!(name, "include" | "include_str" | "include_bytes") {
        if let Some(file) = tokens.named_child(0).and_then(|first| literal(first, text)) {
            imports.push(Import::new(file, ImportKind::Include, node));
        }
        return;
    }
    // Only macros that stand where items stand can declare any.
    let item = node.parent().is_some_and(|parent| {
        let kind = parent.kind();
        matches!(kind, "source_file" | "declaration_list")
            || kind == "expression_statement"
                && parent.parent().is_some_and(|above| above.kind() == "source_file")
    });
    if item {
        push_tokens(tokens, node, text, imports);
    }
}

/// `mod name ;`, with its `#[path]`, anywhere among the tokens.
fn push_tokens(tokens: Node<'_>, around: Node<'_>, text: &str, imports: &mut Vec<Import>) {
    let mut paths = Vec::new();
    let mut state = State::Start;
    visit(tokens, |node| {
        if node.kind() == "token_tree" && node != tokens {
            // The inside of an attribute may name the module's file; other trees hold items or expressions.
            let attribute = format!("#{}", text_of(node, text));
            if let Some(found) = path_of(&attribute) {
                paths.push(found.to_owned());
                return Below::Skip;
            }
            state = State::Start;
            return Below::Visit;
        }
        if node.child_count() > 0 {
            return Below::Visit;
        }
        let token = text_of(node, text);
        state = match (&state, token) {
            (_, "mod") => State::Mod,
            (State::Mod, name) if node.kind() == "identifier" => {
                State::Named(name.to_owned(), node)
            }
            (State::Named(name, at), ";") => {
                let mut import = Import::new(plain(name), ImportKind::Module, *at);
                // What stands before it is not looked at: a macro may make it anything.
                import.public = true;
                let import = within(import, around, text);
                imports.extend(with_paths(import, std::mem::take(&mut paths)));
                State::Start
            }
            (_, ";" | "}") => {
                paths.clear();
                State::Start
            }
            _ => State::Start,
        };
        Below::Skip
    });
}

enum State<'tree> {
    Start,
    Mod,
    Named(String, Node<'tree>),
}

//! Rust: `mod name;`, `use`, `extern crate`, `include!`.
//!
//! Many crates declare modules inside macros (`cfg_rt! { mod runtime; }`). The grammar sees only tokens there, so these
//! are read for `mod name ;` as well.

use tree_sitter::Node;

use super::{Below, Found, Import, ImportKind, literal, text_of, visit};

/// Inline modules in inline modules are followed this far, and groups in the groups of a `use`.
const MAX_DEPTH: usize = 64;
/// Longer attributes are not looked at for a path.
const MAX_ATTRIBUTE_BYTES: usize = 2 * guard::MAX_PATH_BYTES;

pub(super) fn imports(root: Node<'_>, text: &str, found: &mut Found) {
    let mut modules = Modules::default();
    visit(root, |node, above| {
        modules.leave(above.len());
        match node.kind() {
            "mod_item" if node.child_by_field_name("body").is_some() => {
                modules.enter(above.len(), field(node, "name", text));
                return Below::Visit;
            }
            "mod_item" => {
                let name = plain(field(node, "name", text));
                let mut import = Import::new(name, ImportKind::Module, node);
                import.public = text_of(node, text).starts_with("pub mod");
                let paths = path_attributes(node, text);
                modules.push(import, paths, found);
            }
            "use_declaration" => {
                if let Some(argument) = node.child_by_field_name("argument") {
                    let mut leaf = |path: Option<String>, leaf: Node<'_>| match path {
                        Some(path) => {
                            let import = Import::new(path, ImportKind::Use, leaf);
                            modules.push(import, Vec::new(), found);
                        }
                        None => found.left_out += 1,
                    };
                    flatten(argument, "", text, 0, &mut leaf);
                }
            }
            "extern_crate_declaration" => {
                found.push(Import::new(field(node, "name", text), ImportKind::Crate, node));
            }
            "macro_invocation" => push_macro(node, above, text, &modules, found),
            "macro_definition" | "attribute_item" | "line_comment" | "block_comment"
            | "string_literal" => {}
            _ => return Below::Visit,
        }
        Below::Skip
    });
}

fn field<'text>(node: Node<'_>, name: &str, text: &'text str) -> &'text str {
    node.child_by_field_name(name).map(|field| text_of(field, text)).unwrap_or_default()
}

/// The inline modules that are open where the walk is, each with how deep it stands in the tree.
#[derive(Default)]
struct Modules {
    open: Vec<(usize, String)>,
}

impl Modules {
    fn enter(&mut self, depth: usize, name: &str) {
        self.open.push((depth, plain(name).to_owned()));
    }

    fn leave(&mut self, depth: usize) {
        while self.open.pop_if(|(opened, _)| *opened >= depth).is_some() {}
    }

    /// Adds what stands in these modules, once for each file that may be meant:
    /// `#[cfg_attr(unix, path = "unix.rs")]` names one of several.
    fn push(&self, import: Import, paths: Vec<String>, found: &mut Found) {
        let bytes = || self.open.iter().map(|(_, name)| name.len()).sum::<usize>();
        if self.open.len() > MAX_DEPTH || bytes() > guard::MAX_PATH_BYTES {
            found.left_out += 1;
            return;
        }
        let within = self.open.iter().map(|(_, name)| name.clone()).collect();
        let import = Import { within, ..import };
        if paths.is_empty() {
            return found.push(import);
        }
        for path in paths {
            found.push(Import { path: Some(path), ..import.clone() });
        }
    }
}

/// `#[path = "…"]` and `#[cfg_attr(…, path = "…")]` among the attributes before a node.
fn path_attributes(node: Node<'_>, text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut before = node.prev_sibling();
    while let Some(attribute) = before {
        match attribute.kind() {
            "attribute_item" => {
                let inner = text_of(attribute, text).strip_prefix('#');
                paths.extend(inner.and_then(path_of).map(str::to_owned));
            }
            "line_comment" | "block_comment" => {}
            _ => break,
        }
        before = attribute.prev_sibling();
    }
    paths.reverse();
    paths
}

/// The path in `[path = "…"]`.
fn path_of(attribute: &str) -> Option<&str> {
    if attribute.len() > MAX_ATTRIBUTE_BYTES {
        return None;
    }
    let inner = attribute.strip_prefix('[')?.trim_start();
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

/// The leaves of a `use` tree as whole paths; none for what is too deep or too long to be one.
fn flatten<'tree>(
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
                flatten(path, prefix, text, depth + 1, leaf);
            }
        }
        "scoped_use_list" => {
            // `::{…}` names crates.
            let prefix = join(prefix, &squeeze(field(node, "path", text)));
            if let Some(list) = node.child_by_field_name("list") {
                flatten(list, &prefix, text, depth + 1, leaf);
            }
        }
        "use_list" => {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                flatten(child, prefix, text, depth + 1, leaf);
            }
        }
        "self" if !prefix.is_empty() => leaf(Some(prefix.to_owned()), node),
        _ => leaf(Some(join(prefix, &squeeze(text_of(node, text)))), node),
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

fn push_macro(
    node: Node<'_>,
    above: &[Node<'_>],
    text: &str,
    modules: &Modules,
    found: &mut Found,
) {
    let mut cursor = node.walk();
    let Some(tokens) = node.named_children(&mut cursor).find(|c| c.kind() == "token_tree") else {
        return;
    };
    if matches!(field(node, "macro", text), "include" | "include_str" | "include_bytes") {
        if let Some(file) = tokens.named_child(0).and_then(|first| literal(first, text)) {
            found.push(Import::new(file, ImportKind::Include, node));
        }
        return;
    }
    // Only macros that stand where items stand can declare any.
    let item = match above {
        [.., parent] if matches!(parent.kind(), "source_file" | "declaration_list") => true,
        [root, parent] => root.kind() == "source_file" && parent.kind() == "expression_statement",
        _ => false,
    };
    if item {
        push_tokens(tokens, text, modules, found);
    }
}

/// `mod name ;`, with its `#[path]`, anywhere among the tokens.
fn push_tokens(tokens: Node<'_>, text: &str, modules: &Modules, found: &mut Found) {
    let mut paths = Vec::new();
    let mut state = State::Start;
    visit(tokens, |node, _| {
        if node.kind() == "token_tree" && node != tokens {
            // The inside of an attribute may name the module's file; other trees hold items or expressions.
            if let Some(path) = path_of(text_of(node, text)) {
                paths.push(path.to_owned());
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
                modules.push(import, std::mem::take(&mut paths), found);
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

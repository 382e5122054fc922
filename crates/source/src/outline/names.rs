//! What a node defines, and under which name.

use tree_sitter::Node;

use super::ChunkKind;
use super::table::{Class, Table};
use crate::language::Language;

/// Longer names are not names.
pub(super) const MAX_NAME_BYTES: usize = 120;
/// Of a name with what it is part of. Every piece carries one.
const MAX_PATH_BYTES: usize = 2 * MAX_NAME_BYTES;
/// Of one piece; a table of a thousand constants is not looked for by each.
const MAX_DEFINES: usize = 64;

/// A node that defines something.
pub(super) struct Definition<'tree> {
    pub(super) kind: ChunkKind,
    pub(super) name: Option<String>,
    /// The names of the definition itself.
    pub(super) own: Vec<String>,
    /// These and those of its members.
    pub(super) defines: Vec<String>,
    /// Where members are, for types and modules.
    pub(super) body: Option<Node<'tree>>,
}

pub(super) fn define<'tree>(
    table: &Table,
    node: Node<'tree>,
    text: &str,
) -> Option<Definition<'tree>> {
    let inner = unwrap(table, node);
    let (kind, names) = match table.class(inner) {
        Class::Function => (ChunkKind::Function, function_names(table, inner, text)),
        Class::Type => (ChunkKind::Type, type_names(table, inner, text)),
        Class::Module => (ChunkKind::Module, field_text(inner, "name", text).into_iter().collect()),
        Class::Constant => constant(table, inner, text),
        Class::Other => statement(table, inner, text)?,
        Class::Import | Class::Wrapper | Class::Group => return None,
    };
    let body = match kind {
        ChunkKind::Type | ChunkKind::Module => body(inner),
        _ => None,
    };
    let own: Vec<String> = names.iter().map(|name| simple(name).to_owned()).collect();
    let mut defines = own.clone();
    if let Some(body) = body {
        member_names(table, body, text, &mut defines);
    }
    defines.truncate(MAX_DEFINES);
    Some(Definition { kind, name: names.into_iter().next(), own, defines, body })
}

/// A name with what it is part of. Where that is too long, what is outermost is left off.
pub(super) fn part_of(path: &str, separator: &str, name: &str) -> String {
    let room = MAX_PATH_BYTES.saturating_sub(separator.len() + name.len());
    let mut path = path;
    while path.len() > room {
        match path.split_once(separator) {
            Some((_, inner)) => path = inner,
            None => return name.to_owned(),
        }
    }
    format!("{path}{separator}{name}")
}

/// Through `export`, decorators and templates to the definition they stand around.
fn unwrap<'tree>(table: &Table, node: Node<'tree>) -> Node<'tree> {
    let mut node = node;
    for _ in 0..4 {
        if table.class(node) != Class::Wrapper {
            break;
        }
        let field = ["declaration", "definition", "value"]
            .into_iter()
            .find_map(|field| node.child_by_field_name(field));
        let mut cursor = node.walk();
        let last = node.named_children(&mut cursor).filter(|child| !child.is_extra()).last();
        match field.or(last) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

fn body(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("body").or_else(|| {
        let mut cursor = node.walk();
        node.named_children(&mut cursor)
            .find(|child| child.kind().ends_with("_body") || child.kind() == "declaration_list")
    })
}

fn function_names(table: &Table, node: Node<'_>, text: &str) -> Vec<String> {
    if is_c(table) {
        return declarator(node, text).into_iter().collect();
    }
    let Some(name) = field_text(node, "name", text) else {
        let known = match node.kind() {
            "constructor_definition" => Some("constructor"),
            "fallback_receive_definition" => {
                node.child(0).and_then(|token| token.utf8_text(text.as_bytes()).ok())
            }
            _ => None,
        };
        return known.map(str::to_owned).into_iter().collect();
    };
    match receiver(node, text) {
        Some(receiver) => vec![format!("{receiver}.{name}")],
        None => vec![name],
    }
}

/// The type a Go method is of.
fn receiver(node: Node<'_>, text: &str) -> Option<String> {
    let receiver = node.child_by_field_name("receiver")?.utf8_text(text.as_bytes()).ok()?;
    let inner = receiver.trim_matches(['(', ')']);
    let named = inner.rsplit([' ', '*']).find(|word| !word.is_empty())?;
    let name = inner.split('[').next().and_then(|head| head.rsplit([' ', '*']).next());
    let name = name.filter(|name| !name.is_empty()).unwrap_or(named);
    (name.len() <= MAX_NAME_BYTES).then(|| name.to_owned())
}

fn type_names(table: &Table, node: Node<'_>, text: &str) -> Vec<String> {
    if node.kind() == "impl_item" {
        return field_text(node, "type", text)
            .map(|name| without_generics(&name))
            .into_iter()
            .collect();
    }
    if table.language == Language::Go {
        return specs(node, "name", text);
    }
    field_text(node, "name", text).map(|name| without_generics(&name)).into_iter().collect()
}

fn constant(table: &Table, node: Node<'_>, text: &str) -> (ChunkKind, Vec<String>) {
    match node.kind() {
        "lexical_declaration" | "variable_declaration" => {
            let mut kind = ChunkKind::Constant;
            let mut cursor = node.walk();
            for declared in node.named_children(&mut cursor) {
                if declared.child_by_field_name("value").is_some_and(is_function) {
                    kind = ChunkKind::Function;
                }
            }
            (kind, specs(node, "name", text))
        }
        "public_field_definition" | "field_definition" => {
            let function = node.child_by_field_name("value").is_some_and(is_function);
            let kind = if function { ChunkKind::Function } else { ChunkKind::Constant };
            let name =
                field_text(node, "name", text).or_else(|| field_text(node, "property", text));
            (kind, name.into_iter().collect())
        }
        "const_declaration" | "var_declaration" => (ChunkKind::Constant, specs(node, "name", text)),
        "declaration" | "type_definition" | "field_declaration" if is_c(table) => {
            // `struct point { … };` and `typedef struct { … } point;` define a type.
            let inner = node.child_by_field_name("type").filter(|inner| body(*inner).is_some());
            let names = inner.and_then(|inner| field_text(inner, "name", text));
            let kind = if inner.is_some() || node.kind() == "type_definition" {
                ChunkKind::Type
            } else {
                ChunkKind::Constant
            };
            (kind, names.into_iter().chain(declarator(node, text)).collect())
        }
        "field_declaration" | "constant_declaration" => {
            (ChunkKind::Constant, specs(node, "name", text))
        }
        "type_alias_declaration" | "type_alias_statement" | "type_item" => {
            let name = field_text(node, "name", text).or_else(|| field_text(node, "left", text));
            (ChunkKind::Type, name.map(|name| without_generics(&name)).into_iter().collect())
        }
        "macro_definition" | "preproc_function_def" => {
            (ChunkKind::Function, field_text(node, "name", text).into_iter().collect())
        }
        _ => (ChunkKind::Constant, field_text(node, "name", text).into_iter().collect()),
    }
}

/// Definitions that look like statements: `NAME = …` in Python, `Router.prototype.route = function …` in JavaScript.
fn statement(table: &Table, node: Node<'_>, text: &str) -> Option<(ChunkKind, Vec<String>)> {
    if node.kind() != "expression_statement" {
        return None;
    }
    let assignment = node.named_child(0)?;
    if table.class(assignment) == Class::Module {
        return Some((
            ChunkKind::Module,
            field_text(assignment, "name", text).into_iter().collect(),
        ));
    }
    let left = assignment.child_by_field_name("left")?;
    match (table.language, assignment.kind()) {
        (Language::Python, "assignment") if left.kind() == "identifier" => {
            Some((ChunkKind::Constant, vec![node_text(left, text)?]))
        }
        (Language::JavaScript | Language::TypeScript | Language::Tsx, "assignment_expression") => {
            is_function(assignment.child_by_field_name("right")?).then_some(())?;
            let name = node_text(left, text)?.replace(".prototype.", ".");
            let name = name.strip_prefix("module.exports.").or(name.strip_prefix("exports."));
            let name = name.map(str::to_owned).or_else(|| node_text(left, text))?;
            Some((ChunkKind::Function, vec![name.replace(".prototype.", ".")]))
        }
        _ => None,
    }
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "arrow_function" | "function_expression" | "generator_function" | "class" | "function"
    )
}

fn is_c(table: &Table) -> bool {
    matches!(table.language, Language::C | Language::Cpp)
}

/// The names in a declaration that has several: `const a = 1, b = 2`, Go's `const ( … )`.
fn specs(node: Node<'_>, field: &str, text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            let kind = child.kind();
            if kind.ends_with("_spec") || kind.ends_with("declarator") || kind == "type_alias" {
                let mut cursor = child.walk();
                names.extend(
                    child
                        .children_by_field_name(field, &mut cursor)
                        .filter(|name| name.kind().contains("identifier"))
                        .filter_map(|name| node_text(name, text)),
                );
            } else if kind.ends_with("_spec_list") {
                open.push(child);
            }
        }
    }
    names.truncate(MAX_DEFINES);
    names
}

/// The name at the bottom of C's declarators: `int *(*f)(void)`.
fn declarator(node: Node<'_>, text: &str) -> Option<String> {
    let mut node = node.child_by_field_name("declarator")?;
    for _ in 0..16 {
        match node.child_by_field_name("declarator").or_else(|| {
            let wraps = matches!(node.kind(), "parenthesized_declarator" | "reference_declarator");
            wraps.then(|| node.named_child(0)).flatten()
        }) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    let name = node_text(node, text)?;
    Some(without_generics(&name).replace(' ', ""))
}

/// The members of a type that stays whole.
fn member_names(table: &Table, body: Node<'_>, text: &str, names: &mut Vec<String>) {
    let mut cursor = body.walk();
    for member in body.named_children(&mut cursor) {
        if names.len() >= MAX_DEFINES {
            return;
        }
        let inner = unwrap(table, member);
        match table.class(inner) {
            Class::Function => names.extend(
                function_names(table, inner, text).iter().map(|name| simple(name).to_owned()),
            ),
            Class::Type | Class::Module => names.extend(type_names(table, inner, text)),
            Class::Constant => {
                names.extend(
                    constant(table, inner, text).1.iter().map(|name| simple(name).to_owned()),
                );
            }
            _ => {}
        }
    }
}

/// The last part of a qualified name.
fn simple(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

fn without_generics(name: &str) -> String {
    name.split('<').next().unwrap_or(name).trim().to_owned()
}

fn field_text(node: Node<'_>, field: &str, text: &str) -> Option<String> {
    node_text(node.child_by_field_name(field)?, text)
}

fn node_text(node: Node<'_>, text: &str) -> Option<String> {
    let name = node.utf8_text(text.as_bytes()).ok()?.trim_matches(['"', '\'', '`']);
    let one_line = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains('\n');
    one_line.then(|| name.to_owned())
}
